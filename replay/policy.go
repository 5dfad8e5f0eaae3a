package replay

import (
	"fmt"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/llm"
)

// Policy is a rule by which something leaves requests. The zero value is off.
type Policy struct {
	Name   string
	Source string // the document or source that the rule is from; empty for our own

	// Begin returns the planner of a new context; nil leaves all as it is.
	Begin func(Setting) Planner

	deaths func(*recording) []death // of a bound
}

// LosslessBound is what a policy could come to that leaves out only what the
// request shows elsewhere, and listings and written contents that newer ones have
// replaced, each token from the moment on at which it is dead, for free.
func LosslessBound(name string) Policy {
	return Policy{Name: name, deaths: (*recording).shownBefore}
}

// ClairvoyantBound is what a policy could come to that knows the future: beside
// what LosslessBound leaves out, every call and result of which no later answer
// names anything that is known from it alone, and no edit needs a line.
func ClairvoyantBound(name string) Policy {
	return Policy{Name: name, deaths: (*recording).unused}
}

// Setting is what a planner may know of the session it works on.
type Setting struct {
	Dir   string              // the workspace
	Fixed int                 // tokens of tools and system prompt that are not in the messages
	Count func(*llm.Part) int // tokens of a part
}

// Planner decides what of one context leaves its requests to one model.
// Messages are added in order and must not be changed.
type Planner interface {
	Add(m *llm.Message)
	// Cold says that nothing of what could be changed of the messages added so
	// far is in a cache when they are sent next, with those that follow.
	Cold(why history.Cause)
	// Plan returns what leaves the request made of all messages added.
	Plan() Plan
}

// Plan is what leaves a request.
type Plan struct {
	Cuts           []Cut // in the order of the messages and their parts; the planner's, valid until it plans again
	Reads, Repeats int   // as in history.Stats
}

// Cut is a part replaced.
type Cut struct {
	llm.Edit
	Points bool // what stands there says that the text stands elsewhere in the request
}

// Ours returns the policy of this configuration. An empty Root becomes the
// directory of the session.
func Ours(c history.Config) (Policy, error) {
	e, err := history.New(c)
	if err != nil {
		return Policy{}, err
	}
	p := Policy{Name: string(e.Policy())}
	if e.Policy() == history.Off {
		return p, nil
	}
	p.Begin = func(s Setting) Planner {
		at := c
		if at.Root == "" {
			at.Root = s.Dir
		}
		e, err := history.New(at)
		if err != nil {
			panic(fmt.Errorf("the same configuration was good before: %w", err))
		}
		return &ours{fold: e.NewState()}
	}
	return p, nil
}

// ours plans as history does.
type ours struct {
	fold *history.State
	cuts []Cut
}

func (o *ours) Add(m *llm.Message)     { o.fold.Add(*m) }
func (o *ours) Cold(why history.Cause) { o.fold.Cold(why) }

func (o *ours) Plan() Plan {
	p := o.fold.Plan()
	o.cuts = make([]Cut, len(p.Edits))
	for i, e := range p.Edits {
		o.cuts[i] = Cut{e, points(p.Omissions[i].Reason)}
	}
	return Plan{o.cuts, p.Reads, p.Repeats}
}

// points reports whether what is left in place for this reason says that the
// text stands elsewhere in the request.
func points(why history.Reason) bool {
	switch why {
	case history.Terminal, history.Restored, history.Replaced, history.Command, history.Arguments, history.Idle:
		return false
	}
	return true
}
