package replay

import (
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/llm/tokens"
	"github.com/stet-dev/stet/trim"
	"github.com/stet-dev/stet/trim/replay/check"
	"github.com/stet-dev/stet/trim/transcript"
)

// Config sets a replay up. The zero value replays the default policy of package trim.
type Config struct {
	// History is the policy. An empty Root becomes the directory the session
	// was recorded in.
	History trim.Config

	Open transcript.Opener // Savings opens files with it
	// Through has the requests that went through stet when the sessions were recorded; nil: none. Savings asks.
	Through *Through
	// Since and Until bound the time of the answers that Savings bills: Since ≤ time < Until. Zero is open.
	Since, Until time.Time
	Counter      tokens.Counter // of a part's text; nil is the estimate for the session's model (tokens.EstimateFor)
	Overhead     int            // tokens of tools and system prompt where none is recorded; 0 is 15,000, negative none

	// Models finds a model by name: its cache, and its prices in dollars. nil is prices.Lookup.
	Models func(name string) (prices.Model, bool)

	// OneRule prices sessions under the first price rule alone, which takes a third of the time.
	OneRule bool

	// Pointers returns a stricter check of the pointers in a session's requests; nil: none.
	Pointers func(*check.Index) check.PointerCheck
}

// defaultOverhead is the size of agents' tools and system prompts. In the requests
// that were looked at it was 10,000 to 25,000 tokens.
const defaultOverhead = 15000

// counter returns what counts the text of a session with this model.
func (c *Config) counter(model string) tokens.Counter {
	if c.Counter == nil {
		return tokens.EstimateFor(model)
	}
	return c.Counter
}

func (c *Config) lookup() func(name string) (prices.Model, bool) {
	if c.Models == nil {
		return prices.Lookup
	}
	return c.Models
}

func (c *Config) overhead(recorded bool) int {
	switch {
	case recorded || c.Overhead < 0:
		return 0
	case c.Overhead == 0:
		return defaultOverhead
	}
	return c.Overhead
}

// opaqueMax is the most that an image or a document counts as, in tokens: its size
// in bytes says little about its tokens.
const opaqueMax = 1600

// partTokens counts one part's visible content. Thinking counts where it can
// be read.
func partTokens(p *llm.Part, c tokens.Counter) int {
	switch p.Kind {
	case llm.ToolCall:
		return c.Count(p.Name) + c.Count(p.Args)
	case llm.Opaque:
		if len(p.Raw) > 4*opaqueMax {
			return opaqueMax
		}
		return c.Count(p.Raw)
	}
	return c.Count(p.Text)
}
