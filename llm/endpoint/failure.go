package endpoint

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/llm"
)

// refused returns the error for a response with an error status.
func (c Config) refused(resp *http.Response, body io.Reader) error {
	data, _ := io.ReadAll(io.LimitReader(body, maxFailure)) // an incomplete error body is better than none
	f := llm.FailureIn(data)
	if f == nil && json.Valid(data) && len(data) > 0 && data[0] == '{' {
		if f = llm.FailureOf(data); f.Message == "" {
			f = nil
		}
	}
	if f == nil {
		f = new(llm.Failure)
		if t := resp.Header.Get("Content-Type"); !strings.Contains(t, "html") {
			f.Message = string(data)
		}
		f.Message = orElse(strings.TrimSpace(f.Message), http.StatusText(resp.StatusCode))
	}
	if resp.StatusCode/100 == 3 {
		f.Message = "redirected, which is not followed"
	}
	e := c.failure(resp.StatusCode, requestID(resp.Header), f)
	e.RetryAfter = retryAfter(resp.Header, time.Now())
	e.Temporary = e.Temporary && resp.Header.Get("X-Should-Retry") != "false"
	return e
}

func requestID(h http.Header) string {
	return orElse(h.Get("Request-Id"), h.Get("X-Request-Id"))
}

// failure returns the error for f, in the answer to the request with the given id. status is 0 if an answer reported it.
func (c Config) failure(status int, id string, f *llm.Failure) *llm.Error {
	e := &llm.Error{Host: c.host(), Status: status, Code: c.line(f.Code), Message: c.line(f.Message), RequestID: c.line(id)}
	e.Kind, e.Temporary = classify(status, f.Code, f.Message)
	return e
}

// byCode maps the providers' error codes to errors. A code in this table takes precedence over the status.
var byCode = map[string]error{
	"overloaded_error":          llm.ErrOverloaded,
	"rate_limit_error":          llm.ErrOverloaded,
	"rate_limit_exceeded":       llm.ErrOverloaded,
	"server_is_overloaded":      llm.ErrOverloaded,
	"slow_down":                 llm.ErrOverloaded,
	"authentication_error":      llm.ErrAuth,
	"permission_error":          llm.ErrAuth,
	"billing_error":             llm.ErrAuth,
	"insufficient_quota":        llm.ErrAuth,
	"invalid_api_key":           llm.ErrAuth,
	"request_too_large":         llm.ErrTooLong,
	"context_length_exceeded":   llm.ErrTooLong,
	"exceed_context_size_error": llm.ErrTooLong,
	"not_found_error":           llm.ErrInvalid,
	"model_not_found":           llm.ErrInvalid,
	"invalid_prompt":            llm.ErrInvalid,
}

// tooLong lists the words by which endpoints without their own error code say that a request exceeds the window.
var tooLong = []string{
	"prompt is too long", "exceed context limit", "maximum context length", "context length exceeded",
	"exceeds the context window", "context window exceeds", "exceeds the available context size",
	"input is too long", "exceeds the maximum number of tokens", "maximum prompt length", "input length exceeds",
}

// classify returns the kind of a failure, and whether it is temporary.
func classify(status int, code, message string) (kind error, temporary bool) {
	if kind = byCode[code]; kind != nil {
		return kind, kind == llm.ErrOverloaded
	}
	invalid := status == 0 && code == "invalid_request_error" || status/100 == 4 && status != 429
	if invalid || status == 0 {
		words := strings.ToLower(message)
		for _, phrase := range tooLong {
			if strings.Contains(words, phrase) {
				return llm.ErrTooLong, false
			}
		}
	}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusPaymentRequired:
		return llm.ErrAuth, false
	case status == http.StatusRequestEntityTooLarge:
		return llm.ErrTooLong, false
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable, status == 529:
		return llm.ErrOverloaded, true
	case status == http.StatusRequestTimeout, status == http.StatusConflict:
		return nil, true
	case invalid:
		return llm.ErrInvalid, false
	case status == http.StatusNotImplemented:
		return nil, false
	}
	return nil, status == 0 || status >= 500
}

// line makes a single line of an endpoint's text, of limited length and without control characters and secrets.
func (c Config) line(text string) string {
	if secret := strings.TrimSpace(string(c.Key)); len(secret) >= 4 {
		text = strings.ReplaceAll(text, secret, hidden)
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf) {
			return -1
		}
		return r
	}, text)
	return limits.Shorten(text, 1000)
}
