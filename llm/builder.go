package llm

import (
	"slices"
	"time"
)

// Builder puts messages together out of parts that come one by one. The parts
// of all messages share one array, so a long conversation takes few
// allocations. The zero Builder is ready.
type Builder struct {
	// Before are messages that go before those built, but for the one of
	// EndFirst. They are not changed.
	Before []Message

	Parts []Part // of all messages built, in order
	ends  []end
	first bool // the message ended last goes before the others
}

// end is a message whose parts end before index at of Builder.Parts. The
// parts are cut up only when all are there, since growing moves them.
type end struct {
	role Role
	at   int
	time time.Time
}

// Add adds a part to the message that is not ended yet.
func (b *Builder) Add(p Part) {
	if n := len(b.Parts); n == cap(b.Parts) {
		b.Parts = slices.Grow(b.Parts, max(n, 8)) // append alone would copy more often
	}
	b.Parts = append(b.Parts, p)
}

// End ends a message with the parts added since the last one.
func (b *Builder) End(role Role) { b.EndAt(role, len(b.Parts)) }

// EndAt ends a message before Parts[n]; the parts from there are the next one's.
func (b *Builder) EndAt(role Role, n int) { b.ends = append(b.ends, end{role: role, at: n}) }

// At says when the message ended last was written.
func (b *Builder) At(t time.Time) { b.ends[len(b.ends)-1].time = t }

// EndFirst is End for the last message of all, which goes before the others.
func (b *Builder) EndFirst(role Role) {
	b.End(role)
	b.first = true
}

// Len is the number of messages ended so far, without those Before.
func (b *Builder) Len() int { return len(b.ends) }

// Called reports whether a message before this place calls a tool.
func (b *Builder) Called() bool {
	calls := func(p Part) bool { return p.Kind == ToolCall }
	return slices.ContainsFunc(b.Parts, calls) ||
		slices.ContainsFunc(b.Before, func(m Message) bool { return slices.ContainsFunc(m.Parts, calls) })
}

// Extend gives the parts added since to the message ended last.
func (b *Builder) Extend() { b.ends[len(b.ends)-1].at = len(b.Parts) }

// Messages returns the messages. Nothing may be added after it.
func (b *Builder) Messages() []Message {
	out := append(make([]Message, 0, len(b.Before)+len(b.ends)), b.Before...)
	from := 0
	for _, e := range b.ends {
		m := Message{Role: e.role, Time: e.time}
		if e.at > from {
			m.Parts = b.Parts[from:e.at:e.at]
		}
		out = append(out, m)
		from = e.at
	}
	if b.first {
		last := out[len(out)-1]
		copy(out[1:], out)
		out[0] = last
	}
	return out
}
