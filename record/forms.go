package record

import "time"

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
	Drops bool // the provider was asked to drop thinking that was signed after something else
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
