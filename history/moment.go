package history

import (
	"slices"

	"github.com/stet-dev/stet/llm"
)

// Cause says why what was sent before need not stay as it was: the provider
// has nothing of it in its cache any more, or so little that it does not pay.
type Cause string

// The moments.
const (
	Gap        Cause = "gap"        // more time has passed than the cache lives
	Model      Cause = "model"      // another model is asked
	Tools      Cause = "tools"      // tools or system text are others
	Resume     Cause = "resume"     // a stored session goes on
	Compaction Cause = "compaction" // the context began anew

	// At these nothing leaves. The first two say which messages stay whole for ever.
	Elsewhere Cause = "elsewhere" // the model answered some of the messages in requests that are not known here
	Managed   Cause = "managed"   // the provider changes the conversation itself
	Thinking  Cause = "thinking"  // the model's thinking may come again, though not every request has it
)

// Binds reports whether a break takes nothing away, and binds what was sent: it stays as
// it is, whether or not a request has the thinking that was made behind it.
func (m Cause) Binds() bool { return m == Elsewhere || m == Managed || m == Thinking }

// Point is a moment: what stands in the first After messages may be planned anew,
// with nothing that follows taken into account.
type Point struct {
	After int
	Why   Cause
	// Omitted, if not nil, says how the first of these were sent before, with others
	// behind them: what left then leaves again, and nothing else of them does.
	Omitted *Omitted
	// From is the first message that stays whole, where Why is Elsewhere or Managed: those
	// from there to After do. Under Managed the messages behind After do too, up to the
	// next one of the model. Under Thinking it is the first message of the model that had
	// thinking. Other breaks have no From.
	From int
}

// Omitted is what had left of the beginning of a conversation, when it was sent. It
// must not be changed any more.
type Omitted struct {
	Messages int // of the beginning, the leading system text not counted
	Parts    []PartRef
}

// PartRef is a result, or the arguments of a call: the index of its message, counted
// from behind the leading system text, and of its part.
type PartRef struct{ Message, Part int }

// covers reports whether a message that stands so far behind the leading system
// text is one of the beginning.
func (l *Omitted) covers(message int) bool { return l != nil && message < l.Messages }

// Evicted returns what a moment has left out of the request planned, of the
// messages behind the first skip.
func (p *Plan) Evicted(skip int) (out []PartRef) {
	for i := range p.Omissions {
		if t := &p.Omissions[i]; t.Reason.Evicts() && t.Message >= skip {
			out = append(out, PartRef{t.Message - skip, t.Part})
		}
	}
	return out
}

// Grow adds the messages that are not added yet, with the breaks among them. The first
// of the messages are those that are added. A break that stands behind the last
// of the messages has no effect, and neither has one that does not stand behind what was
// added and behind the break before it.
func (f *State) Grow(messages []llm.Message, breaks []Point) {
	for _, b := range breaks {
		if b.Why.Binds() && b.From <= b.After {
			f.whole = append(f.whole, b)
		}
	}
	for _, b := range breaks {
		if b.After <= f.n || b.After > len(messages) {
			continue
		}
		f.Add(messages[f.n:b.After]...)
		f.Break(b)
	}
	f.Add(messages[f.n:]...)
}

// stays reports whether the message that is added now stays whole.
func (f *State) stays() bool {
	if f.holds {
		return true
	}
	for _, b := range f.whole {
		if b.Why != Thinking && b.From <= f.n && f.n < b.After {
			return true
		}
	}
	return false
}

// begins reports whether the model's thinking begins with a message at the latest, by a
// break that says so.
func (f *State) begins(message int) bool {
	return slices.ContainsFunc(f.whole, func(b Point) bool {
		return b.Why == Thinking && b.From <= message || b.Why != Thinking && b.After <= message
	})
}

// Cold says that the messages added so far are about to be sent at such a
// moment: what was decided before may be decided anew. It is called before
// Plan. Off and KeepLatest have no use for it.
func (f *State) Cold(why Cause) { f.Break(Point{After: f.n, Why: why}) }

// Break is Cold for a break that may say how the beginning was sent before.
func (f *State) Break(b Point) {
	if b.Why.Binds() {
		f.holds = b.Why == Managed
		return
	}
	if !f.engine.admits() {
		return
	}
	f.account.cold, f.account.guessed = true, true
	if f.account.balance >= 0 || b.Omitted != nil {
		f.elide(b.Omitted)
	}
}
