package llm

import (
	"slices"
	"time"
)

// Builder builds messages from parts that are added one by one. The parts of all messages share one array, so a long
// conversation needs few allocations. The zero Builder is ready to use.
type Builder struct {
	// Before are messages that come before the built ones, but after the one of EndFirst. They are not changed.
	Before []Message

	Parts []Part // of all built messages, in order
	ends  []end
	first bool // the message that was ended last goes before all others
}

// end is a message whose parts end before index at of Builder.Parts. The parts are divided only at the end, because
// growing the array moves them.
type end struct {
	role Role
	at   int
	time time.Time
}

// Add adds a part to the current message.
func (b *Builder) Add(p Part) {
	if n := len(b.Parts); n == cap(b.Parts) {
		b.Parts = slices.Grow(b.Parts, max(n, 8)) // append alone would copy more often
	}
	b.Parts = append(b.Parts, p)
}

// End ends the current message.
func (b *Builder) End(role Role) { b.EndAt(role, len(b.Parts)) }

// EndAt ends a message before Parts[n]. The parts from n on belong to the next message.
func (b *Builder) EndAt(role Role, n int) { b.ends = append(b.ends, end{role: role, at: n}) }

// At sets the time of the message that was ended last.
func (b *Builder) At(t time.Time) { b.ends[len(b.ends)-1].time = t }

// EndFirst is like End, but the message goes before all others. No message may follow it.
func (b *Builder) EndFirst(role Role) {
	b.End(role)
	b.first = true
}

// Len returns the number of ended messages, without those in Before.
func (b *Builder) Len() int { return len(b.ends) }

// Called reports whether a message so far calls a tool.
func (b *Builder) Called() bool {
	calls := func(p Part) bool { return p.Kind == ToolCall }
	return slices.ContainsFunc(b.Parts, calls) ||
		slices.ContainsFunc(b.Before, func(m Message) bool { return slices.ContainsFunc(m.Parts, calls) })
}

// EndResults ends the messages of the parts from index from on: results of tools become messages of role Tool, all other parts become
// messages of role User. Without parts it ends an empty message of role User.
func (b *Builder) EndResults(from int) {
	roleOf := func(i int) Role {
		if b.Parts[i].Kind == ToolResult {
			return Tool
		}
		return User
	}
	for i := from; i < len(b.Parts); i++ {
		if i+1 == len(b.Parts) || roleOf(i) != roleOf(i+1) {
			b.EndAt(roleOf(i), i+1)
		}
	}
	if from == len(b.Parts) {
		b.EndAt(User, from)
	}
}

// Extend adds the parts since the last end to the message that was ended last.
func (b *Builder) Extend() { b.ends[len(b.ends)-1].at = len(b.Parts) }

// Messages returns the messages. Nothing may be added after the call.
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
