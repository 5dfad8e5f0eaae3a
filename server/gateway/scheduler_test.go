package gateway

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Sessions take turns, however many calls one session makes. The bytes in flight stay within the limit.
func TestTurns(t *testing.T) {
	f := &scheduler{bytes: 20, calls: 10}
	var order []string
	all := map[string]*slot{}
	ask := func(session string, n, size int) {
		name := fmt.Sprintf("%s%d", session, n)
		all[name] = f.ask(session, size, func() { order = append(order, name) })
	}
	for n := range 5 {
		ask("a", n, 10)
	}
	ask("b", 0, 10)
	ask("b", 1, 10)
	ask("c", 0, 10)
	for range 8 {
		done := order[len(order)-1]
		for _, name := range order { // end the oldest call in flight
			if all[name].state == slotInFlight {
				done = name
				break
			}
		}
		all[done].end()
	}
	if got := strings.Join(order, " "); got != "a0 a1 a2 b0 c0 a3 b1 a4" {
		t.Error(got)
	}
	if f.inFlight != 0 || len(f.sessions) != 0 || len(f.ring) != 0 {
		t.Errorf("%+v", f)
	}
}

// For any sequence of asks and ends, the limits hold, every call is admitted exactly once, and no bytes remain at the end.
func TestFairness(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := &scheduler{bytes: rapid.IntRange(1, 50).Draw(t, "bytes"), calls: rapid.IntRange(1, 4).Draw(t, "calls")}
		type one struct {
			*slot
			session string
			size    int
			entered int
		}
		var all []*one
		check := func() {
			bytes, calls := 0, map[string]int{}
			for _, o := range all {
				if o.entered > 1 {
					t.Fatal("let in twice")
				}
				if o.slot != nil && o.state == slotInFlight {
					bytes += o.size
					calls[o.session]++
				}
			}
			if n := f.inFlight; n != bytes {
				t.Fatalf("%d bytes are counted, %d in flight", n, bytes)
			}
			for s, n := range calls {
				if n > f.calls {
					t.Fatalf("session %s has %d calls in flight", s, n)
				}
			}
		}
		largest := 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			var in []*one
			for _, o := range all {
				if o.state != slotOver {
					in = append(in, o)
				}
			}
			if len(in) > 0 && rapid.Bool().Draw(t, "back") {
				rapid.SampledFrom(in).Draw(t, "which").end()
			} else {
				o := &one{session: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "session"), size: rapid.IntRange(1, 30).Draw(t, "size")}
				largest = max(largest, o.size)
				all = append(all, o)
				o.slot = f.ask(o.session, o.size, func() { o.entered++ })
			}
			check()
			if f.inFlight > max(f.bytes, largest) {
				t.Fatalf("%d bytes in flight", f.inFlight)
			}
		}
		for left := true; left; {
			left = false
			for _, o := range all {
				if o.state == slotInFlight {
					o.end()
					left = true
				}
			}
		}
		for _, o := range all {
			if o.state == slotWaits {
				t.Fatal("one waits for ever")
			}
		}
		if len(f.sessions) != 0 || len(f.ring) != 0 && len(f.ring[0].waiting) > 0 {
			t.Fatalf("%+v", f)
		}
	})
}
