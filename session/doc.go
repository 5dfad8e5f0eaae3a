// Package session stores conversations as events that are only ever added to.
//
// A [Store] keeps events; what it has accepted when Append returns outlives the
// process. The state of a session is the fold of its events ([Fold]), so a
// resume is a fold, and a rewind, a title or a compaction is one more event:
// nothing stored is changed or removed. A fork and a compacted session are
// sessions of their own that name the one they come from. [Session] is the
// handle of who works in one; [Hub] tells others what is added.
//
// A writer says after which event it appends. If another writer was faster, the
// error is [ErrStale] and nothing was written.
//
// The package has the events, their format, the seam and the in-memory twin;
// drivers live in store/*. Package sessiontest has the suite that every driver
// passes.
//
// # Format
//
// An event has a number, counted from 1 in its session without gaps, a time in
// microseconds, a kind, the version of the format that its body is written
// in, and the body, a JSON object. This is version 1. A reader takes the members
// that it knows and leaves the others; members that are missing are zero. Times in
// bodies are RFC 3339 in UTC, with nanoseconds.
//
//	opening     dir, source; session, seq, relation: what it comes from ("forked",
//	            "compacted", "started"); carried: so many events after it were taken along
//	message     role, id, time, model, local, usage, parts; of a part: kind (none: text;
//	            "thinking", "call", "result", "opaque"), text, call, name, args, error, raw
//	usage       model, usage: of a request whose answer is no message of the session
//	rewind      to: the state is what it was after the event of this number
//	compaction  to: the session that goes on; this one is closed, unless it is rewound
//	title       title
//	file        file: an observation, as package freshness writes it
//	approval    call, tool, path, decision, by, grant, words
//
// usage is an object of input, cache_read, cache_write, cache_write_1h, output and
// reasoning: tokens, as llm.Usage counts them. The first event is an opening, and
// no other one is.
//
// JSON has no strings that are not UTF-8. Where an event has one, all strings of
// its body are written with one character, U+0000 to U+00FF, for each byte, and the
// member "strings" is "bytes". So every byte of a message comes back.
//
// A later version of the format has a greater number, and a reader of it still
// reads this one. An event of a version or kind that is not known is kept as it
// is ([Unknown]) and is not part of the state, which says so.
package session
