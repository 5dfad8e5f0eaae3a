package proxy

import (
	"slices"
	"time"

	"github.com/stet-dev/stet/history"
)

// trail are the turns of beginnings of a request that it goes on from.
type trail struct {
	any      *known // the longest
	own, old *known // the two longest of the request's model
}

// trail returns the turns that a request goes on from. The caller holds the lock.
func (m *memory) trail(c *chain, salt uint64, model string) (t trail) {
	for _, link := range slices.Backward(c.links) {
		for _, k := range slices.Backward(m.turns[link^salt]) {
			if t.any == nil {
				t.any = k
			}
			switch {
			case k.Model != model:
			case t.own == nil:
				t.own = k
			default:
				t.old = k
				return t
			}
		}
	}
	return t
}

// longest is the longest turn of a line that c begins with, and how many links it
// has; nil if there is none. The caller holds the lock.
func (m *memory) longest(c *chain, salt uint64, l line) (*known, int) {
	for i, link := range slices.Backward(c.links) {
		if k := m.turn(link^salt, l); k != nil {
			return k, i + 1
		}
	}
	return nil, 0
}

// lineOf is the line that a request is of, and what in it is new to the thread;
// nothing if the line was asked before. The caller holds the lock.
func (j *judgement) lineOf(from trail) (line, renewal) {
	asked := line{j.sent.model, j.sent.tools, j.sent.system}
	if j.thread.views[asked] != nil {
		return asked, renewal{}
	}
	var before, last line // what the request before asked, and its line
	switch s := j.thread.sent; {
	case from.own != nil:
		before, last = from.own.asked, from.own.line()
	case s != nil && s.model == asked.model:
		before, last = line{s.model, s.tools, s.system}, s.line
	default:
		return asked, renewal{}
	}
	renewed := asked.renewed(before)
	if renewed.matters(j.thread.survives, from.habit()) {
		return asked, renewed
	}
	return last, renewed
}

// renewal says what before the messages is not what it was.
type renewal struct{ tools, system bool }

// renewed says what is other than when the same model was asked before.
func (l line) renewed(before line) renewal {
	return renewal{tools: l.tools != before.tools, system: l.system != before.system}
}

// habit says what was other at the last request already.
func (t *trail) habit() renewal {
	if t.old == nil {
		return renewal{}
	}
	return t.own.asked.renewed(t.old.asked)
}

// matters reports whether the provider's cache goes with a change: one that comes
// with every request is no news, and some it has outlived.
func (r renewal) matters(survives, habit renewal) bool {
	return r.tools && !survives.tools && !habit.tools || r.system && !survives.system && !habit.system
}

// inherit gives a request the moments of the one whose beginning, in the way it was
// sent, the cache of its line holds: of the turn that it goes on from, or of the line's
// requests, if it has more in common with one of these, since a message was changed or
// taken back, or nothing is left of the turn. Of those moments, the ones that stand
// behind what is common move to the request's own end: what is common stays as it was
// sent, and the rest is cold. A line that begins has a cold cache: it takes over the
// moments of the model's line before. The caller holds the lock.
func (m *memory) inherit(j *judgement, from trail, d *reading, now time.Time) {
	c := &d.chain
	if !c.told() {
		return
	}
	k, common := m.longest(c, j.salt, j.line)
	begins := k == nil && j.view == nil
	if begins && from.own != nil {
		k = from.own
		common = len(c.links) // it is a beginning of c
	}
	breaks := m.planned(k, c, j.salt)
	var left *history.Omitted
	if v := j.view; v != nil && v.sent != nil {
		gone := func(since time.Time) bool { return j.gone(now.Sub(since)) }
		if s, n := v.nearest(&j.sent, gone); k == nil || n >= common || n > 0 && !k.stored && gone(k.Time) {
			breaks, common, left = s.breaks, n, &history.Omitted{Messages: n, Parts: s.left}
		}
	}
	if left == nil && (k == nil && !begins || k != nil && k.stored) {
		gone := k != nil && j.gone(now.Sub(k.Time))
		breaks, common = m.recalled(j.line, breaks, common, d, gone)
	}
	j.renews = k == nil || k.stored || !slices.Equal(breaks, k.breaks)
	for _, b := range breaks {
		moved := begins || b.After > common
		if b.After > common {
			b.After, b.Omitted = c.stable, left
		}
		b = shifted(b, c.skip)
		if n := len(j.breaks); n > 0 && b.After <= j.breaks[n-1].After {
			j.breaks[n-1].Omitted = b.Omitted // what was sent last is what the later one made of it
			continue
		}
		j.breaks = append(j.breaks, b)
		if moved {
			j.moved = append(j.moved, b)
		}
	}
}

// planned are the moments that a turn of a beginning of c, which may be nil, was
// planned with.
func (m *memory) planned(k *known, c *chain, salt uint64) (out []history.Point) {
	if k == nil || !k.stored {
		if k != nil {
			out = k.breaks
		}
		return out
	}
	for i, link := range c.links {
		if at := m.turn(link^salt, k.line()); at != nil && at.Moment != "" {
			out = append(out, history.Point{After: i + 1, Why: history.Cause(at.Moment), From: at.From})
		}
	}
	return out
}
