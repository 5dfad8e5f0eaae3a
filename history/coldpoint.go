package history

import (
	"slices"

	"github.com/stet-dev/stet/llm"
)

// Point is a place in a conversation at which something is known of how the
// messages before it were sent. Mostly it is a cold point: the provider's cache
// holds nothing of the first After messages, so they may be planned anew. What
// follows them is not taken into account. Where Why binds (see [Cause.Binds]), the
// opposite holds: messages stay as they were sent.
type Point struct {
	After int // messages
	Why   Cause
	// Omitted, if not nil, says how the beginning was sent before, with other
	// messages behind it. What was omitted then is omitted again, and nothing
	// else of the beginning.
	Omitted *Omitted
	// From is the first message that stays whole, where Why is Elsewhere or
	// Managed: those from there to After do. Under Managed the messages behind
	// After do too, up to the next one of the model. Under Thinking it is the
	// first message of the model that had thinking. Other causes have no From.
	From int
}

// Cause says why there is a point.
type Cause string

// The causes of cold points.
const (
	Gap        Cause = "gap"        // more time has passed than the cache lives
	Model      Cause = "model"      // another model is asked
	Tools      Cause = "tools"      // tools or system text are others
	Resume     Cause = "resume"     // a stored session goes on
	Compaction Cause = "compaction" // the context began anew
)

// The causes that bind messages.
const (
	Elsewhere Cause = "elsewhere" // the model answered some of the messages in requests that are not known here
	Managed   Cause = "managed"   // the provider changes the conversation itself
	Thinking  Cause = "thinking"  // the model's thinking may come again, though not every request has it
)

// Binds reports whether nothing leaves at a point with this cause, and what was
// sent stays as it is. That holds whether or not a later request has the thinking
// that was made behind it.
func (c Cause) Binds() bool { return c == Elsewhere || c == Managed || c == Thinking }

// Omitted is what was omitted from the beginning of a conversation when it was
// sent. It must not be changed any more.
type Omitted struct {
	Messages int // of the beginning, the leading system text not counted
	Parts    []PartRef
}

// PartRef names a part of a message: a result, or a call and its arguments. In
// [Omitted] and [Plan.Evicted] messages are counted from behind the leading
// system text.
type PartRef struct{ Message, Part int }

// covers reports whether a message, counted from behind the leading system text,
// is part of the beginning.
func (o *Omitted) covers(message int) bool { return o != nil && message < o.Messages }

// Grow adds the messages that are not added yet, and takes the points among them. The
// messages must begin with those that are added. A cold point has no effect where it
// stands behind the last message, among the messages that are added already, or
// before the point that precedes it.
func (st *State) Grow(messages []llm.Message, points []Point) {
	for _, p := range points {
		if p.Why.Binds() && p.From <= p.After {
			st.binding = append(st.binding, p)
		}
	}
	for _, p := range points {
		if p.After <= st.messages || p.After > len(messages) {
			continue
		}
		st.Add(messages[st.messages:p.After]...)
		st.take(p)
	}
	st.Add(messages[st.messages:]...)
}

// Cold says that the messages added so far are about to be sent at a cold point.
// What was decided before may be decided anew. It is called before Plan. Off and
// KeepLatest have no use for it.
func (st *State) Cold(why Cause) { st.take(Point{After: st.messages, Why: why}) }

// take takes a point that stands behind the messages added so far.
func (st *State) take(p Point) {
	if p.Why.Binds() {
		st.managed = p.Why == Managed
		return
	}
	if !st.engine.deduplicates() {
		return
	}
	st.account.cold, st.account.unanswered = true, true
	if st.account.balance >= 0 || p.Omitted != nil {
		st.evict(p.Omitted)
	}
}

// bound reports whether the message that is added now stays whole.
func (st *State) bound() bool {
	return st.managed || slices.ContainsFunc(st.binding, func(p Point) bool {
		return p.Why != Thinking && p.From <= st.messages && st.messages < p.After
	})
}

// thinkingBegan reports whether a point says that the model's thinking begins with
// the message that is added now, or earlier.
func (st *State) thinkingBegan() bool {
	return slices.ContainsFunc(st.binding, func(p Point) bool {
		if p.Why == Thinking {
			return p.From <= st.messages
		}
		return p.After <= st.messages
	})
}
