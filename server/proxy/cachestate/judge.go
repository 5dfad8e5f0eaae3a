package cachestate

import (
	"slices"
	"time"

	"github.com/stet-dev/stet/trim"
)

// Judge returns what is believed of the cache at a request, and the request's cold points. It changes nothing.
func (s *State) Judge(r Request) Verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := s.beginnings(&r)
	l, known, compaction := s.lineageOf(&r, from)
	v := Verdict{at: position{lineage: l, key: r.Key, from: from.any}, Cache: Belief{Lifetime: r.Lifetime}}
	var cold trim.Cause
	owes := false
	switch {
	case known:
		cold = s.believe(&v, &r, from)
		owes = l.account < 0
	case compaction:
		cold, v.Cache.Certain, v.Cache.Cold = trim.Compaction, true, true
	}
	v.Cache.Leaves = r.Lifetime
	if v.Cache.Idle <= v.Cache.Lifetime { // reading renews the lifetime of the part that is read
		v.Cache.Leaves = max(r.Lifetime, v.Cache.Lifetime)
	}
	evicts := cold != "" && !owes && s.config.Evicts && r.Chain.Answered()
	switch {
	case r.Bound && !(evicts && r.Clears):
		return s.frozen(v, &r)
	case !evicts:
		return v
	}
	if v.endsIn(&r) {
		v.Points = v.Points[:len(v.Points)-1]
	}
	return v.begin(trim.Point{After: r.Chain.Skip + r.Chain.Stable, Why: cold})
}

// lineageOf returns the lineage of a request. The lineage is known, or new, or begins with a compaction. The caller holds the lock.
func (s *State) lineageOf(r *Request, from beginnings) (l *lineage, known, compaction bool) {
	var newest *lineage // newest lineage of the conversation
	if r.Conversation != nil {
		newest = r.Conversation.newest
	}
	switch {
	case from.any != nil:
		return from.any.lineage, true, false
	case !r.Chain.Answered():
		return new(lineage), false, false
	case newest != nil && shared(r.Chain.Links, newest.newest) > r.Chain.Answer:
		return newest, true, false // the agent went back to a place where no request ended
	case newest != nil:
		// The agent has restarted under the same name, and kept a part of the earlier messages.
		return &lineage{account: newest.account, lifetime: newest.lifetime, survived: newest.survived}, false, true
	}
	if met := s.meet(r, r.Key); len(met) > 0 {
		return met[0].turn.lineage, true, false // the agent went back in the same way, in another process
	}
	return new(lineage), false, false
}

// believe fills in v for a request of a known lineage. It returns why the request is a cold point, or "". The caller holds the
// lock.
func (s *State) believe(v *Verdict, r *Request, from beginnings) (cold trim.Cause) {
	l, own, b := v.at.lineage, v.at.key, &v.Cache
	v.at.before = l.newest
	b.Gap = max(0, r.Time.Sub(l.last))
	v.at.key, b.Changed = l.keyOf(own, from)
	state := l.keys[v.at.key]
	if state == nil { // another cache key continued from a key of an earlier process
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
		return "" // it is already a cold point
	case state == nil && b.Changed != PrefixChange{}:
		return trim.Tools
	case state == nil, b.Idle > b.Lifetime && from.any != nil && from.any.Model != own.Model:
		return trim.Model
	case b.Idle > b.Lifetime && b.Cold:
		return trim.Gap
	}
	return ""
}

// endsIn reports whether the last point is at the end of the part of a request that will be sent again.
func (v *Verdict) endsIn(r *Request) bool {
	n := len(v.Points)
	return n > 0 && v.Points[n-1].After == r.Chain.Skip+r.Chain.Stable
}

// takeOver gives a request the cold points of the earlier request whose beginning, as it was sent, is in the cache. That is the
// turn that the request continues. Or it is a snapshot of the cache key that has more in common with the request, because a message
// was changed or removed. Points after the common part move to the end of the request: the common part stays as it was sent, and
// the rest is cold. A new cache key has a cold cache; it takes over the points of the model's previous key. The caller holds the
// lock.
func (s *State) takeOver(v *Verdict, r *Request, from beginnings, state *keyState, end expiry) {
	c := r.Chain
	if !c.Answered() {
		return
	}
	t, common := s.longest(r, v.at.key)
	begins := t == nil && state == nil
	if begins && from.own != nil {
		t, common = from.own, len(c.Links) // the request begins with all of it
	}
	points := s.pointsOf(r, t)
	var omitted *trim.Omitted
	if state != nil && state.newest != nil {
		near, n := state.nearest(c.Links, func(at time.Time) bool { return end.gone(r.Time.Sub(at)) })
		if t == nil || n >= common || n > 0 && !t.stored && end.gone(r.Time.Sub(t.Time)) {
			points, common, omitted = near.points, n, &trim.Omitted{Messages: n, Parts: near.evicted}
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
			v.Points[n-1].Omitted = p.Omitted // the later point decided how it was last sent
			continue
		}
		v.Points = append(v.Points, p)
		if moved {
			v.Moved = append(v.Moved, p)
		}
	}
}

// pointsOf returns the points of a turn that a request begins with. t may be nil.
func (s *State) pointsOf(r *Request, t *turn) (points []trim.Point) {
	switch {
	case t == nil:
		return nil
	case !t.stored:
		return t.points
	}
	salt := s.salt(r.Decoded)
	for i, link := range r.Chain.Links {
		if at := s.turn(link^salt, t.key()); at != nil && at.Moment != "" {
			points = append(points, trim.Point{After: i + 1, Why: trim.Cause(at.Moment)})
		}
	}
	return points
}
