package replay

import (
	"cmp"
	"fmt"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim"
)

// Policy begins the planner of a new context. A nil Policy leaves nothing out.
type Policy func(Setting) Planner

// byCache reports whether the policy's plans depend on the cache.
func (p Policy) byCache() bool {
	if p == nil {
		return false
	}
	_, ok := p(Setting{Count: func(*llm.Part) int { return 0 }}).(CachePlanner)
	return ok
}

// Setting is what a planner may know of the session it works on.
type Setting struct {
	Dir   string              // the workspace
	Fixed int                 // tokens of tools and system prompt that are not in the messages
	Count func(*llm.Part) int // tokens of a part
	Price trim.Price          // of the cache; zero: there is none

	// As in trim.Config, of the model:
	Window        int // 0: not known
	BillsThinking bool
}

// Planner decides what the requests of one context to one model leave out.
// Messages are added in order and must not be changed.
type Planner interface {
	Add(m *llm.Message)
	// Plan returns what the request made of all messages added leaves out.
	Plan() Plan
}

// CachePlanner is a planner whose plans depend on the cache: on its cold points, and on Setting.Price. The plans of
// any other are the same under every price rule.
type CachePlanner interface {
	Planner
	// Cold says that the request after the messages added so far is sent at a
	// cold point: no cache holds anything of them that a plan could change.
	Cold(why trim.Cause)
}

// Plan is what one request leaves out. It belongs to the planner, and is valid
// until the planner plans again.
type Plan struct {
	Omissions      []Omission // in the order of the messages and their parts
	Reads, Repeats int        // as in trim.Stats
}

// Omission is one part that a placeholder replaces.
type Omission struct {
	llm.Edit             // the indexes of message and part in the context, and the placeholder
	Pointer  bool        // the placeholder says that the text is elsewhere in the request
	Reason   trim.Reason // of package trim's policies; empty with those of others
}

// Ours returns the policy of package trim with this configuration. An empty
// Root becomes the directory of the session, and a zero Price that of the cache; not where thinking is checked, since
// a proxy plans alike for all prices there. A zero Window becomes that of the model, and BillsThinking is the model's.
func Ours(c trim.Config) (Policy, error) {
	e, err := trim.New(c)
	if err != nil {
		return nil, err
	}
	if e.Policy() == trim.Off {
		return nil, nil
	}
	return func(s Setting) Planner {
		c := c
		c.Root = cmp.Or(c.Root, s.Dir)
		if c.Price == (trim.Price{}) && !c.ChecksThinking {
			c.Price = s.Price
		}
		c.Window = cmp.Or(c.Window, s.Window)
		c.BillsThinking = s.BillsThinking
		e, err := trim.New(c)
		if err != nil {
			panic(fmt.Errorf("the same configuration was good before: %w", err))
		}
		return ours{e.NewState()}
	}, nil
}

// ours plans as package trim does.
type ours struct{ state *trim.State }

func (o ours) Add(m *llm.Message) { o.state.Add(*m) }

func (o ours) Cold(why trim.Cause) { o.state.Cold(why, 0) }

func (o ours) Plan() Plan {
	p := o.state.Plan().Seen()
	omissions := make([]Omission, len(p.Edits))
	for i, e := range p.Edits {
		omissions[i] = Omission{e, p.Omissions[i].Reason.Points(), p.Omissions[i].Reason}
	}
	return Plan{omissions, p.Reads, p.Repeats}
}
