package cachestate

import "github.com/stet-dev/stet/trim"

// Judge returns what is believed of the cache at a request, and whether the request is planned at a cold point. It changes nothing.
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
	if cold != "" && !owes && s.config.Evicts && r.Chain.Answered() && (!r.Bound || r.Leaves) {
		v.New = cold
	}
	return v
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
	return new(lineage), false, false
}

// believe fills in v for a request of a known lineage. It returns why the request is a cold point, or "". The caller holds the
// lock.
func (s *State) believe(v *Verdict, r *Request, from beginnings) (cold trim.Cause) {
	l, own, b := v.at.lineage, v.at.key, &v.Cache
	v.at.before = l.newest
	b.Gap = max(0, r.Time.Sub(l.last))
	v.at.key, b.Changed = l.keyOf(own, from)
	state, longest := l.keys[v.at.key], s.longest(r, v.at.key)
	if state == nil && longest != nil { // another cache key continued from a key of an earlier process
		state = longest.lineage.keys[v.at.key]
	}
	if state != nil {
		b.Idle = max(0, r.Time.Sub(state.last))
		b.Lifetime = max(r.Lifetime, l.lifetime, state.lifetime)
		if state.newest != nil {
			v.at.before = state.newest
		}
	}
	v.end = expiry{b.Lifetime, l.ended, r.Vouched}
	gone := v.end.gone(b.Idle)
	b.Certain, b.Cold = v.end.ends(b.Idle), gone != ""
	v.Changed = state != nil && (longest == nil || longest.Time.Before(state.last)) && r.Chain.Answered()
	switch {
	case state == nil && b.Changed != PrefixChange{}:
		return trim.Tools
	case state == nil, b.Idle > b.Lifetime && from.any != nil && from.any.Model != own.Model:
		return trim.Model
	}
	return gone
}
