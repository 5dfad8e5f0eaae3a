// Package session stores conversations as append-only events.
//
// A [Store] keeps events. Events that Append has accepted outlive the process. The state of a session is computed from its events
// ([Fold]). So resuming a session means folding its events. A rewind, a title or a compaction is one more event;
// no stored event is changed or removed. A fork and a compacted session are separate sessions that name the session they come
// from. A [Session] is the handle for working in one. A [Hub] sends subscribers the new events.
//
// A writer says after which event it appends. If another writer was faster, the
// error is [ErrStale] and nothing was written.
//
// The package has the events, their format, the interface of stores and an in-memory store. The drivers are in store/*. Package
// sessiontest has the test suite that every driver passes.
//
// # Format
//
// An event has a number, a time in microseconds, a kind, the version of the format of its body, and the body, a JSON
// object. Numbers start at 1 in each session and have no gaps. This is version 1. A reader ignores unknown members. Missing
// members are zero. Times in bodies are RFC 3339 in UTC, with nanoseconds.
//
//	opening     dir, source; session, seq, relation: where it comes from ("forked",
//	            "compacted", "started"); carried: number of events after it that were copied from there
//	message     role, id, time, model, local, usage, parts; of a part: kind (missing: text;
//	            "thinking", "call", "result", "opaque"), text, call, name, args, error, raw
//	usage       model, usage: of a request whose answer is not a message of the session
//	rewind      to: the state becomes the state after the event with this number
//	compaction  to: the session that continues; this one is closed, unless it is rewound
//	title       title
//	file        file: an observation, as package freshness writes it
//	approval    call, tool, path, decision, by, grant, words
//
// usage is an object of input, cache_read, cache_write, cache_write_1h, output,
// reasoning, web_searches, speed, region and tier, as llm.Usage counts them. The first event is an opening, and
// no other event is.
//
// JSON strings must be UTF-8. If a string of an event is not, all strings of its body are written with one character, U+0000 to
// U+00FF, for each byte, and the member "strings" is "bytes". So every byte of a message is preserved.
//
// A later version of the format has a greater number. Its readers still read this version. An event of an unknown version or kind
// is kept unchanged ([Unknown]). It is not part of the state, and State.Damaged lists it.
package session
