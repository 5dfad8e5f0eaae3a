// Package llmtest is a scripted model: a real HTTP server on loopback that
// speaks Anthropic's Messages, OpenAI's Chat Completions and Responses, and
// Gemini's generateContent, streamed and not, with usage, a prompt cache that is
// played, and failures on demand. What it says is a [Script] or a handler; what it was sent is kept
// byte for byte.
//
// Unless [Config].Lax is set, the Messages API refuses what the provider refuses: blocks
// in a wrong order (order.go), thinking that is bound to another conversation (prefix.go,
// binding.go, models.go), and what asks for the server's own edits in a wrong way
// (compaction.go). A signature holds all that the check needs (seal.go), so servers of one
// test know each other's.
package llmtest

import (
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
	"github.com/stet-dev/stet/llm/gemini"
)

// Config sets a Server up. The zero value answers every request with "Done."
type Config struct {
	Script Script
	// Handler, if set, answers in place of Script. It may be called
	// concurrently. Identities, stop reason and usage that it leaves empty
	// are filled in. A *Fault or Fault as the error makes that failure, any
	// other error a 500.
	Handler func(*llm.Request) (llm.Response, error)
	// Addr is where to listen; "" is a free port on loopback.
	Addr string
	// Listener is where to listen, in place of Addr: a *[Memory], say.
	Listener net.Listener
	// Reasoning lets Chat Completions say the model's thinking, as compatible
	// endpoints do ("reasoning_content").
	Reasoning bool
	// Account is what the Messages API binds thinking for; "" is NewAccount.
	Account Account
	// Gateway has Chat Completions be those of a gateway to a provider of the Messages API, which binds thinking (gateway.go).
	Gateway bool
	// Lax lets the Messages API take every request that can be read: no thinking is bound,
	// and blocks may come in any order. Other servers refuse what the provider refuses, by
	// the model's name; a name that is not known is taken for one of the newest models.
	// count_tokens refuses the same.
	Lax bool
	// Now is the time that message threads go by; nil is time.Now.
	Now func() time.Time
	// NoSockets answers 426 to who asks for a WebSocket.
	NoSockets bool
	// Models are the names that /v1/models lists; none lists "scripted".
	Models []string
	// Forget lets Requests return nothing, so that a server may run for days.
	Forget bool
	Logger *slog.Logger // nil discards
}

// Request is one request as it was received.
type Request struct {
	Method, Path, Query string
	Header              http.Header
	Body                []byte       // its text, where it came compressed
	Wire                string       // "messages", "chat", "responses", "gemini"; "" for other paths
	Decoded             *llm.Request // nil if the body is none
	Step                int          // the turn that answered; -1 for none
	Side                bool         // answered beside the conversation
	Socket              bool         // it came over a WebSocket; Body is the message
	Status              int          // of the answer
}

// Server is a running model. Its methods may be called concurrently.
type Server struct {
	URL string // "http://127.0.0.1:PORT", without a slash at the end

	cfg   Config
	http  *http.Server
	done  chan struct{} // closed when Serve has returned
	cache prefixCache

	threads   threads
	responses responses

	mu       sync.Mutex
	requests []*Request
	faults   []Fault
}

// New starts a server for a script. It panics if it cannot listen, as
// httptest does.
func New(script Script) *Server {
	s, err := Start(Config{Script: script})
	if err != nil {
		panic(err)
	}
	return s
}

// Start starts a server.
func Start(cfg Config) (*Server, error) {
	if cfg.Addr == "" {
		cfg.Addr = "127.0.0.1:0"
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
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

// Close ends the server and every connection, and waits.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.done
	return err
}

// Requests returns what was received so far, in the order of arrival. The
// values must not be changed.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Request, len(s.requests))
	for i, r := range s.requests {
		out[i] = *r
	}
	return out
}

// Fail lets the next requests for an answer fail, one fault each, in order.
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

// record keeps a request and returns a function that completes it.
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
	wire := wires[r.URL.Path]
	if _, _, ok := gemini.Address(r.URL.Path); ok {
		wire = geminiWire
	}
	if wire != nil {
		got.Wire = wire.name
	}
	update := s.record(got)
	w = &statusWriter{ResponseWriter: w, update: update}
	w.Header().Set("Request-Id", "req_scripted")
	w.Header().Set("X-Request-Id", "req_scripted")
	switch {
	case badCoding != nil:
		writeJSON(w, http.StatusBadRequest, openaiFailure(400, badCoding.Error()))
	case r.Method == http.MethodHead && r.URL.Path == "/":
		w.WriteHeader(http.StatusOK)
	case r.Method == http.MethodGet && r.URL.Path == "/v1/models":
		writeJSON(w, http.StatusOK, s.models(r.Header.Get("Anthropic-Version") != ""))
	case r.Method == http.MethodGet && r.URL.Path == "/v1beta/models":
		writeJSON(w, http.StatusOK, s.geminiModels())
	case wire != nil && wire.name == "responses" && r.Header.Get("Upgrade") != "" && !s.cfg.NoSockets:
		s.serveSocket(w, r)
	case wire != nil && r.Header.Get("Upgrade") != "":
		writeJSON(w, http.StatusUpgradeRequired, wire.failure(426, "no WebSocket here"))
	case wire != nil && r.Method == http.MethodPost:
		s.serveAnswer(w, r, wire, body, update)
	case r.Method == http.MethodPost && r.URL.Path == "/v1/messages/count_tokens":
		s.countTokens(w, r, body, update)
	default:
		writeJSON(w, http.StatusNotFound, openaiFailure(404, "nothing at "+r.Method+" "+r.URL.Path))
	}
}

// statusWriter notes the status of an answer.
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
	_, _ = w.Write(body) // a client that is gone is no concern of the model
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

// asFault returns the fault that a handler's error stands for.
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
