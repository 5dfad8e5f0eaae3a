package cachestate

import (
	"slices"

	"github.com/stet-dev/stet/llm"
)

// Some providers check thinking: a request is refused where something before a thinking block is not
// as it was when the block was made. How such a request was sent is known by package sentform.

// Checks reports whether the conversation of a request was sent to a provider that checks
// thinking. That stays so whatever models come later.
func (s *State) Checks(r *Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	checks, salt := s.config.Checks(r.API, r.Key.Model), s.salt(r.Decoded)
	for i := 0; i < len(r.Chain.Links) && !checks; i++ {
		checks = slices.ContainsFunc(s.turns[r.Chain.Links[i]^salt], func(t *turn) bool { return s.config.Checks(r.API, t.Model) })
	}
	return checks
}

// FirstThinking is the first message with thinking; -1: there is none.
func FirstThinking(req *llm.Request) int {
	return slices.IndexFunc(req.Messages, func(m llm.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return p.Kind == llm.Thinking })
	})
}

// frozen gives a bound request the points of the turn that it goes on from, of whatever cache key, and no others: it
// is planned alike. The caller holds the lock.
func (s *State) frozen(v Verdict, r *Request) Verdict {
	t := v.at.from
	v.Points, v.Moved = shiftAll(s.pointsOf(r, t), r.Chain.Skip), nil
	v.Replans = t == nil || t.stored || t.key() != v.at.key
	return v
}
