package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Reasons why a model did not answer.
var (
	ErrOverloaded = errors.New("model overloaded or rate limited")
	ErrTooLong    = errors.New("request too long for the model")
	ErrAuth       = errors.New("model access refused") // the key is wrong, has no permission, or no credit
	ErrInvalid    = errors.New("invalid model request")
	ErrBroken     = errors.New("answer broken off")
)

// Error is a failure reported by an endpoint. It never contains the key.
type Error struct {
	Host       string        // of the endpoint
	Status     int           // of HTTP; 0 if the failure was reported within an answer
	Code       string        // the provider's name for the failure; may be empty
	Message    string        // the provider's text; may be empty
	RequestID  string        // for questions to the provider; may be empty
	RetryAfter time.Duration // how long the endpoint asks to wait; 0: it does not say
	Kind       error         // one of the sentinels, or nil
	Temporary  bool          // the same request may succeed later
}

// Error implements error, in one line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Host + ": ")
	if e.Kind != nil {
		b.WriteString(e.Kind.Error() + ": ")
	}
	if e.Status != 0 {
		fmt.Fprintf(&b, "status %d", e.Status)
	} else {
		b.WriteString("in the answer")
	}
	if e.Code != "" {
		b.WriteString(" " + e.Code)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	if e.RequestID != "" {
		b.WriteString(" (request " + e.RequestID + ")")
	}
	return b.String()
}

// Unwrap returns Kind.
func (e *Error) Unwrap() error { return e.Kind }

// Failure is a provider's report that it did not answer a request, in a body or in an event of a stream.
type Failure struct {
	Code    string // the provider's name for it; may be empty
	Message string
}

// Error implements error.
func (f *Failure) Error() string { return f.Code + ": " + f.Message }

// FailureIn reads the body of an error in the shape of any API: an object or a text called "error". It returns nil for other bodies.
func FailureIn(body []byte) *Failure {
	var outer struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &outer) != nil || len(outer.Error) == 0 || string(outer.Error) == "null" {
		return nil
	}
	f := new(Failure)
	if json.Unmarshal(outer.Error, &f.Message) == nil {
		return f
	}
	return FailureOf(outer.Error)
}

// FailureOf reads the object of an error: a code (which may be a number) or a type, and a message.
func FailureOf(object []byte) *Failure {
	var said struct {
		Code    any    `json:"code"`
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	f := new(Failure)
	if json.Unmarshal(object, &said) != nil {
		f.Message = string(object)
		return f
	}
	f.Code, f.Message = said.Type, said.Message
	if code, ok := said.Code.(string); ok && code != "" {
		f.Code = code
	}
	return f
}
