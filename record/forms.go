package record

import (
	"context"
	"slices"
	"time"
)

// SentForm says how messages of a request were changed on their way to the provider. A later request that continues it is
// sent in the same form. A form never changes: its ID is a hash of its content.
type SentForm struct {
	ID     uint64 // never 0: 0 is the form of messages that were sent unchanged
	Parent uint64 // the form that this one adds to; 0: none
	// Edits are opaque to the store. Only a process that has the conversation can read them.
	Edits []byte
}

// SentPlace says in which form the messages before a place in a conversation were sent. Place and Key together identify it.
type SentPlace struct {
	Place uint64 // a hash of a request's messages, or of the signature of thinking that answered it
	Key   uint64 // of the provider's cache; or Form, where the provider checks thinking: then the same messages may have been sent in several forms
	Form  uint64
	Time  time.Time // the newest time at which it was stored; stores keep microseconds, in UTC

	// Once one of these is stored for a place and a key, it stays set.
	Bound bool // the messages have thinking, or the answer to them has
	Drops bool // the provider was asked to drop thinking that is bound to something else
}

// Add merges into p an earlier record of the same place and key. The form of the newer one counts.
func (p *SentPlace) Add(before SentPlace) {
	p.Bound, p.Drops = p.Bound || before.Bound, p.Drops || before.Drops
	if before.Time.After(p.Time) {
		p.Time, p.Form = before.Time, before.Form
	}
}

// Refusal says that a provider clears no results for an account.
type Refusal struct {
	Account uint64 // a hash; see package proxy
	Time    time.Time
}

// Refuses implements Store.
func (m *Memory) Refuses(ctx context.Context, account uint64) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, refuses := m.refusals[account]
	return refuses, m.usable(ctx)
}

// sentPlaceBytes is the approximate size of a place in a store, in bytes.
const sentPlaceBytes = 64

// SentForms implements Store.
func (m *Memory) SentForms(ctx context.Context, places []uint64) (at []SentPlace, forms []SentForm, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return nil, nil, err
	}
	seen := map[uint64]bool{}
	for _, p := range m.places {
		if !slices.Contains(places, p.Place) {
			continue
		}
		at = append(at, p)
		for id := p.Form; id != 0 && !seen[id]; id = m.forms[id].Parent {
			f, ok := m.forms[id]
			if !ok {
				break
			}
			seen[id] = true
			f.Edits = slices.Clone(f.Edits)
			forms = append(forms, f)
		}
	}
	slices.SortStableFunc(at, func(a, b SentPlace) int { return b.Time.Compare(a.Time) })
	return at, forms, nil
}

// putForms stores the forms and places of b.
func (m *Memory) putForms(b Batch) {
	if m.forms == nil {
		m.forms = map[uint64]SentForm{}
	}
	for _, f := range b.Forms {
		if _, ok := m.forms[f.ID]; !ok {
			f.Edits = slices.Clone(f.Edits)
			m.forms[f.ID] = f
		}
	}
	for _, p := range b.Places {
		p.Time = stored(p.Time)
		m.places = slices.DeleteFunc(m.places, func(q SentPlace) bool {
			same := q.Place == p.Place && q.Key == p.Key
			if same {
				p.Add(q)
			}
			return same
		})
		m.places = append(m.places, p)
	}
}

// pruneForms removes places older than since, and the oldest places until the rest takes at most limit bytes (0: no limit).
// It also removes forms that no place needs.
func (m *Memory) pruneForms(since time.Time, limit int64) {
	slices.SortStableFunc(m.places, func(a, b SentPlace) int { return b.Time.Compare(a.Time) })
	size := int64(0)
	m.places = slices.DeleteFunc(m.places, func(p SentPlace) bool {
		size += sentPlaceBytes + int64(len(m.forms[p.Form].Edits))
		return p.Time.Before(since) || limit > 0 && size > limit
	})
	used := map[uint64]SentForm{}
	for _, p := range m.places {
		for id := p.Form; id != 0; id = m.forms[id].Parent {
			f, ok := m.forms[id]
			if _, done := used[id]; done || !ok {
				break
			}
			used[id] = f
		}
	}
	m.forms = used
}
