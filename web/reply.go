package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/stet-dev/stet/approval"
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

// maxBody is how long a request's body may be, in bytes: a text of the size that
// may be written, and its escapes.
const maxBody = 32 << 20

// read reads a JSON body.
func read(w http.ResponseWriter, r *http.Request, into any) error {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	if err := d.Decode(into); err != nil {
		return problem{http.StatusBadRequest, "the body is not what is wanted: " + err.Error()}
	}
	return nil
}

func (h *Handler) reply(w http.ResponseWriter, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		h.log().Error("encode an answer", "err", err)
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	h.send(w, http.StatusOK, data)
}

// send sends JSON.
func (h *Handler) send(w http.ResponseWriter, status int, data []byte) {
	sign(w, status, data)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(data) // who has gone needs no answer
}

// fail answers with an error. What is nobody's business but ours is logged, and
// its text is not sent.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // nobody waits for it
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
	data, _ := json.Marshal(Problem{text}) // a text can always be encoded
	h.send(w, status, append(data, '\n'))
}

// invalid is what the person, or the page, did wrong.
func invalid(format string, args ...any) error {
	return problem{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// absent is for what this server does not offer.
func absent(what string) error {
	return problem{http.StatusNotImplemented, what + " is not offered here"}
}

// number is a parameter of the query, otherwise what stands for none.
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
