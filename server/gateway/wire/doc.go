// Package wire has the frames that agents, workspace hosts and people exchange
// with a gateway: their types, and how they are read and written.
//
// A frame is a JSON object in UTF-8, with a "type", in one text message of a WebSocket. Reading is strict: unknown types, unknown
// or repeated keys, missing keys and values of a wrong kind are errors. A new feature comes with a capability or another version.
//
// The arguments of a call and the result are checked to be JSON objects and forwarded unchanged. The code that decodes them checks
// the rest.
package wire
