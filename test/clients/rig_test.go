package clients

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/server/gateway"
	"github.com/stet-dev/stet/server/gateway/wire"
)

// rig makes the gateways that a client's tests ask for, and does with them what the tests order. The client's side of it is
// clients/ts/test/rig.ts.
type rig struct {
	t   testing.TB
	URL string

	mu   sync.Mutex
	open []*site
}

// siteOptions is what a test asks for in a gateway.
type siteOptions struct {
	Frame int    `json:"frame"` // largest frame in bytes; 0: the default
	Twice bool   `json:"twice"` // calls are delivered twice
	Alone bool   `json:"alone"` // there are no people
	Path  string `json:"path"`  // the path of the gateway
}

// site is a gateway that a test asked for.
type site struct {
	options siteOptions
	queue   *approval.Queue
	sub     *approval.Subscription
	tokens  *authority
	hub     atomic.Pointer[gateway.Hub]
	server  *httptest.Server
	lines   map[string]*line // connections to the gateway, by role
	leave   []func()         // ends the hosts that the test asked for
}

// place has the addresses and tokens of a site.
type place struct {
	ID     int               `json:"id"`
	Direct string            `json:"direct"`
	URL    map[string]string `json:"url"`   // through a line, by role
	Token  map[string]string `json:"token"` // by role
}

func newRig(t testing.TB) *rig {
	h := &rig{t: t}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /sites", func(w http.ResponseWriter, r *http.Request) {
		var wanted siteOptions
		if err := json.NewDecoder(r.Body).Decode(&wanted); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer(w, h.build(wanted))
	})
	mux.HandleFunc("POST /sites/{id}/{order}", func(w http.ResponseWriter, r *http.Request) {
		i, err := strconv.Atoi(r.PathValue("id"))
		body, _ := io.ReadAll(r.Body)
		h.mu.Lock()
		var s *site
		if err == nil && i < len(h.open) {
			s = h.open[i]
		}
		h.mu.Unlock()
		if s == nil {
			http.NotFound(w, r)
			return
		}
		v, err := s.obey(h.t, r, r.PathValue("order"), body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		answer(w, v)
	})
	server := httptest.NewServer(mux)
	h.URL = server.URL
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		for _, s := range h.open {
			s.close()
		}
	})
	return h
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client may have disconnected
}

// build makes a site.
func (h *rig) build(wanted siteOptions) place {
	s := &site{options: wanted, queue: new(approval.Queue), tokens: new(authority), lines: map[string]*line{}}
	s.sub = s.queue.Subscribe()
	if err := s.start(); err != nil {
		h.t.Error(err)
	}
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.StripPrefix(wanted.Path, s.hub.Load().Handler()).ServeHTTP(w, r)
	}))
	p := place{Direct: s.server.URL + wanted.Path, URL: map[string]string{}, Token: map[string]string{}}
	for _, role := range []string{wire.Agent, wire.Host} {
		s.lines[role] = newLine(h.t, s.server.Listener.Addr().String())
		p.URL[role] = "http://" + s.lines[role].address() + wanted.Path
		p.Token[role] = s.tokens.issue(h.t, role)
	}
	p.Token["rival"] = s.tokens.issue(h.t, wire.Host)
	h.mu.Lock()
	defer h.mu.Unlock()
	p.ID = len(h.open)
	h.open = append(h.open, s)
	return p
}

// start starts the gateway of a site.
func (s *site) start() error {
	c := gateway.Config{Authority: s.tokens, Limits: gateway.Limits{Frame: s.options.Frame, Rate: -1}, Log: slog.New(slog.DiscardHandler)}
	if !s.options.Alone {
		c.Queue = s.queue
	}
	if s.options.Twice {
		c.Bus = &twice{}
	}
	hub, err := gateway.New(c)
	if err == nil {
		s.hub.Store(hub)
	}
	return err
}

func (s *site) close() {
	for _, stop := range s.leave {
		stop()
	}
	for _, l := range s.lines {
		l.close()
	}
	_ = s.hub.Load().Close()
	s.server.Close()
	_ = s.sub.Close()
}

// obey does what a test orders.
func (s *site) obey(t testing.TB, r *http.Request, order string, body []byte) (any, error) {
	word := strings.TrimSpace(string(body))
	switch order {
	case "cut":
		s.lines[word].cut()
	case "hold":
		s.lines[word].hold(true)
	case "release":
		s.lines[word].hold(false)
	case "freeze":
		s.lines[word].freeze()
	case "restart":
		_ = s.hub.Load().Close()
		return nil, s.start()
	case "host":
		dir, stop, err := joinHost(t, s.hub.Load())
		if err == nil {
			s.leave = append(s.leave, stop)
		}
		return dir, err
	case "revoke":
		return nil, s.tokens.revoke(word)
	case "question":
		for {
			e, err := s.sub.Next(r.Context())
			if err != nil || e.Opened != nil {
				return e.Opened, err
			}
		}
	case "closed":
		for {
			e, err := s.sub.Next(r.Context())
			if err != nil {
				return nil, err
			}
			if e.Closed != nil && e.Closed.ID == word {
				return e.Closed.How, nil
			}
		}
	case "answer":
		var a struct {
			ID string `json:"id"`
			approval.Answer
		}
		if err := json.Unmarshal(body, &a); err != nil {
			return nil, err
		}
		return nil, s.queue.Answer(a.ID, a.Answer)
	case "workspaces":
		return s.hub.Load().Workspaces(), nil
	}
	return nil, nil
}

// twice is a bus that delivers calls twice.
type twice struct{ gateway.Local }

// Send implements gateway.Bus.
func (b *twice) Send(address string, m gateway.Message) error {
	if _, ok := m.Frame.(*wire.ToolCall); ok {
		if err := b.Local.Send(address, m); err != nil {
			return err
		}
	}
	return b.Local.Send(address, m)
}

// authority has the tokens of a site.
type authority struct {
	mu     sync.Mutex
	tokens gateway.Tokens
}

func (a *authority) issue(t testing.TB, role string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, secret, err := a.tokens.Create(gateway.NewToken{Name: role, Scopes: []string{role}}, time.Now())
	if err != nil {
		t.Error(err)
	}
	return secret
}

func (a *authority) revoke(name string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, err := a.tokens.Revoke(name, time.Now())
	return err
}

// Identify implements gateway.Authority.
func (a *authority) Identify(secret string) (gateway.Identity, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tokens.Identify(secret, time.Now())
}

// Holds implements gateway.Authority.
func (a *authority) Holds(i gateway.Identity) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tokens.Holds(i.ID, time.Now())
}
