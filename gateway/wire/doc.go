// Package wire has the frames that agents, workspace hosts and people exchange
// with a gateway: their types, and how they are read and written.
//
// A frame is a JSON object in UTF-8, with a "type", in one text message of a
// WebSocket. Reading is strict: unknown types, unknown or repeated keys, missing
// keys and values of another kind are errors that say so. What is new comes with
// a capability or another version.
//
// What a call's arguments and a result hold is checked for its structure and
// passed on as it came. The code that decodes it checks the rest.
package wire
