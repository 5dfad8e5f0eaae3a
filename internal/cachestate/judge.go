package cachestate

import (
	"slices"
	"time"

	"github.com/stet-dev/stet/history"
)

// Judge says what is believed of the cache at a request, and at which cold points the
// request is to be planned. It changes nothing.
func (s *State) Judge(r Request) Verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := s.beginnings(&r)
	l, known, compaction := s.lineageOf(&r, from)
	v := Verdict{at: position{lineage: l, key: r.Key, from: from.any}, Cache: Belief{Lifetime: r.Lifetime}}
	var cold history.Cause
	owes := false
	switch {
	case known:
		cold = s.believe(&v, &r, from)
		owes = l.account < 0
	case compaction:
		cold, v.Cache.Certain, v.Cache.Cold = history.Compaction, true, true
	}
	v.Cache.Leaves = r.Lifetime
	if v.Cache.Idle <= v.Cache.Lifetime { // the part that is read lives as long as before
		v.Cache.Leaves = max(r.Lifetime, v.Cache.Lifetime)
	}
	evicts := cold != "" && !owes && s.config.Evicts && r.Chain.Answered()
	switch {
	case r.Bound && !(evicts && r.Tries):
		return s.frozen(v, &r)
	case !evicts:
		return v
	}
	if v.endsIn(&r) {
		v.Points = v.Points[:len(v.Points)-1]
	}
	return v.begin(history.Point{After: r.Chain.Skip + r.Chain.Stable, Why: cold})
}

// lineageOf is the lineage that a request belongs to. It is known, or new, or it begins
// with a compaction. The caller holds the lock.
func (s *State) lineageOf(r *Request, from beginnings) (l *lineage, known, compaction bool) {
	var newest *lineage // of the conversation
	if r.Conversation != nil {
		newest = r.Conversation.newest
	}
	switch {
	case from.any != nil:
		return from.any.lineage, true, false
	case !r.Chain.Answered():
		return new(lineage), false, false
	case newest != nil && shared(r.Chain.Links, newest.newest) > r.Chain.Answer:
		return newest, true, false // the agent goes back to where no request ended
	case newest != nil:
		// The agent has begun anew under the same name, with something of what was before.
		return &lineage{account: newest.account, lifetime: newest.lifetime, survived: newest.survived}, false, true
	}
	if met := s.meet(r, r.Key); len(met) > 0 {
		return met[0].turn.lineage, true, false // the agent goes back likewise, in another process
	}
	return new(lineage), false, false
}

// believe fills v in for a request of a lineage that is known, and returns why the request is a
// cold point, if it is one. The caller holds the lock.
func (s *State) believe(v *Verdict, r *Request, from beginnings) (cold history.Cause) {
	l, own, b := v.at.lineage, v.at.key, &v.Cache
	v.at.before = l.newest
	b.Gap = max(0, r.Time.Sub(l.last))
	v.at.key, b.Changed = l.keyOf(own, from)
	state := l.keys[v.at.key]
	if state == nil { // another cache key went on from one of an earlier process
		if t, _ := s.longest(r, v.at.key); t != nil {
			state = t.lineage.keys[v.at.key]
		}
	}
	if state != nil {
		b.Idle = max(0, r.Time.Sub(state.last))
		b.Lifetime = max(r.Lifetime, l.lifetime, state.lifetime)
		if state.newest != nil {
			v.at.before = state.newest
		}
	}
	end := expiry{b.Lifetime, l.cooled, r.Vouched}
	b.Certain, b.Cold = end.ends(b.Idle), end.gone(b.Idle)
	s.takeOver(v, r, from, state, end)
	switch {
	case v.endsIn(r) && v.Points[len(v.Points)-1].Omitted == nil && !slices.Contains(v.Moved, v.Points[len(v.Points)-1]):
		return "" // it is a cold point already
	case state == nil && b.Changed != PrefixChange{}:
		return history.Tools
	case state == nil, b.Idle > b.Lifetime && from.any != nil && from.any.Model != own.Model:
		return history.Model
	case b.Idle > b.Lifetime && b.Cold:
		return history.Gap
	}
	return ""
}

// endsIn reports whether the last of the points stands at the end of what comes again of a request.
func (v *Verdict) endsIn(r *Request) bool {
	n := len(v.Points)
	return n > 0 && v.Points[n-1].After == r.Chain.Skip+r.Chain.Stable
}

// takeOver gives a request the cold points of the one whose beginning, in the way it was sent, the
// cache holds. That is the turn that the request goes on from; or a snapshot of the cache key that has
// more in common with it, because a message was changed or taken back. Points behind what is common
// move to the end of the request: what is common stays as it was sent, and the rest is cold.
// A cache key that is new has a cold cache; it takes over the points of the model's key before. The
// caller holds the lock.
func (s *State) takeOver(v *Verdict, r *Request, from beginnings, state *keyState, end expiry) {
	c := r.Chain
	if !c.Answered() {
		return
	}
	t, common := s.longest(r, v.at.key)
	begins := t == nil && state == nil
	if begins && from.own != nil {
		t, common = from.own, len(c.Links) // all of it is a beginning of the request
	}
	points := s.pointsOf(r, t)
	var omitted *history.Omitted
	if state != nil && state.newest != nil {
		near, n := state.nearest(c.Links, func(at time.Time) bool { return end.gone(r.Time.Sub(at)) })
		if t == nil || n >= common || n > 0 && !t.stored && end.gone(r.Time.Sub(t.Time)) {
			points, common, omitted = near.points, n, &history.Omitted{Messages: n, Parts: near.evicted}
		}
	}
	if omitted == nil && (t == nil && !begins || t != nil && t.stored) {
		gone := t != nil && end.gone(r.Time.Sub(t.Time))
		points, common = s.completed(r, v.at.key, points, common, gone)
	}
	v.Replans = t == nil || t.stored || !slices.Equal(points, t.points)
	for _, p := range points {
		moved := begins || p.After > common
		if p.After > common {
			p.After, p.Omitted = c.Stable, omitted
		}
		p = shift(p, c.Skip)
		if n := len(v.Points); n > 0 && p.After <= v.Points[n-1].After {
			v.Points[n-1].Omitted = p.Omitted // the later point made the way in which it was sent last
			continue
		}
		v.Points = append(v.Points, p)
		if moved {
			v.Moved = append(v.Moved, p)
		}
	}
}

// pointsOf are the points that a turn, with which a request begins, was planned at. t may be nil.
func (s *State) pointsOf(r *Request, t *turn) (points []history.Point) {
	switch {
	case t == nil:
		return nil
	case !t.stored:
		return t.points
	}
	salt := s.salt(r.Decoded)
	for i, link := range r.Chain.Links {
		if at := s.turn(link^salt, t.key()); at != nil && at.Moment != "" {
			points = append(points, history.Point{After: i + 1, Why: history.Cause(at.Moment)})
		}
	}
	return points
}
