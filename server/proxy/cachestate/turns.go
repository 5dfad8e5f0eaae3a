package cachestate

import (
	"cmp"
	"slices"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
)

// turn is a request that was sent, with or without an answer yet. Its Tools and System are those of its cache key.
type turn struct {
	record.Turn
	lineage *lineage
	own     Key // the request's own key; its cache key if it came in another process
}

func (t *turn) key() Key { return Key{t.Model, t.Tools, t.System} }

// withoutTools separates requests without tools (titles, summaries) from the conversation with the same first messages.
const withoutTools = 0x5f356495

// unchanged is the salt for Config.Unchanged.
const unchanged = 0x6a09e667f3bcc908

// salt returns a value that separates the hashes of some requests.
func (s *State) salt(req *llm.Request) (salt uint64) {
	if s.config.Unchanged {
		salt = unchanged
	}
	if len(req.Tools) == 0 {
		salt ^= withoutTools
	}
	return salt
}

// beginnings has the turns that a request begins with.
type beginnings struct {
	any      *turn // the longest
	own, old *turn // the two longest of the request's own model
}

// habit returns what had already changed at the request before.
func (b beginnings) habit() PrefixChange {
	if b.old == nil {
		return PrefixChange{}
	}
	return b.own.own.changed(b.old.own)
}

// beginnings finds the turns that a request begins with. The caller holds the lock.
func (s *State) beginnings(r *Request) (b beginnings) {
	salt := s.salt(r.Decoded)
	for _, link := range slices.Backward(r.Chain.Links) {
		for _, t := range slices.Backward(s.turns[link^salt]) {
			if b.any == nil {
				b.any = t
			}
			switch {
			case t.Model != r.Key.Model:
			case b.own == nil:
				b.own = t
			default:
				b.old = t
				return b
			}
		}
	}
	return b
}

// longest returns the longest turn of a cache key that a request begins with; nil if there is none. The caller holds the lock.
func (s *State) longest(r *Request, key Key) *turn {
	salt := s.salt(r.Decoded)
	for _, link := range slices.Backward(r.Chain.Links) {
		if t := s.turn(link^salt, key); t != nil {
			return t
		}
	}
	return nil
}

// turn returns the turn of a cache key with a prefix, or nil. The caller holds the lock.
func (s *State) turn(prefix uint64, key Key) *turn {
	for _, t := range s.turns[prefix] {
		if t.key() == key {
			return t
		}
	}
	return nil
}

// put stores a turn, and replaces the turn with its prefix and cache key. The caller holds the lock.
func (s *State) put(t *turn) {
	s.drop(s.turn(t.Prefix, t.key()))
	s.turns[t.Prefix] = append(s.turns[t.Prefix], t)
	s.count++
}

// drop forgets a turn; nil: there is none. The caller holds the lock.
func (s *State) drop(t *turn) {
	if t == nil {
		return
	}
	s.count--
	if left := slices.DeleteFunc(slices.Clone(s.turns[t.Prefix]), func(other *turn) bool { return other == t }); len(left) > 0 {
		s.turns[t.Prefix] = left
	} else {
		delete(s.turns, t.Prefix)
	}
}

// forget drops all but the newest turns, once there are many more than the limit. The caller holds the lock.
func (s *State) forget() {
	if s.count <= 2*MaxTurns {
		return
	}
	var all []*turn
	for _, same := range s.turns {
		all = append(all, same...)
	}
	slices.SortFunc(all, func(a, b *turn) int { return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(a.Prefix, b.Prefix)) })
	for _, t := range all[MaxTurns:] {
		s.drop(t)
	}
}

// Wants returns the prefixes (record.Turn.Prefix) of all turns that a request may begin with, if another process may have sent some of
// its messages: no turn is known, or more than one answer after the longest one. One is the answer to that turn itself.
func (s *State) Wants(r *Request) (prefixes []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, messages, salt := r.Chain, r.Decoded.Messages[r.Chain.Skip:], s.salt(r.Decoded)
	unknown, known := 0, false
	for i := c.Stable - 1; i >= 0 && !known; i-- {
		if known = len(s.turns[c.Links[i]^salt]) > 0; !known && messages[i].Role == llm.Assistant && (i == 0 || messages[i-1].Role != llm.Assistant) {
			unknown++
		}
	}
	if known && unknown <= 1 {
		return nil
	}
	for i, link := range c.Links {
		if i < c.Answer || messages[i].Role == llm.Assistant { // a place where a turn may end (prefix.Chain.End)
			prefixes = append(prefixes, link^salt)
		}
	}
	return prefixes
}

// Take adds the turns of other processes that a request Wants, and the others of their threads.
func (s *State) Take(r *Request, turns []record.Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lineages, salt := map[uint64]*lineage{}, s.salt(r.Decoded)
	for _, link := range r.Chain.Links {
		for _, t := range s.turns[link^salt] {
			lineages[t.lineage.id] = t.lineage
		}
	}
	slices.SortFunc(turns, func(a, b record.Turn) int { return a.Time.Compare(b.Time) })
	for _, stored := range turns {
		t := &turn{Turn: stored}
		t.own = t.key()
		if known := s.turn(stored.Prefix, t.own); known != nil && !stored.Time.After(known.Time) {
			continue
		}
		if t.lineage = lineages[stored.Thread]; t.lineage == nil {
			t.lineage = &lineage{id: stored.Thread}
			lineages[stored.Thread] = t.lineage
		}
		t.lineage.take(t)
		s.put(t)
	}
}

// Known reports whether a request begins with an answered request.
func (s *State) Known(r *Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.beginnings(r).any != nil
}

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

// Named returns the name of the conversation whose answered request this one begins with; empty: there is none. elsewhere says that
// no request of this process has continued it yet.
func (s *State) Named(r *Request) (name string, elsewhere bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Decoded == nil || r.Chain == nil {
		return "", false
	}
	salt := s.salt(r.Decoded)
	for i := len(r.Chain.Links) - 1; i >= r.Chain.Answer; i-- {
		if same := s.turns[r.Chain.Links[i]^salt]; len(same) > 0 {
			return same[0].Conversation, same[0].lineage.newest == nil
		}
	}
	return "", false
}
