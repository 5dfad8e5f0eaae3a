package history

import (
	"fmt"
	"testing"

	"github.com/stet-dev/stet/llm"
)

// outputsOf is a conversation of commands, each with an output of its own.
func outputsOf(n, size int) *conv {
	c := &conv{}
	c.user("go on")
	for i := range n {
		c.call("terminal-execute", map[string]any{"command": fmt.Sprintf("go test ./p%d", i)}, long(fmt.Sprintf("run %d", i), size))
	}
	return c
}

// A cold point that was none costs. Where it cost more than was ever saved,
// nothing more is evicted.
func TestWrongGuessStopsEviction(t *testing.T) {
	w := outputsOf(60, 400)
	e := newEngine(t, Config{})
	for _, alive := range []bool{false, true} {
		st := e.NewState()
		st.Add(w.messages[:61]...)
		st.Cold(Gap)
		left := len(st.Plan().Edits)
		used := llm.Usage{CacheWrite: 50_000, Output: 10}
		if alive {
			used.CacheRead = 20_000
		}
		st.Answered(used)
		st.Add(w.messages[61:]...)
		st.Cold(Gap)
		if more := len(st.Plan().Edits) > left; left == 0 || more == alive {
			t.Errorf("cache alive: %v; %d left out, then %d", alive, left, len(st.Plan().Edits))
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
		st := newEngine(t, Config{}).NewState()
		st.Add(w.messages[:1]...)
		st.Plan()
		st.Answered(llm.Usage{CacheWrite: 8_500})
		st.Add(w.messages[1:61]...)
		st.Cold(Gap)
		left := len(st.Plan().Edits)
		st.Answered(llm.Usage{CacheRead: tt.read, CacheWrite: 50_000})
		st.Add(w.messages[61:]...)
		st.Cold(Gap)
		if more := len(st.Plan().Edits) > left; left == 0 || more != tt.more {
			t.Errorf("%d read: %d left out, then %d", tt.read, left, len(st.Plan().Edits))
		}
	}
}
