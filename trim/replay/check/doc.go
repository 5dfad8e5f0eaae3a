// Package check takes a recorded session apart, and holds a request that was made smaller against the recorded one.
// It finds two kinds of harm:
//
//   - dangling: a placeholder says that its text is elsewhere in the request,
//     and it does not;
//   - a lost edit: the model answered the request with an edit whose old text
//     was in the recorded request, and is in the smaller one no more.
//
// It also finds the recalls: the parts that the agent would have asked for again. They are
// found by the answers, by the lines that these repeat, and by a stricter count also by the
// names in them.
//
// All are found by the lines that a request shows, without the engine that
// chose what to leave out: a line is shown if it is in any part, as it is,
// after a line number or the mark of a patch, or inside a JSON string.
//
// An [Index] holds what is true of the whole session: its lines, the edits, the
// agent's own stubs. A [View] follows one policy from request to request.
package check
