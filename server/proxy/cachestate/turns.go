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
	own     Key  // the request's own key; its cache key if it came in another process
	stored  bool // it came in another process
	whole   bool // if stored: all turns that it begins with were looked up
}

func (t *turn) key() Key { return Key{t.Model, t.Tools, t.System} }

// newestFirst compares turns by time, the newest first.
func newestFirst(a, b *turn) int {
	return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(a.Prefix, b.Prefix))
}

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

// longest returns the longest turn of a cache key that a request begins with, and its number of links; nil if there is none. The
// caller holds the lock.
func (s *State) longest(r *Request, key Key) (*turn, int) {
	salt := s.salt(r.Decoded)
	for i, link := range slices.Backward(r.Chain.Links) {
		if t := s.turn(link^salt, key); t != nil {
			return t, i + 1
		}
	}
	return nil, 0
}

// turn returns the turn of a cache key that ends with a hash, or nil. The caller holds the lock.
func (s *State) turn(end uint64, key Key) *turn {
	for _, t := range s.turns[end] {
		if t.key() == key {
			return t
		}
	}
	return nil
}

// put stores a turn, and replaces the turn with its hash and cache key. The caller holds the lock.
func (s *State) put(end uint64, t *turn) {
	key := t.key()
	s.drop(end, key)
	s.turns[end] = append(s.turns[end], t)
	s.count++
}

// drop forgets a turn. The caller holds the lock.
func (s *State) drop(end uint64, key Key) {
	t := s.turn(end, key)
	if t == nil {
		return
	}
	s.count--
	if s.turns[end] = slices.DeleteFunc(slices.Clone(s.turns[end]), func(other *turn) bool { return other == t }); len(s.turns[end]) == 0 {
		delete(s.turns, end)
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
	slices.SortFunc(all, newestFirst)
	for _, t := range all[MaxTurns:] {
		s.drop(t.Prefix^t.key().Hash(), t.key())
	}
}

// Take adds turns of other processes, unless a newer one is known. They come newest first.
func (s *State) Take(turns []record.Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lineages := map[any]*lineage{}
	for _, same := range s.turns {
		for _, t := range same {
			lineages[t.lineage.id] = t.lineage
		}
	}
	s.take(turns, lineages)
}

// Wants returns the prefixes (record.Turn.Prefix) of turns that a request may begin with, if other processes may have sent requests
// that are not known here.
func (s *State) Wants(r *Request) (prefixes []uint64) {
	unknown := s.Unknown(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	any := s.beginnings(r).any
	if unknown <= 1 && (any == nil || !any.stored || any.whole) {
		return nil
	}
	keys := map[uint64]bool{r.Key.Hash(): true}
	if any != nil {
		keys[any.key().Hash()] = true
		for key := range any.lineage.keys {
			keys[key.Hash()] = true
		}
	}
	c, messages, salt := r.Chain, r.Decoded.Messages[r.Chain.Skip:], s.salt(r.Decoded)
	for i, link := range c.Links {
		if i < c.Answer || messages[i].Role == llm.Assistant { // a place where a turn may end (prefix.Chain.End)
			for key := range keys {
				prefixes = append(prefixes, link^salt^key)
			}
		}
	}
	return prefixes
}

// TakeOf adds the turns that a request Wants. They come newest first.
func (s *State) TakeOf(r *Request, turns []record.Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lineages, salt := map[any]*lineage{}, s.salt(r.Decoded)
	for _, link := range r.Chain.Links {
		for _, t := range s.turns[link^salt] {
			lineages[t.lineage.id] = t.lineage
		}
	}
	s.take(turns, lineages)
	if any := s.beginnings(r).any; any != nil {
		any.whole = true
	}
}

// take adds turns of other processes. lineages has the lineages that they may belong to, by id. The caller holds the lock.
func (s *State) take(turns []record.Turn, lineages map[any]*lineage) {
	delete(lineages, uint64(0))
	for _, stored := range slices.Backward(turns) { // the oldest first
		t := &turn{Turn: stored, stored: true}
		t.own = t.key()
		end := stored.Prefix ^ t.own.Hash()
		if known := s.turn(end, t.own); known != nil && !stored.Time.After(known.Time) {
			continue
		}
		var of any = stored.Thread
		if stored.Thread == 0 {
			of = stored.Conversation
		}
		if t.lineage = lineages[of]; t.lineage == nil || of == "" {
			t.lineage = &lineage{id: stored.Thread}
			lineages[of] = t.lineage
		}
		t.lineage.take(t)
		s.put(end, t)
	}
}

// Known reports whether a request begins with an answered request.
func (s *State) Known(r *Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.beginnings(r).any != nil
}

// Unknown counts the model's answers in a request after the longest turn that it begins with. One is the answer to that turn. More
// than one means that another process sent requests, too.
func (s *State) Unknown(r *Request) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, messages, salt := r.Chain, r.Decoded.Messages[r.Chain.Skip:], s.salt(r.Decoded)
	for i := c.Stable - 1; i >= 0 && len(s.turns[c.Links[i]^salt]) == 0; i-- {
		if messages[i].Role == llm.Assistant && (i == 0 || messages[i-1].Role != llm.Assistant) {
			n++
		}
	}
	return n
}

// Forked returns the name of a conversation whose answered request this one begins with; empty: there is none.
func (s *State) Forked(r *Request) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Decoded == nil || r.Chain == nil {
		return ""
	}
	salt := s.salt(r.Decoded)
	for i := len(r.Chain.Links) - 1; i >= r.Chain.Answer; i-- {
		if same := s.turns[r.Chain.Links[i]^salt]; len(same) > 0 {
			return same[0].Conversation
		}
	}
	return ""
}

// Named returns the name of another process's conversation that a request continues. It is empty if there is none, or if another
// request already continues it.
func (s *State) Named(r *Request) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, salt := r.Chain, s.salt(r.Decoded)
	for i := len(c.Links) - 1; i >= c.Answer; i-- {
		if same := s.turns[c.Links[i]^salt]; len(same) > 0 {
			if same[0].lineage.newest == nil {
				return same[0].Conversation
			}
			return ""
		}
	}
	return ""
}
