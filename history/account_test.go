package history

import (
	"fmt"
	"testing"

	"github.com/stet-dev/stet/llm"
)

// warmed folds a conversation and plans before every answer; it returns the
// number of requests in which something sent before was sent otherwise, and
// the last plan.
func warmed(t *testing.T, c Config, w *conv, at func(f *Fold, i int)) (int, *Plan) {
	t.Helper()
	f := newEngine(t, c).Fold()
	broken, last := 0, &Plan{}
	for i := range w.messages {
		if w.messages[i].Role == llm.Assistant {
			if at != nil {
				at(f, i)
			}
			p := f.Plan()
			for k := range last.Edits {
				if p.Edits[k] != last.Edits[k] {
					broken++
					break
				}
			}
			if len(last.Edits) > 0 && len(p.Edits) > 0 && p.Edits[0] != last.Edits[0] || len(last.Edits) == 0 && len(p.Edits) > 0 {
				broken++
			}
			last = p
		}
		f.Add(w.messages[i])
	}
	return broken, last
}

// outputs is a conversation of commands, each with an output of its own.
func outputsOf(n, size int) *conv {
	c := &conv{}
	c.user("go on")
	for i := range n {
		c.call("terminal-execute", map[string]any{"command": fmt.Sprintf("go test ./p%d", i)}, long(fmt.Sprintf("run %d", i), size))
	}
	return c
}

// TRIM-17: without a moment nothing that was sent is sent otherwise, unless
// prices are known, the margin is asked for, and what was saved before pays.
func TestMarginIsPaidForOutOfSavings(t *testing.T) {
	w := outputsOf(60, 4000)
	price := Price{0.1, 1.25}
	resumed := func(f *Fold, i int) {
		if i == 61 {
			f.Cold(Resume)
		}
	}
	for _, tt := range []struct {
		name   string
		config Config
		at     func(f *Fold, i int)
		more   bool // than the moment of the resume alone
	}{
		{"nothing saved", Config{Policy: Bold, Price: price}, nil, false},
		{"prices unknown", Config{Policy: Bold}, resumed, false},
		{"not asked for", Config{Policy: Adaptive, Price: price}, resumed, false},
		{"bold", Config{Policy: Bold, Price: price}, resumed, true},
		{"asked for", Config{Policy: Adaptive, Price: price, Margin: true}, resumed, true},
	} {
		_, p := warmed(t, tt.config, w, tt.at)
		want := 0
		if tt.at != nil {
			want = 25 // of the 30 outputs before the resume, all but the newest
		}
		if more := len(p.Edits) > want; more != tt.more || len(p.Edits) < want {
			t.Errorf("%s: %d left out", tt.name, len(p.Edits))
		}
	}
}

// Where what a token costs in the cache is what it costs anyway, every request
// is a moment.
func TestMarginWithoutCache(t *testing.T) {
	_, p := warmed(t, Config{Policy: Bold, Price: Price{1, 1}}, outputsOf(30, 4000), nil)
	if len(p.Edits) != 24 {
		t.Errorf("%d left out", len(p.Edits))
	}
}

// Under pressure old things leave at once, and not one by one.
func TestPressure(t *testing.T) {
	w := outputsOf(60, 4000)
	broken, p := warmed(t, Config{Window: 40_000, Pressure: 0.8}, w, nil)
	if len(p.Edits) == 0 || broken == 0 || broken > 5 {
		t.Errorf("%d left out in %d breaks", len(p.Edits), broken)
	}
	if _, p := warmed(t, Config{Window: 40_000}, w, nil); len(p.Edits) > 0 {
		t.Errorf("%d left out, unasked", len(p.Edits))
	}
}

// A moment that was none costs; where it cost more than was ever saved,
// nothing more is elided.
func TestWrongGuessStopsEliding(t *testing.T) {
	w := outputsOf(60, 400)
	e := newEngine(t, Config{})
	for _, alive := range []bool{false, true} {
		f := e.Fold()
		f.Add(w.messages[:61]...)
		f.Cold(Gap)
		left := len(f.Plan().Edits)
		used := llm.Usage{CacheWrite: 50_000, Output: 10}
		if alive {
			used.CacheRead = 20_000
		}
		f.Answered(used)
		f.Add(w.messages[61:]...)
		f.Cold(Gap)
		if more := len(f.Plan().Edits) > left; left == 0 || more == alive {
			t.Errorf("cache alive: %v; %d left out, then %d", alive, left, len(f.Plan().Edits))
		}
	}
}

// Tools and system text are in the cache because of others: who reads no more
// than them was right to guess.
func TestOthersCacheIsNoWrongGuess(t *testing.T) {
	w := outputsOf(60, 400)
	for _, tt := range []struct {
		read int
		more bool
	}{{8_000, true}, {20_000, false}} {
		f := newEngine(t, Config{}).Fold()
		f.Add(w.messages[:1]...)
		f.Plan()
		f.Answered(llm.Usage{CacheWrite: 8_500})
		f.Add(w.messages[1:61]...)
		f.Cold(Gap)
		left := len(f.Plan().Edits)
		f.Answered(llm.Usage{CacheRead: tt.read, CacheWrite: 50_000})
		f.Add(w.messages[61:]...)
		f.Cold(Gap)
		if more := len(f.Plan().Edits) > left; left == 0 || more != tt.more {
			t.Errorf("%d read: %d left out, then %d", tt.read, left, len(f.Plan().Edits))
		}
	}
}
