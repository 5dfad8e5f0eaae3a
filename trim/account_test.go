package trim

import (
	"fmt"
	"testing"

	"github.com/stet-dev/stet/llm"
)

// outputsOf returns a conversation of n commands, each with a different output of about size bytes.
func outputsOf(n, size int) *conv {
	c := &conv{}
	c.user("go on")
	for i := range n {
		c.call("terminal-execute", map[string]any{"command": fmt.Sprintf("go test ./p%d", i)}, long(fmt.Sprintf("run %d", i), size))
	}
	return c
}

// If a cold point was assumed while the cache was warm, eviction cost money. If that was more than was saved in all, nothing more
// is evicted.
func TestWrongGuessStopsEviction(t *testing.T) {
	w := outputsOf(60, 400)
	e := newEngine(t, Config{})
	for _, alive := range []bool{false, true} {
		st := e.NewState()
		st.Add(w.messages[:61]...)
		st.Cold(Gap, 0)
		left := len(st.Plan().Edits)
		used := llm.Usage{CacheWrite: 50_000, Output: 10}
		if alive {
			used.CacheRead = 20_000
		}
		st.Answered(used)
		st.Add(w.messages[61:]...)
		st.Cold(Gap, 0)
		if more := len(st.Plan().Edits) > left; left == 0 || more == alive {
			t.Errorf("cache alive: %v; %d left out, then %d", alive, left, len(st.Plan().Edits))
		}
	}
}

// Other conversations keep tools and system text in the cache. If a request at a cold point read no more than those from the
// cache, the cold point was assumed rightly.
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
		st.Cold(Gap, 0)
		left := len(st.Plan().Edits)
		st.Answered(llm.Usage{CacheRead: tt.read, CacheWrite: 50_000})
		st.Add(w.messages[61:]...)
		st.Cold(Gap, 0)
		if more := len(st.Plan().Edits) > left; left == 0 || more != tt.more {
			t.Errorf("%d read: %d left out, then %d", tt.read, left, len(st.Plan().Edits))
		}
	}
}
