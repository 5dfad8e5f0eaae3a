package replay

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/test/replaytest"
	"github.com/stet-dev/stet/trim/transcript"
)

// pausedSession reads a file, and then answers one prompt after each pause. According to the usage of the answers, the provider
// read so many percent of the prompt before.
func pausedSession(pauses []time.Duration, read []int) *transcript.Session {
	s := &transcript.Session{File: "paused", Dir: "/home/me/project", Messages: []llm.Message{replaytest.Text(llm.User, 40, 0)}}
	s.Messages = append(s.Messages, replaytest.Read(1, time.Second, 1, 60)...)
	at := time.Second
	for _, pause := range pauses {
		at += time.Second
		s.Messages = append(s.Messages, replaytest.Text(llm.Assistant, 10, at))
		at += pause
		s.Messages = append(s.Messages, replaytest.Text(llm.User, 10, at))
	}
	s.Messages = append(s.Messages, replaytest.Text(llm.Assistant, 10, at+time.Second))
	size, n := 0, 0
	for i := range s.Messages {
		if m := &s.Messages[i]; m.Role == llm.Assistant {
			u := llm.Usage{CacheWrite: 1000}
			if n++; n > 2 {
				u.CacheRead = size * read[n-3] / 100
				u.CacheWrite = size + 100 - u.CacheRead
			}
			size = u.Prompt()
			m.Usage = &u
		}
	}
	return s
}

func recordedOutcome(t *testing.T, s *transcript.Session, policy Policy, name string) Outcome {
	t.Helper()
	rule, ok := prices.RuleNamed(name)
	if !ok {
		t.Fatal(name)
	}
	out, err := New(s, &Config{Counter: bytes{}, Overhead: -1}).Under(t.Context(), policy, []Rule{{rule, true}})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The bill depends on what the provider read, not on the clock. A cache that lived longer reads everything. A cache that was
// dropped early reads nothing, with and without a policy.
func TestRecordedBills(t *testing.T) {
	for _, c := range []struct {
		pause        time.Duration
		read         int
		clock, shown bool // the last request reads the request before: by the clock, and as the recording shows
	}{
		{time.Minute, 100, true, true},
		{time.Minute, 0, true, false},
		{time.Hour / 4, 100, false, true},
		{time.Hour / 4, 0, false, false},
	} {
		s := pausedSession([]time.Duration{c.pause}, []int{c.read})
		r := New(s, &Config{Counter: bytes{}, Overhead: -1})
		rule := prices.Rules()[0]
		sender := r.NewSender(Cache{Rule: rule}, Cache{Rule: rule, Recorded: true})
		var last Sent
		for i := range r.Requests {
			last = sender.Send(i, nil)
		}
		for n, want := range []bool{c.clock, c.shown} {
			if b := last.Bills[n]; b.Read+b.Written != last.Tokens || b.Read > 0 != want {
				t.Errorf("pause %v, %d %% read, cache %d: %+v of %d", c.pause, c.read, n, b, last.Tokens)
			}
		}
	}
}

// If the agent asks for something again, the request is sent once more, and reads what was sent a moment before.
func TestRecordedRecall(t *testing.T) {
	s := pausedSession([]time.Duration{time.Minute}, []int{0})
	r := New(s, &Config{Counter: bytes{}, Overhead: -1})
	sender := r.NewSender(Cache{Rule: prices.Rules()[0], Recorded: true})
	for i := range r.Requests {
		sender.Send(i, nil)
	}
	if b := sender.Recall(2, 2, nil).Bills[0]; b.Read == 0 || b.Written != recallCall+r.blocks[2].tokens {
		t.Errorf("%+v", b)
	}
}

// The usage says which share of a request was read. The replay rounds the share down to whole parts.
func TestRecordedShare(t *testing.T) {
	s := pausedSession([]time.Duration{time.Minute}, []int{50})
	r := New(s, &Config{Counter: bytes{}, Overhead: 1000})
	shown := r.shownAt(2)
	fixed, part := r.upToShare(2, 0.5, &r.Measure)
	if !shown.known || shown.alive || shown.cold || fixed != 1000 || part != 2 { // the result of the read is not within the first half
		t.Errorf("%+v, %d, %d", shown, fixed, part)
	}
	if first := r.shownAt(0); !first.cold || first.share != 0 {
		t.Errorf("%+v", first)
	}
	s.Messages[len(s.Messages)-1].Usage = nil
	if shown := New(s, &Config{}).shownAt(2); shown != (cacheShown{}) {
		t.Errorf("without usage: %+v", shown)
	}
}

// If the provider guarantees the lifetime of a cache, a proxy treats the cache as gone after it. Otherwise the proxy assumes an
// hour, until it has seen a cache go. A cache that outlived a pause is assumed to live for as long as that pause.
func TestRecordedColdPoints(t *testing.T) {
	m := time.Minute
	for name, c := range map[string]struct {
		rule   string
		pauses []time.Duration
		read   []int
		want   []string
	}{
		"vouched":         {prices.Anthropic5m, []time.Duration{6 * m, 3 * m}, []int{0, 100}, []string{"gap 4"}},
		"vouched, alive":  {prices.Anthropic5m, []time.Duration{8 * m, 6 * m, 10 * m}, []int{100, 100, 0}, []string{"gap 4", "gap 8"}},
		"unvouched":       {prices.OpenAI, []time.Duration{12 * m, 30 * m}, []int{100, 100}, nil},
		"seen to go":      {prices.OpenAI, []time.Duration{12 * m, 13 * m, 11 * m}, []int{0, 0, 100}, []string{"guess 6"}},
		"for an hour":     {prices.OpenAI, []time.Duration{61 * m}, []int{0}, []string{"gap 4"}},
		"dropped early":   {prices.Anthropic5m, []time.Duration{m, m}, []int{0, 100}, nil},
		"half of it read": {prices.OpenAI, []time.Duration{12 * m, 13 * m}, []int{60, 100}, nil},
	} {
		var log []string
		recordedOutcome(t, pausedSession(c.pauses, c.read), coldPolicy(&log), c.rule)
		if !slices.Equal(log, c.want) {
			t.Errorf("%s: cold points %v, want %v", name, log, c.want)
		}
	}
}

// A wrong guess is charged: a result leaves, although the cache was alive.
func TestRecordedWrongGuess(t *testing.T) {
	for read, dearer := range map[int]bool{0: false, 100: true} {
		s := pausedSession([]time.Duration{time.Minute, 6 * time.Minute}, []int{100, read})
		s.Messages[3].Parts[0].Text = strings.Repeat("x", 20_000) // stands after the result, and is written again
		off, with := recordedOutcome(t, s, nil, prices.Anthropic5m), recordedOutcome(t, s, coldPolicy(nil), prices.Anthropic5m)
		if got := with.Cost[prices.Anthropic5m] > off.Cost[prices.Anthropic5m]; got != dearer {
			t.Errorf("%d %% read: %v, without %v", read, with.Cost, off.Cost)
		}
	}
}
