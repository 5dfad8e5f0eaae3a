package replay

import (
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/tokens"
	"github.com/stet-dev/stet/transcript"
)

// recording is a session made ready to be replayed many times. It serves one
// goroutine.
type recording struct {
	session  *transcript.Session
	counter  tokens.Counter
	hash     hasher
	exact    bool      // the caches are played exactly
	fixed    int       // tokens of tools and system prompt that are not recorded
	blocks   []block   // one per part that is sent, in the order of the session
	parts    []partRef // of the blocks
	first    []int     // by message: its first block; and one entry for the end
	requests []request
	pairs    pairs // of the blocks

	texts *texts       // made when first asked for
	needs []need       // in the order of the requests; made with texts
	stubs []pointsBack // in their order; made with texts

	// Where sizes are taken from what was reported, by block: how many tokens
	// one of its text's stands for, and how many it has besides. Else nil.
	scale  []float64
	hidden []int
}

// partRef is where a block comes from.
type partRef struct {
	message *llm.Message
	part    *llm.Part
}

// request is a request of the session: Messages[from:to] without the local
// ones, answered by Messages[to].
type request struct {
	from, to       int
	root           uint64 // the model it went to
	sent, answered time.Time
}

// newRecording prepares s.
func newRecording(s *transcript.Session, c *Config) *recording {
	r := &recording{session: s, counter: c.counter(), hash: newHasher(), exact: c.ExactCache, fixed: c.overhead(s.HasSystem)}
	carried := make(map[int]bool, len(s.Carried))
	for _, i := range s.Carried {
		carried[i] = true
	}
	var clock time.Time
	var model string
	next, from, held := 0, 0, false
	for i := range s.Messages {
		for next < len(s.Starts) && s.Starts[next] <= i {
			if s.Starts[next] == i && i > 0 {
				from, held = i, false
			}
			next++
		}
		m := &s.Messages[i]
		if m.Role == llm.Assistant && !m.Local && !carried[i] && held {
			if m.Model != "" {
				model = m.Model
			}
			r.requests = append(r.requests, request{from, i, r.hash.root(model), clock, m.Time})
		}
		clock = later(clock, m.Time)
		held = held || !m.Local
		r.first = append(r.first, len(r.blocks))
		if m.Local {
			continue
		}
		for j := range m.Parts {
			p := &m.Parts[j]
			r.blocks = append(r.blocks, block{r.hash.part(m.Role, p), partTokens(p, r.counter)})
			r.parts = append(r.parts, partRef{m, p})
		}
	}
	r.first = append(r.first, len(r.blocks))
	r.pairs = newPairs(r.parts)
	return r
}

// cutBlock returns a block with its text, or its arguments, replaced.
func (r *recording) cutBlock(at int, text string) block {
	p := edited(r.parts[at].part, text)
	return r.sized(at, block{r.hash.part(r.parts[at].message.Role, &p), partTokens(&p, r.counter)})
}

// block returns a block as it was sent.
func (r *recording) block(at int) block { return r.sized(at, r.blocks[at]) }

func (r *recording) sized(at int, b block) block {
	if r.scale != nil {
		b.tokens = int(float64(b.tokens)*r.scale[at]+0.5) + r.hidden[at]
	}
	return b
}

// edited returns p with its text replaced: what llm.Apply does to one part.
func edited(p *llm.Part, text string) llm.Part {
	q := *p
	if q.Kind == llm.ToolCall {
		q.Args = text
	} else {
		q.Text = text
	}
	return q
}
