package llmtest

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Fault is a failure of one answer. It is an error, so that a handler can return it.
type Fault struct {
	Status     int           // answer with this status and an error body; 0 answers normally
	Message    string        // in the error body; "" is the text of the status
	Body       string        // the whole error body, instead of the format's own
	Location   string        // the Location header
	RetryAfter int           // the Retry-After header, in seconds; negative sends 0
	CutAfter   int           // break the connection after this many events of a stream, or after half of a whole body
	ErrorAfter int           // send an error event after this many events of a stream, and end it
	Delay      time.Duration // wait before the first byte
	Pause      time.Duration // wait between two events of a stream
	PauseAfter int           // pause only after this many events
	Reset      bool          // reset the connection before the first byte
	Chunk      int           // send a stream in pieces of this many bytes, not event by event
	Bad        string        // send these bytes instead of event BadAfter of a stream, counted from 0
	BadAfter   int
}

// FaultHeader is a request header that asks for a fault, as a query string: "status=429&retry-after=1", "cut=3", "error=2",
// "delay=100ms", "pause=5ms", "message=…", "reset=true", "chunk=1", "bad=…&bad-after=2". It is for clients without access to the Server value.
const FaultHeader = "X-Llmtest-Fault"

func (f Fault) Error() string {
	return fmt.Sprintf("scripted failure: status %d: %s", f.Status, f.message())
}

func (f Fault) message() string {
	switch {
	case f.Message != "":
		return f.Message
	case f.Status == 529:
		return "Overloaded"
	default:
		return http.StatusText(f.Status)
	}
}

func parseFault(header string) (Fault, error) {
	q, err := url.ParseQuery(header)
	if err != nil {
		return Fault{}, err
	}
	f := Fault{Message: q.Get("message"), Body: q.Get("body"), Reset: q.Get("reset") == "true", Bad: q.Get("bad")}
	for key, to := range map[string]*int{
		"status": &f.Status, "retry-after": &f.RetryAfter, "cut": &f.CutAfter, "error": &f.ErrorAfter,
		"chunk": &f.Chunk, "bad-after": &f.BadAfter,
	} {
		if v := q.Get(key); v != "" {
			if *to, err = strconv.Atoi(v); err != nil {
				return Fault{}, err
			}
		}
	}
	for key, to := range map[string]*time.Duration{"delay": &f.Delay, "pause": &f.Pause} {
		if v := q.Get(key); v != "" {
			if *to, err = time.ParseDuration(v); err != nil {
				return Fault{}, err
			}
		}
	}
	return f, nil
}
