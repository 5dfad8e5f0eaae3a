package endpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/stet-dev/stet/internal/sse"
	"github.com/stet-dev/stet/llm"
)

// Limits on what is read, in bytes.
const (
	maxWhole   = 64 << 20 // of an answer that is not streamed
	maxEvent   = 64 << 20 // of an event
	maxFailure = 64 << 10 // of an error body
)

// linger is how long to wait for the end of the body after a complete answer. A connection can be reused only if its body was
// read to the end.
const linger = 100 * time.Millisecond

var (
	// errSilent ends an exchange in which no more bytes arrive.
	errSilent = errors.New("endpoint silent for too long")
	// errUnsent ends an exchange without any response.
	errUnsent = errors.New("no response")
)

// attempt is one exchange with the endpoint.
type attempt struct {
	Client
	url    string
	body   []byte
	stream bool
	each   func(llm.Event)
	began  bool   // a piece of an answer arrived
	id     string // the endpoint's id of the request
}

// run sends the request and reads the answer.
func (a *attempt) run(parent context.Context) (*llm.Response, error) {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	patience := orElse(a.Config.Idle, 5*time.Minute)
	if !a.stream {
		patience = orElse(a.Config.Whole, 15*time.Minute)
	}
	w := &watch{patience: patience, timer: time.AfterFunc(patience, func() { cancel(errSilent) })}
	defer w.timer.Stop()
	res, err := a.exchange(ctx, w)
	switch {
	case err == nil:
		return res, nil
	case parent.Err() != nil:
		return res, parent.Err()
	case context.Cause(ctx) == errSilent:
		err = fmt.Errorf("%s: %w (%s)", a.Config.host(), errSilent, w.patience)
		if a.began {
			err = fmt.Errorf("%w: %w", llm.ErrBroken, err)
		}
	}
	return res, err
}

func (a *attempt) exchange(ctx context.Context, w *watch) (*llm.Response, error) {
	resp, err := a.send(ctx)
	if err != nil {
		return nil, a.unsent(err)
	}
	defer resp.Body.Close()
	w.body, a.id = resp.Body, requestID(resp.Header)
	if resp.StatusCode/100 != 2 {
		return nil, a.Config.refused(resp, w)
	}
	if sse.IsStream(resp.Header.Get("Content-Type")) {
		return a.read(w)
	}
	return a.readWhole(w, resp.Header.Get("Content-Type"))
}

func (a *attempt) send(ctx context.Context) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url, bytes.NewReader(a.body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "stet")
	if a.stream {
		req.Header.Set("Accept", "text/event-stream")
	}
	for name, value := range a.API.Header {
		req.Header.Set(name, value)
	}
	if key := strings.TrimSpace(string(a.Config.Key)); key != "" {
		req.Header.Set(a.API.KeyHeader, a.API.KeyPrefix+key)
	}
	return a.Config.client().Do(req)
}

// unsent returns the error for a request without an answer. Go's own error quotes the URL, which may hold a password or a key.
func (a *attempt) unsent(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return fmt.Errorf("%s: %w: %w", a.Config.host(), errUnsent, err)
}

// read reads a streamed answer. On an error it also returns what arrived of the answer.
func (a *attempt) read(w *watch) (*llm.Response, error) {
	reader := a.API.Reader(a.emit)
	var failed error
	parser := sse.Parser{Max: maxEvent, Event: func(name, data []byte) {
		if failed == nil && !reader.Done() {
			failed = reader.Event(name, data)
		}
	}}
	buf := make([]byte, 16<<10)
	for {
		n, err := w.Read(buf)
		_, _ = parser.Write(buf[:n]) // takes all
		if failed == nil && parser.Lost > 0 && !reader.Done() {
			failed = fmt.Errorf("an event of over %d bytes", maxEvent)
		}
		switch {
		case failed != nil:
			return reader.Response(), a.broken(failed)
		case reader.Done():
			w.drain(err)
			return clean(reader.Response()), nil
		case errors.Is(err, io.EOF) && reader.End():
			return clean(reader.Response()), nil
		case errors.Is(err, io.EOF):
			return reader.Response(), a.broken(io.ErrUnexpectedEOF)
		case err != nil:
			return reader.Response(), a.broken(err)
		}
	}
}

// broken returns the error for an answer that ended early, because of err or a failure that the stream reported.
func (a *attempt) broken(err error) error {
	var f *llm.Failure
	if errors.As(err, &f) {
		failed := a.Config.failure(0, a.id, f)
		if a.began {
			return fmt.Errorf("%w: %w", llm.ErrBroken, failed)
		}
		return failed
	}
	return fmt.Errorf("%s: %w: %w", a.Config.host(), llm.ErrBroken, err)
}

func (a *attempt) emit(e llm.Event) {
	if e.Kind <= llm.CallDone {
		a.began = true
	}
	a.each(e)
}

// watch reads a body. Its timer runs only while it waits for bytes.
type watch struct {
	patience time.Duration
	timer    *time.Timer
	body     io.Reader
}

// Read implements io.Reader.
func (w *watch) Read(p []byte) (int, error) {
	w.timer.Reset(w.patience)
	n, err := w.body.Read(p)
	w.timer.Stop()
	return n, err
}

// drain reads to the end of the body if that arrives soon. err is the result of the last Read.
func (w *watch) drain(err error) {
	w.timer.Reset(linger)
	for buf := make([]byte, 512); err == nil; {
		_, err = w.body.Read(buf)
	}
	w.timer.Stop()
}
