package llm

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Why a model did not answer.
var (
	ErrOverloaded = errors.New("model overloaded or rate limited")
	ErrTooLong    = errors.New("request too long for the model")
	ErrAuth       = errors.New("model access refused") // the key is wrong, has no permission, or no credit
	ErrInvalid    = errors.New("invalid model request")
	ErrBroken     = errors.New("answer broken off")
)

// Error is a failure as an endpoint told it. It never holds the key.
type Error struct {
	Host       string        // of the endpoint
	Status     int           // of HTTP; 0 where the failure was told in an answer
	Code       string        // the provider's own name for it, may be empty
	Message    string        // the provider's own words, may be empty
	RequestID  string        // to ask the provider about it, may be empty
	RetryAfter time.Duration // how long the endpoint asks to be left alone; 0 if it does not say
	Kind       error         // one of the sentinels, or nil
	Temporary  bool          // the same request may be answered later
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
