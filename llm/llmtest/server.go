// Package llmtest is a scripted model. It is a real HTTP server on loopback with the APIs Messages (Anthropic), Chat
// Completions and Responses (OpenAI), and generateContent (Gemini), streamed and not. It reports usage, simulates a prompt
// cache, and fails on demand. A [Script] or a handler gives the answers. Received requests are kept byte for byte.
//
// The server accepts every request that the codecs can read. Package test/strictmodel has [Rules] that refuse what the providers refuse.
package llmtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/stet-dev/stet/llm"
)

// Config configures a Server. The zero value answers every request with "Done."
type Config struct {
	Script Script
	// Handler, if set, answers in place of Script. It may be called concurrently. Ids, stop reason and usage that it leaves empty are
	// filled in. If the error is a *Fault or Fault, that failure happens; any other error gives a 500.
	Handler func(*llm.Request) (llm.Response, error)
	// Addr is the address to listen on; "" is a free port on loopback.
	Addr string
	// Listener replaces Addr, for example with a *[Memory].
	Listener net.Listener
	// Reasoning adds the model's thinking to Chat Completions, as compatible endpoints do ("reasoning_content").
	Reasoning bool
	// Rules refuse requests; nil: every request that the codec can read is accepted.
	Rules Rules
	// NoSockets answers requests for a WebSocket with 426.
	NoSockets bool
	// Models are the names that /v1/models lists; nil lists "scripted".
	Models []string
	// Forget makes Requests return nothing, so that a server can run for days.
	Forget bool
	Logger *slog.Logger // nil discards
}

// Request is a received request.
type Request struct {
	Method, Path, Query string
	Header              http.Header
	Body                []byte       // decompressed
	Wire                string       // "messages", "chat", "responses", "gemini"; "" for other paths
	Decoded             *llm.Request // nil if the body is not a valid request
	Step                int          // index of the turn that answered; -1: none
	Side                bool         // it was answered outside the conversation
	Socket              bool         // it came over a WebSocket; Body is the message
	Status              int          // of the answer
}

// Server is a running scripted model. Its methods may be called concurrently.
type Server struct {
	URL string // "http://127.0.0.1:PORT", without a slash at the end

	cfg   Config
	http  *http.Server
	done  chan struct{} // closed when Serve has returned
	cache prefixCache

	responses responses

	mu       sync.Mutex
	requests []*Request
	faults   []Fault
}

// New starts a server for a script. Like httptest, it panics if it cannot listen.
func New(script Script) *Server {
	s, err := Start(Config{Script: script})
	if err != nil {
		panic(err)
	}
	return s
}

// Start starts a server.
func Start(cfg Config) (*Server, error) {
	cfg.Addr = cmp.Or(cfg.Addr, "127.0.0.1:0")
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	l := cfg.Listener
	if l == nil {
		var err error
		if l, err = net.Listen("tcp", cfg.Addr); err != nil {
			return nil, fmt.Errorf("listen for the scripted model: %w", err)
		}
	}
	s := &Server{URL: "http://" + l.Addr().String(), cfg: cfg, done: make(chan struct{})}
	s.http = &http.Server{Handler: s, ErrorLog: slog.NewLogLogger(cfg.Logger.Handler(), slog.LevelDebug)}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(l)
	}()
	return s, nil
}

// Close ends the server and every connection, and waits for the end.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.done
	return err
}

// Requests returns the requests received so far, in the order of arrival. The caller must not change them.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Request, len(s.requests))
	for i, r := range s.requests {
		out[i] = *r
	}
	return out
}

// Fail makes the next requests for an answer fail, one fault each, in order.
func (s *Server) Fail(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, faults...)
}

func (s *Server) nextFault(h http.Header) (Fault, error) {
	if v := h.Get(FaultHeader); v != "" {
		return parseFault(v)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.faults) == 0 {
		return Fault{}, nil
	}
	f := s.faults[0]
	s.faults = s.faults[1:]
	return f, nil
}

// record stores a request and returns a function that completes it.
func (s *Server) record(r *Request) (update func(func(*Request))) {
	s.mu.Lock()
	if !s.cfg.Forget {
		s.requests = append(s.requests, r)
	}
	s.mu.Unlock()
	return func(f func(*Request)) {
		s.mu.Lock()
		defer s.mu.Unlock()
		f(r)
	}
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	body, badCoding := plain(r.Header.Get("Content-Encoding"), body)
	got := &Request{
		Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Header: r.Header.Clone(), Body: body, Step: -1,
	}
	wire, _ := wireOf(r.URL.Path)
	if wire != nil {
		got.Wire = wire.Name
	}
	update := s.record(got)
	w = &statusWriter{ResponseWriter: w, update: update}
	w.Header().Set("Request-Id", "req_scripted")
	w.Header().Set("X-Request-Id", "req_scripted")
	switch {
	case badCoding != nil:
		writeJSON(w, http.StatusBadRequest, responsesWire.failure(400, badCoding.Error()))
	case r.Method == http.MethodHead && r.URL.Path == "/":
		w.WriteHeader(http.StatusOK)
	case r.Method == http.MethodGet && r.URL.Path == "/v1/models":
		writeJSON(w, http.StatusOK, s.models(r.Header.Get("Anthropic-Version") != ""))
	case r.Method == http.MethodGet && r.URL.Path == "/v1beta/models":
		writeJSON(w, http.StatusOK, s.geminiModels())
	case wire == responsesWire && r.Header.Get("Upgrade") != "" && !s.cfg.NoSockets:
		s.serveSocket(w, r)
	case wire != nil && r.Header.Get("Upgrade") != "":
		writeJSON(w, http.StatusUpgradeRequired, wire.failure(426, "no WebSocket here"))
	case wire != nil && r.Method == http.MethodPost:
		s.serveAnswer(w, r, wire, body, update)
	case r.Method == http.MethodPost && r.URL.Path == "/v1/messages/count_tokens":
		s.countTokens(w, r, body, update)
	default:
		writeJSON(w, http.StatusNotFound, responsesWire.failure(404, "nothing at "+r.Method+" "+r.URL.Path))
	}
}

// statusWriter records the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	update func(func(*Request))
}

func (w *statusWriter) WriteHeader(status int) {
	w.update(func(r *Request) { r.Status = status })
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone needs no answer
}

func wait(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// asFault returns the fault for a handler's error.
func asFault(err error) Fault {
	var f Fault
	var p *Fault
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &p):
		return *p
	}
	return Fault{Status: http.StatusInternalServerError, Message: err.Error()}
}
