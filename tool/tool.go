// Package tool holds the words in which tools are spoken of: what a tool is,
// a call to it, its result, and the codes of what can go wrong.
package tool

import "encoding/json"

// Spec describes a tool to a model.
type Spec struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON Schema of the arguments
}

// Call asks for a tool to be run.
type Call struct {
	ID        string
	Name      string
	Arguments json.RawMessage // a JSON object
}

// Result is what a call came to. What a model can act on is a Result, with a
// Code when it failed; what broke is a Go error beside it.
type Result struct {
	CallID string
	Text   string
	Code   Code // empty when the call succeeded
}

// Failed reports whether the call came to an error that the model can act on.
func (r Result) Failed() bool { return r.Code != "" }
