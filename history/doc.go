// Package history decides what of a conversation goes into a request.
//
// The stored conversation is never changed. For every request an [Engine]
// looks at all messages and makes a [Plan]: which results of tools are
// replaced by one line, because what they show stands in the request already
// or, under keep-latest, because newer reads of the file follow. [Build] is
// the one place where a request is made of a conversation: it normalises the
// messages, plans, and applies the plan to a copy.
//
// Plans are deterministic: they depend on the messages, and on the moments of
// the conversation (see [Point]), alone. Between moments they are stable under
// append, so that a provider's prompt cache stays valid, and planning a planned
// request changes nothing. Under keep-latest, whose rule counts from the end,
// they are neither.
//
// # Moments
//
// At a moment nothing of what was sent before is cached any more, and what
// leaves costs nothing. Then all is decided anew: victims leave, and what stays
// is admitted once more in order, so that no line points to a victim. Victims
// are, under every policy that admits, listings that newer ones follow; under
// adaptive the outputs of commands past the newest ones that are known to show
// no text of files, such as those of builds; all other outputs, of searches and
// of other agents too, when they are long past, unless they show more of a file
// that the agent works on than stands elsewhere; the texts that edits replaced
// where their lines stand elsewhere; plans that newer ones follow; and reads of
// dependencies and of files outside the workspace that nobody has touched for
// long, but for files that a person named, and places that the system text
// named or that the agent changed something in (where the workspace is not
// known, nothing is outside); under bold also reads of files that nobody has
// touched for longer, in directories where the agent changed nothing, reads as
// old past the newest of their file, and large texts that were written to files
// as idle.
// Failed results, the newest results, what an agent's own stub is about, and
// under adaptive the last read, edit or write that shows a line of a file of
// the workspace, are never victims.
//
// The engine keeps an account of what eliding saved, against the same requests
// untouched. Where wrong guesses have made it negative, nothing more is elided.
//
// # The lines left in place
//
// Every line begins with "[stet: " (or is the caller's own, or the Chinese
// one of keep-latest) and holds no line break, quote or backslash, so that it
// can stand inside a JSON string as it is:
//
//	[stet: src/a.go lines 8-27 unchanged: shown above by call_1 (lines 1-123). Ask again for the full text.]
//	[stet: src/a.go lines 1-62 of 62 unchanged: 1-29 shown above by call_1, 30-32 written by call_2, 33-62 shown above by call_1 (lines 31-60 there). Ask again for the full text.]
//	[stet: copy/a.go lines 1-40 the same: shown above by call_1 (lines 1-40 of src/a.go). Ask again for the full text.]
//	[stet: output lines 4-90 unchanged: shown above by call_7 (lines 1-87 there). Ask again for the full text.]
//	[stet: the line above, 12 times in all]
//	[stet: src/a.go lines 1-50: an older read, left out; newer reads of this file follow. Read these lines again if needed.]
//	[stet: output of an older command left out: go test ./... Run it again if needed.]
//	[stet: an older result, left out: {'pattern':'func main'} Call it again if needed.]
//	[stet: src/a.go: an older read, left out. Read it again if needed.]
//	[stet: src: an older listing, left out: listed again below by call_9.]
//	[stet: left out: the text that this edit replaced.]
//
// The last one stands in the arguments of a call, as do "what was written", "an
// older plan" and "what an older call was told".
//
// Lines 4-90 of an output are those of its normal form, counted from its first
// line whatever it is. A line may stand for a whole result, or among lines that
// are new, which stand as the tool showed them.
//
// Lines stand above where the very same text does: in the file, in another one,
// in an output (also of a command that failed, which itself stays whole), behind
// the signs of a diff, or in what a call writes, runs or tells another agent.
//
// The engine recognises the first four forms when it meets them again (a planned
// request, a resumed session of another stet): the lines count as shortened,
// and asking for them again gives them in full. A change of the file between
// makes it another question, which may be answered with one line again. A call asks
// again only if the model had seen the line: equal calls of one message are answered
// with the text once, and with lines that point up at it.
package history
