package limits

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// In no minute are there more than the allowed events, however they are spread. The wait is exact: an event that comes after it is
// allowed. If the clock is set back or jumps ahead, no event waits longer than a minute. (FILE-10)
func TestRate(t *testing.T) {
	start := time.Unix(1_700_000_000, 0) // without the monotonic reading
	for _, c := range []struct {
		what  string
		steps []time.Duration // the times of 150 events each
		want  []int           // how many of them are allowed
		wait  time.Duration   // after the last event
	}{
		{"at once, and again after a minute", []time.Duration{0, time.Minute}, []int{100, 100}, time.Minute},
		{"just before a minute is over", []time.Duration{0, time.Minute - 1}, []int{100, 0}, 1},
		{"two halves of a minute", []time.Duration{0, 30 * time.Second, 59 * time.Second}, []int{100, 0, 0}, time.Second},
		{"the clock is set back", []time.Duration{0, -24 * time.Hour, -24*time.Hour + time.Minute}, []int{100, 0, 100}, time.Minute},
		{"the clock jumps ahead", []time.Duration{0, 24 * time.Hour}, []int{100, 100}, time.Minute},
	} {
		r, wait := NewRate(100), time.Duration(0)
		for i, at := range c.steps {
			allowed, before := 0, 0
			for range 150 {
				if wait, before = r.Take(start.Add(at)); wait == 0 {
					allowed++
				}
			}
			if allowed != c.want[i] || allowed == 100 && before != 49 {
				t.Errorf("%s: %d allowed at %v, %d refused before", c.what, allowed, at, before)
			}
		}
		if wait != c.wait {
			t.Errorf("%s: wait %v, not %v", c.what, wait, c.wait)
		}
	}
	r := NewRate(100)
	for i := range 1000 { // two a second: 100 in a minute, and a pause of 10 s
		at := start.Add(time.Duration(i) * 500 * time.Millisecond)
		if wait, _ := r.Take(at); (wait == 0) != (i%120 < 100) {
			t.Fatalf("event %d: wait %v", i, wait)
		}
	}
	for range 1000 {
		if wait, _ := NewRate(-1).Take(start); wait != 0 {
			t.Fatal(wait)
		}
	}
	if got := TooMany(31 * time.Millisecond); got != "Too many calls in a minute. Try again in 0.1 s." {
		t.Error(got)
	}
}

// A Rate lets through the same events, with the same waits, as a list of all events that is looked through each time.
func TestRateIsExact(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		most := 1 + random.IntN(50)
		r, now := NewRate(most), time.Unix(1_700_000_000, 0)
		var events []time.Time
		for i := range 3000 {
			step := time.Duration(random.Int64N(int64(4 * time.Minute / time.Duration(most))))
			if random.IntN(100) == 0 {
				step = -step // the clock is set back
			}
			now = now.Add(step)
			last := events[:0]
			for _, e := range events {
				if e.After(now) {
					e = now
				}
				if now.Sub(e) < time.Minute {
					last = append(last, e)
				}
			}
			events = last
			want := time.Duration(0)
			if over := len(events) + 1 - most; over > 0 {
				want = events[over-1].Add(time.Minute).Sub(now)
			}
			if got, _ := r.Take(now); got != want {
				t.Fatalf("seed %d, event %d: wait %v, not %v", seed, i, got, want)
			}
			if want == 0 {
				events = append(events, now)
			}
		}
	}
}

// Whatever names the sessions of a token have, the token has ten times the calls of one session in any minute. Refused calls take
// no memory, and no number of names makes a session's calls be forgotten. (FILE-10)
func TestRates(t *testing.T) {
	start := time.Now()
	r := Rates{PerMinute: 100}
	for range 200 {
		r.Take("first", "token", start)
	}
	var wg sync.WaitGroup
	allowed := make([]int, 8)
	for g := range allowed {
		wg.Go(func() {
			for i := range 2500 {
				if wait, _ := r.Take(fmt.Sprint(g, "-", i), "token", start.Add(time.Second)); wait == 0 {
					allowed[g]++
				}
			}
		})
	}
	wg.Wait()
	all := 100
	for _, n := range allowed {
		all += n
	}
	if all != 1000 || len(r.sessions.of) != 901 {
		t.Errorf("%d calls of a token in a minute, %d names kept", all, len(r.sessions.of))
	}
	for at, want := range map[time.Duration]time.Duration{time.Second: 59 * time.Second, 59 * time.Second: time.Second} {
		if wait, _ := r.Take("first", "token", start.Add(at)); wait != want {
			t.Errorf("the first session after %v: wait %v", at, wait)
		}
	}
	for i, c := range []struct {
		session, token string
		free           bool
	}{{"x", "token", false}, {"x", "other", true}, {"x", "", true}} {
		if wait, _ := r.Take(c.session, c.token, start.Add(2*time.Second)); (wait == 0) != c.free {
			t.Errorf("case %d: wait %v", i, wait)
		}
	}
	r.Take("later", "token", start.Add(5*time.Minute))
	if len(r.sessions.of) != 1 {
		t.Errorf("%d names are kept", len(r.sessions.of))
	}
	var none Rates
	for range 2000 {
		if wait, _ := none.Take("x", "y", start); wait != 0 {
			t.Fatal(wait)
		}
	}
}

// What shares the Tokens shares the count of a token's calls and questions, and a session has its own calls. (FILE-10)
func TestTokensAreShared(t *testing.T) {
	now, tokens := time.Now(), new(Tokens)
	gateway, here := Rates{PerMinute: 10, Tokens: tokens}, Rates{PerMinute: 10, Tokens: tokens}
	allowed := 0
	for i := range 200 {
		for _, r := range []*Rates{&gateway, &here} {
			if wait, _ := r.Take(fmt.Sprint(i), "token", now); wait == 0 {
				allowed++
			}
		}
	}
	if allowed != 10*TokenSessions {
		t.Errorf("%d calls of a token in a minute", allowed)
	}
	if wait, _ := here.Take("0", "other", now); wait != 0 {
		t.Error("another token has to wait", wait)
	}
	var done []func()
	for range TokenQuestions {
		d, ok := tokens.Ask("token")
		if !ok {
			t.Fatalf("only %d questions", len(done))
		}
		done = append(done, d)
	}
	if _, ok := tokens.Ask("token"); ok {
		t.Error("one question too many")
	}
	for _, token := range []string{"other", "", ""} {
		if _, ok := tokens.Ask(token); !ok {
			t.Errorf("token %q may not ask", token)
		}
	}
	done[0]()
	done[0]()
	if _, ok := tokens.Ask("token"); !ok {
		t.Error("a question that ended is counted")
	}
	if _, ok := tokens.Ask("token"); ok {
		t.Error("a question that ended once counts twice")
	}
}

func TestKeyed(t *testing.T) {
	now := time.Now()
	k := Keyed{PerMinute: 1}
	for i := range manyKeys {
		if wait, _ := k.Take(fmt.Sprint(i), now); wait != 0 {
			t.Fatal(i, wait)
		}
	}
	if wait, _ := k.Take("0", now); wait != time.Minute {
		t.Error("forgotten too early:", wait)
	}
	k.Take("one more", now.Add(time.Second))
	if len(k.of) != 1 {
		t.Error(len(k.of), "are kept")
	}
	k.Take("new", now.Add(time.Minute))
	if wait, _ := k.Take("one more", now.Add(time.Minute)); wait != time.Second || len(k.of) != 2 {
		t.Error("forgotten too early:", wait)
	}
	k.Take("later", now.Add(3*time.Minute))
	if len(k.of) != 1 {
		t.Error(len(k.of), "are kept after a rest")
	}
	var all Keyed
	for range 1000 {
		if wait, _ := all.Take("x", now); wait != 0 {
			t.Fatal(wait)
		}
	}
}
