package trim

import "github.com/stet-dev/stet/llm"

// Point is a cold point of a conversation: the provider's cache holds nothing of the
// first After messages, so they may be planned again. What follows them is not taken
// into account.
type Point struct {
	After int // messages
	Why   Cause
	// Omitted, if not nil, says how the beginning was sent before, with other
	// messages behind it. What was omitted then is omitted again, and nothing
	// else of the beginning.
	Omitted *Omitted
}

// Cause says why there is a cold point.
type Cause string

// The causes of cold points.
const (
	Gap        Cause = "gap"        // more time has passed than the cache lives
	Model      Cause = "model"      // another model is asked
	Tools      Cause = "tools"      // tools or system text are others
	Resume     Cause = "resume"     // a stored session goes on
	Compaction Cause = "compaction" // the agent began a new context
)

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
		if p.After <= st.messages || p.After > len(messages) {
			continue
		}
		st.Add(messages[st.messages:p.After]...)
		st.atPoint(p, 0)
	}
	st.Add(messages[st.messages:]...)
}

// AddSent adds the first messages of a conversation that were sent as they stand, and stay so.
// What follows may point to what they show. Where the provider checks what stands before
// thinking, there is taken to be thinking behind them, whether or not it is in the request.
func (st *State) AddSent(messages ...llm.Message) {
	st.sent = st.messages + len(messages)
	st.Add(messages...)
}

// Cold says that the messages added so far are about to be sent at a cold point.
// Earlier decisions may change, but for those on the first keep messages. It is called before Plan. Off and
// KeepLatest have no use for it.
func (st *State) Cold(why Cause, keep int) { st.atPoint(Point{After: st.messages, Why: why}, keep) }

// atPoint takes a point that stands behind the messages added so far.
func (st *State) atPoint(p Point, keep int) {
	if !st.engine.deduplicates() {
		return
	}
	st.account.cold, st.account.unanswered = true, true
	if st.account.balance >= 0 || p.Omitted != nil {
		st.evict(p.Omitted, keep)
	}
}
