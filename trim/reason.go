package trim

// Reason says why a text was replaced.
type Reason string

// The reasons of deduplication: the result has just arrived.
const (
	Repeat   Reason = "repeat"   // all its lines are above
	Partial  Reason = "partial"  // some of its lines are above
	Output   Reason = "output"   // an output whose lines are above, or in its normal form
	Numbers  Reason = "numbers"  // only line numbers that can be counted
	Restored Reason = "restored" // not shortened: an agent's own stub was replaced by the text it is about
)

// The reasons of eviction: the text had been sent before, and was left out at a cold point or a warm break.
const (
	Command   Reason = "command"   // the output of an old command, search or the like
	Arguments Reason = "arguments" // a text in the arguments of an old call
	Idle      Reason = "idle"      // an old read of a file that was not touched for long
	Thinking  Reason = "thinking"  // thinking of an earlier turn, without a placeholder
	Cleared   Reason = "cleared"   // one of the oldest results, which the provider clears itself
)

// The reasons of keep-latest.
const (
	Older    Reason = "older"    // newer reads of the file follow
	Terminal Reason = "terminal" // newer outputs of commands follow
)

// reasons has a row for each reason, in the order in which people read of them.
var reasons = []struct {
	Reason
	evicts bool   // the text had been sent whole before
	points bool   // the text is elsewhere in the request
	noun   string // what people read of one such omission; "": nothing
}{
	{Repeat, false, true, "repeat"},
	{Partial, false, true, "partial repeat"},
	{Output, false, true, "command output"},
	{Numbers, false, true, "line numbering"},
	{Restored, false, false, ""},
	{Command, true, false, "old command output"},
	{Arguments, true, false, "old edit's argument"},
	{Idle, true, false, "idle read"},
	{Thinking, true, false, ""},
	{Cleared, true, false, ""},
	{Older, false, true, "older read"},
	{Terminal, false, false, "older command output"},
}

// Evicts reports whether the text had been sent whole before.
func (r Reason) Evicts() bool {
	for i := range reasons {
		if reasons[i].Reason == r {
			return reasons[i].evicts
		}
	}
	return false
}

// Points reports whether the text is elsewhere in the request.
func (r Reason) Points() bool {
	for i := range reasons {
		if reasons[i].Reason == r {
			return reasons[i].points
		}
	}
	return false
}

// Nouns calls yield with each reason that people read of, and its noun, in their order.
func Nouns(yield func(r Reason, noun string) bool) {
	for _, row := range reasons {
		if row.noun != "" && !yield(row.Reason, row.noun) {
			return
		}
	}
}
