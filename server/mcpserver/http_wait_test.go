package mcpserver

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stet-dev/stet/files/approval"
)

// network is a network inside the process, for tests with a fake clock.
type network struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newNetwork() *network {
	return &network{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (n *network) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case n.conns <- there:
		return here, nil
	case <-n.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.done:
		return nil, net.ErrClosed
	}
}

func (n *network) Close() error {
	n.once.Do(func() { close(n.done) })
	return nil
}

func (n *network) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

// timedTransport measures the requests of a client: the longest time of an answer, and the longest time without a byte.
type timedTransport struct {
	http.RoundTripper
	mu              sync.Mutex
	longest, silent time.Duration
}

func (p *timedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	begun := time.Now()
	resp, err := p.RoundTripper.RoundTrip(r)
	if err == nil && r.Method == http.MethodPost { // a GET is the stream of messages outside of requests
		resp.Body = &heard{resp.Body, p, begun, time.Now()}
	}
	return resp, err
}

type heard struct {
	io.ReadCloser
	p           *timedTransport
	begun, last time.Time
}

func (h *heard) Read(b []byte) (int, error) {
	n, err := h.ReadCloser.Read(b)
	now := time.Now()
	h.p.mu.Lock()
	defer h.p.mu.Unlock()
	h.p.silent = max(h.p.silent, now.Sub(h.last))
	if h.last = now; errors.Is(err, io.EOF) {
		h.p.longest = max(h.p.longest, now.Sub(h.begun))
	}
	return n, err
}

// A person needs ten minutes. No request over HTTP takes 60 s, the time after which clients give up. If the client asked for
// progress, it gets a message at least every 30 s. (FILE-4)
func TestTenMinutesOverHTTP(t *testing.T) {
	for _, revision := range revisions {
		for _, hears := range []bool{true, false} {
			name := revision
			if hears {
				name += ", progress"
			}
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { tenMinutes(t, revision, hears) })
			})
		}
	}
}

func tenMinutes(t *testing.T, revision string, hears bool) {
	n := newNotes()
	s := newServer(t, Config{Caller: n.handler, Await: true, HTTP: HTTP{Tokens: []string{tokenA}}})
	wires := newNetwork()
	front := &http.Server{Handler: s.Handler()}
	served := make(chan error, 1)
	go func() { served <- front.Serve(wires) }()
	transport := &http.Transport{DialContext: wires.dial}
	p := &timedTransport{RoundTripper: bearer{tokenA, transport}}
	var progress progressed
	c, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, progress.options()).Connect(context.Background(),
		&mcp.StreamableClientTransport{Endpoint: "http://127.0.0.1/mcp", HTTPClient: &http.Client{Transport: p}, MaxRetries: -1},
		&mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	time.AfterFunc(10*time.Minute, func() { n.decide(t, approval.Approve, "") })
	params := &mcp.CallToolParams{Name: "write_note", Arguments: aNote}
	text, requests := "", 0
	for id := "first"; id != ""; requests++ {
		if hears {
			params = withProgress(params.Name, params.Arguments)
		}
		r, err := c.CallTool(context.Background(), params)
		if err != nil {
			t.Fatal(err)
		}
		text, id = textOf(t, r), ""
		if text != `{"success":true}` {
			id = pendingID(t, r)
		}
		params = &mcp.CallToolParams{Name: awaitName, Arguments: map[string]any{"pending": id}}
	}
	if took := time.Since(begun); took < 10*time.Minute || took > 11*time.Minute {
		t.Errorf("it took %v", took)
	}
	if requests < 10 {
		t.Errorf("%d requests", requests)
	}
	_ = c.Close() // its session ends at the latest with the server
	_ = s.Close()
	transport.CloseIdleConnections()
	_ = front.Close()
	<-served
	_ = wires.Close()
	synctest.Wait() // wait until the last answer is read completely
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.longest > 50*time.Second || p.longest < 20*time.Second {
		t.Errorf("a request took %v", p.longest)
	}
	if hears && p.silent > 30*time.Second {
		t.Errorf("nothing was heard for %v", p.silent)
	}
}
