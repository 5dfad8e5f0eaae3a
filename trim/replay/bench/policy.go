package bench

import (
	"github.com/stet-dev/stet/trim"
	"github.com/stet-dev/stet/trim/replay"
)

// Policy is a rule by which something is left out of requests. The zero value is
// off.
type Policy struct {
	Name   string
	Source string // the document or source that the rule is from; empty for our own
	Begin  replay.Policy

	// WholeSize: the rule goes by the size of the whole request, tools and system prompt with it (replay.Setting.Fixed).
	WholeSize bool

	// Checked is Begin for providers that check what stands before thinking. nil: the rule cannot be used there.
	Checked replay.Policy
	// ByProvider: the provider itself leaves out what the rule says, and checks what the client sent. Begin is Checked too.
	ByProvider bool

	idle  bool                           // it does not run, and has no figures
	bound func(*replay.Replay) []release // of a bound, which has no planner
}

// whereChecked returns the policy as it is where thinking is checked.
func (p *Policy) whereChecked() Policy {
	begin := p.Checked
	if p.ByProvider {
		begin = p.Begin
	}
	return Policy{Begin: begin, WholeSize: p.WholeSize, idle: begin == nil}
}

// Ours returns the policy of package trim with this configuration.
func Ours(c trim.Config) (Policy, error) {
	e, err := trim.New(c)
	if err != nil {
		return Policy{}, err
	}
	p := Policy{Name: string(e.Policy())}
	if p.Begin, err = replay.Ours(c); err != nil {
		return Policy{}, err
	}
	c.ChecksThinking, c.Clears = true, true
	p.Checked, err = replay.Ours(c)
	return p, err
}

// LosslessBound returns the bound of policies that leave out only what the request
// shows elsewhere, and listings and written contents that newer ones have
// replaced. Each token is free from the request on that does without it.
func LosslessBound(name string) Policy {
	return Policy{Name: name, bound: repeatedParts}
}

// ClairvoyantBound returns the bound of policies that know the future. Beside what
// LosslessBound leaves out, these leave out every call and result when no later
// answer names anything that is known from it alone, and no later edit needs a line
// of it.
func ClairvoyantBound(name string) Policy {
	return Policy{Name: name, bound: unneededParts}
}
