package web

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/test/recordtest"
	"github.com/stet-dev/stet/test/webtest"
)

// rig is a handler with everything behind it in memory, on a real server.
type rig struct {
	*Handler
	records recordtest.Memory
	server  *httptest.Server
}

// people are tokens that can be revoked. All but the guest are admins.
type people struct {
	mu sync.Mutex
	by map[string]string
}

func (p *people) who(token string) (Person, bool) {
	return p.holds("id-" + token)
}

func (p *people) holds(id string) (Person, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name, ok := p.by[strings.TrimPrefix(id, "id-")]
	return Person{ID: id, Name: name, Admin: name != "guest"}, ok
}

func newRig(t testing.TB) (*rig, *people) {
	t.Helper()
	known := &people{by: map[string]string{"A": "desk", "B": "lab", "G": "guest"}}
	h := &rig{}
	h.Handler = &Handler{
		Queue: new(approval.Queue), Authenticate: known.who, Holds: known.holds, Hosts: []string{"box.example"},
		Sessions: &session.Hub{Store: new(session.Memory)}, Records: &h.records, Trail: &h.records,
	}
	h.server = httptest.NewServer(h)
	t.Cleanup(func() {
		h.server.CloseClientConnections()
		h.server.Close()
	})
	return h, known
}

// page is a page, logged in or not.
type page struct {
	*webtest.Page
	t testing.TB
}

// enter logs in.
func (h *rig) enter(t testing.TB, token string) *page {
	t.Helper()
	p, err := webtest.Enter(t.Context(), nil, h.server.URL, token)
	if err != nil {
		t.Fatal(err)
	}
	return &page{p, t}
}

func (p *page) request(ctx context.Context, method, path string, body any, change func(*http.Request)) *http.Request {
	p.t.Helper()
	r, err := p.Request(ctx, method, path, body)
	if err != nil {
		p.t.Fatal(err)
	}
	if change != nil {
		change(r)
	}
	return r
}

// do makes a request. For an unchanged request the API's answer must have a proof.
func (p *page) do(method, path string, body any, change func(*http.Request)) *http.Response {
	p.t.Helper()
	r := p.request(p.t.Context(), method, path, body, change)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	if change == nil && strings.HasPrefix(path, "/api/") && res.StatusCode == http.StatusOK && !p.Proved(r, res) {
		p.t.Errorf("%s %s: the answer has no proof", method, path)
	}
	data, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil {
		p.t.Fatal(err)
	}
	res.Body = io.NopCloser(bytes.NewReader(data))
	return res
}

func decode(t testing.TB, r *http.Response, into any) {
	t.Helper()
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
}

// get reads a resource that must exist.
func get[T any](p *page, path string) T {
	p.t.Helper()
	r := p.do(http.MethodGet, path, nil, nil)
	var v T
	if r.StatusCode != http.StatusOK {
		data, _ := io.ReadAll(r.Body)
		p.t.Fatalf("%s: %s: %s", path, r.Status, data)
	}
	decode(p.t, r, &v)
	return v
}

// post expects a status, and returns the error text.
func (p *page) post(path string, body any, want int) string {
	p.t.Helper()
	r := p.do(http.MethodPost, path, body, nil)
	var said Problem
	decode(p.t, r, &said)
	if r.StatusCode != want {
		p.t.Fatalf("%s: %s, want %d: %s", path, r.Status, want, said.Error)
	}
	return said.Error
}

// listen reads a stream, event by event, until the test ends.
func listen[T any](p *page, path string) func() T {
	p.t.Helper()
	res, err := http.DefaultClient.Do(p.request(p.t.Context(), http.MethodGet, path, nil, nil))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = res.Body.Close() })
	if res.StatusCode != http.StatusOK {
		p.t.Fatalf("%s: %s", path, res.Status)
	}
	lines := bufio.NewReader(res.Body)
	return func() T {
		p.t.Helper()
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				p.t.Fatal(err)
			}
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				var v T
				if err := json.Unmarshal([]byte(data), &v); err != nil {
					p.t.Fatal(err)
				}
				return v
			}
		}
	}
}
