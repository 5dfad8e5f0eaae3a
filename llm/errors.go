package llm

import (
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
