// Package tool has the types that all packages use for tools: a [Tool], a [Call] to
// it, the [Plan] of what the call would do with its [Diff], the [Result], and the
// [Code] of a failure.
package tool

import (
	"context"
	"encoding/json"
	"io"
	"time"
)

// Spec describes a tool to a model, and to those who decide on its calls.
type Spec struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON Schema of the arguments

	Deferred    bool // it is no part of the prompt until the model has searched for it
	ReadOnly    bool // it changes nothing
	Destructive bool // it may overwrite or remove what is there
}

// Call asks for a tool to be run.
type Call struct {
	ID        string
	Session   string // the client session: rate limit, grants and undo go by it
	Account   string // of the caller's token, whose limits count besides the session's; "": it has none
	Client    string // who calls, as it calls itself; for the audit trail
	Name      string
	Arguments json.RawMessage // a JSON object

	// Staged is the argument "content", where that came in parts; else nil. It
	// belongs to who made the call.
	Staged Staged
	// Once says that a write must not be done twice under this ID in this session,
	// also by another process. The result of a repeated call is what is recorded of
	// the first one.
	Once bool
	// Large says that the caller takes a content as large as one in parts may be.
	Large bool
	// Relative says that absolute paths are refused, also those that lead into the
	// workspace.
	Relative bool
	// Patience is how long a person may take for a question about this call; 0: as
	// long as is usual where it runs.
	Patience time.Duration
}

// Staged is a content that comes in parts. Write adds a part. Bytes is the whole
// content, or the first error of Write. Sum is the SHA-256 of what has come, in hex.
// Abort ends it; more calls do nothing.
type Staged interface {
	Write(part []byte) (int, error)
	Bytes() ([]byte, error)
	Sum() string
	Abort() error
}

// Result is what a call came to. What a model can act on is a Result, with a
// Code when it failed; what broke is a Go error next to it.
type Result struct {
	CallID string
	Text   string // what the model gets: a JSON object, or what a tool of others says
	Code   Code   // empty when the call succeeded

	Outside bool // it failed because its path leads out of the workspace

	// Content is, where it is not nil, the "content" that is missing in Text: only
	// for a call that says Large. Who gets the result closes it.
	Content *Content
}

// Content is a text in UTF-8 that is not held in memory. What was read of it counts
// only if its end is io.EOF: ErrChanged says that it is of no one moment.
type Content struct {
	io.ReadCloser
	Size int64 // bytes
}

// Failed reports whether the call came to an error that the model can act on.
func (r Result) Failed() bool { return r.Code != "" }

// Tool is something a model can call. Plan works out what a call would do
// without doing it: it reads and compares, and waits for no person. What is wrong
// with the call is a Plan whose Done is a failed Result. Tools may be called
// concurrently.
type Tool interface {
	Spec() Spec
	Plan(ctx context.Context, c Call) (*Plan, error)
}

// Caller runs calls: the approval handler here, a gateway's hub for a remote
// workspace. It may be called concurrently.
type Caller interface {
	// Specs lists the tools that can be called, in the order of their names.
	Specs() []Spec
	// Call runs one call to its end, a person's decision included.
	Call(ctx context.Context, c Call) (Result, error)
}

// Starter is a Caller that keeps the calls of one session in order, as far as
// they touch the same files: in the order in which they were started.
type Starter interface {
	Caller
	// Start is the first half of Call: it waits for nothing. What it returns
	// does the call, and has to be called once.
	Start(c Call) func(ctx context.Context) (Result, error)
}

// Start is the first half of a call of any Caller: see Starter. Where the Caller is no
// Starter, what it returns is all of the call.
func Start(caller Caller, c Call) func(ctx context.Context) (Result, error) {
	if s, ok := caller.(Starter); ok {
		return s.Start(c)
	}
	return func(ctx context.Context) (Result, error) { return caller.Call(ctx, c) }
}

// Refuser is a Tool that says in its own words that a call was not done, or
// not to its end: rejected, cancelled, over the rate limit, timed out. Without
// it the result is a FileOperationResult with the code and the message.
type Refuser interface {
	Tool
	// Refuse is the failed Result for a call that came to code. message is one
	// sentence for the model, with the person's words where there are any.
	Refuse(c Call, code Code, message string) Result
}
