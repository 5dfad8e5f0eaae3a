package cachestate

import (
	"slices"

	"github.com/stet-dev/stet/llm"
)

// Some providers check thinking: they refuse a request in which something before a thinking block has changed since the block was
// made. Package sent knows how such a request was sent.

// Checks reports whether the conversation of a request was ever sent to a provider that checks thinking. Later models do not change
// that.
func (s *State) Checks(r *Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	checks, salt := s.config.Checks(r.API, r.Key.Model), s.salt(r.Decoded)
	for i := 0; i < len(r.Chain.Links) && !checks; i++ {
		checks = slices.ContainsFunc(s.turns[r.Chain.Links[i]^salt], func(t *turn) bool { return s.config.Checks(r.API, t.Model) })
	}
	return checks
}

// FirstThinking returns the index of the first message with thinking, or -1.
func FirstThinking(req *llm.Request) int {
	return slices.IndexFunc(req.Messages, func(m llm.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return p.Kind == llm.Thinking })
	})
}
