// Package history decides what of a conversation goes into a request.
//
// The stored conversation is never changed. For every request an [Engine]
// looks at all messages and makes a [Plan]: which results of tools are
// replaced by one line, because what they show stands in the request already
// or, under keep-latest, because newer reads of the file follow. [Build] is
// the one place where a request is made of a conversation: it normalises the
// messages, plans, and applies the plan to a copy.
//
// Plans are deterministic: they depend on the messages alone. Under lossless
// they are stable under append, so that a provider's prompt cache stays valid,
// and planning a planned request changes nothing. Under keep-latest, whose
// rule counts from the end, they are neither.
//
// # The lines left in place
//
// Every line begins with "[stet: " (or is the caller's own, or the Chinese
// one of keep-latest) and holds no line break, quote or backslash, so that it
// can stand inside a JSON string as it is:
//
//	[stet: src/a.go lines 8-27 unchanged: shown above by call_1 (lines 1-123). Ask again for the full text.]
//	[stet: src/a.go lines 1-50: an older read, left out; newer reads of this file follow. Read these lines again if needed.]
//	[stet: output of an older command left out: go test ./... Run it again if needed.]
//
// The engine recognises the first form when it meets it again (a planned
// request, a resumed session of another stet): the lines count as shortened,
// and asking for them again gives them in full.
package history
