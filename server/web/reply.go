package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/session"
)

// Problem is the body of every answer that is an error.
type Problem struct {
	Error string `json:"error"`
}

// problem is an error that the person should read.
type problem struct {
	status int
	text   string
}

func (p problem) Error() string { return p.text }

// endpoint serves a request of the API. Its result is sent as JSON. An error of type problem is the answer.
type endpoint func(r *http.Request) (answer any, err error)

// posted is an endpoint that gets the request's body, a T in JSON.
func posted[T any](serve func(r *http.Request, in T) (any, error)) endpoint {
	return func(r *http.Request) (any, error) {
		var in T
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			return nil, invalid("the body is not what is wanted: %v", err)
		}
		if err := limits.Strings(&in); err != nil {
			return nil, invalid("%v", err)
		}
		return serve(r, in)
	}
}

// needs wraps endpoints for features that the server may not have.
func needs(what string, has func() bool) func(endpoint) endpoint {
	return func(serve endpoint) endpoint {
		return func(r *http.Request) (any, error) {
			if !has() {
				return nil, absent(what)
			}
			return serve(r)
		}
	}
}

// answered sends the result of an endpoint.
func (h *Handler) answered(serve endpoint) personal {
	return func(w http.ResponseWriter, r *http.Request) error {
		answer, err := serve(r)
		if err != nil {
			return err
		}
		data, err := json.Marshal(answer)
		if err != nil {
			return err
		}
		send(w, http.StatusOK, data)
		return nil
	}
}

// nothing is an empty answer.
type nothing struct{}

// send sends JSON.
func send(w http.ResponseWriter, status int, data []byte) {
	sign(w, status, data)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(data) // an error says that the page has gone
}

// fail answers with an error. The text of an internal error is logged, and not sent.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // the page has gone
	}
	status, text := http.StatusInternalServerError, "this did not work; the log of stet says why"
	var p problem
	var wait tooMany
	switch {
	case errors.As(err, &p):
		status, text = p.status, p.text
	case errors.As(err, &wait):
		status, text = http.StatusTooManyRequests, wait.Error()
		w.Header().Set("Retry-After", strconv.Itoa(wait.seconds()))
	case errors.Is(err, approval.ErrAnswered), errors.Is(err, session.ErrStale), errors.Is(err, session.ErrCompacted):
		status, text = http.StatusConflict, err.Error()
	case errors.Is(err, approval.ErrUnknown), errors.Is(err, session.ErrNotFound):
		status, text = http.StatusNotFound, err.Error()
	default:
		h.log().Error("web", "method", r.Method, "path", r.URL.Path, "err", err)
	}
	data, _ := json.Marshal(Problem{text}) // a text always marshals
	send(w, status, append(data, '\n'))
}

// invalid returns an error about the request.
func invalid(format string, args ...any) error {
	return problem{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// absent returns the error for a feature that this server does not have.
func absent(what string) error {
	return problem{http.StatusNotImplemented, what + " is not offered here"}
}

// number returns a number from the query, or otherwise.
func number(r *http.Request, name string, otherwise int) (int, error) {
	s := r.URL.Query().Get(name)
	if s == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, invalid("%s: want a number, not %q", name, s)
	}
	return n, nil
}
