package bench

import (
	"context"

	"github.com/stet-dev/stet/trim"
	"github.com/stet-dev/stet/trim/replay"
)

// Policy is a rule by which something is left out of requests. The zero value is
// off.
type Policy struct {
	Name   string
	Source string // the document or source that the rule is from; empty for our own
	Begin  replay.Policy

	// Checked is Begin for providers that check what is before thinking. nil: the rule cannot be used there.
	Checked replay.Policy

	// Play plays a session in place of Begin and Checked, for a rule that no planner can follow, or one that goes by the size of the whole
	// request (replay.Setting.Fixed).
	Play func(ctx context.Context, r *replay.Replay, rules []replay.Rule) (replay.Outcome, error)

	idle bool // it does not run, and has no figures
}

// whereChecked returns the policy as it is where thinking is checked.
func (p *Policy) whereChecked() Policy {
	return Policy{Begin: p.Checked, Play: p.Play, idle: p.Checked == nil}
}

// Stet returns stet's own policies but off, and the default one with sparse line numbers.
func Stet() (all []Policy, err error) {
	for _, p := range trim.Policies() {
		for _, numbers := range []trim.LineNumbers{"", trim.SparseNumbers} {
			if p == trim.Off || numbers != "" && p != trim.Adaptive {
				continue
			}
			ours, err := Ours(trim.Config{Policy: p, LineNumbers: numbers})
			if err != nil {
				return nil, err
			}
			if numbers != "" {
				ours.Name += "-" + string(numbers)
			}
			all = append(all, ours)
		}
	}
	return all, nil
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
