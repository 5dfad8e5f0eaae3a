package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/tool"
)

// gateways has a host and the hubs that it connects to, one after another.
type gateways struct {
	t     *testing.T
	bench *bench
	hub   atomic.Pointer[Hub]
	http  http.Handler // handler of the current hub
}

func newGateways(t *testing.T, b *bench) *gateways {
	g := &gateways{t: t, bench: b}
	b.handler.Version = b.tools.Version
	g.next()
	running, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	host := &Host{Workspace: "w", Caller: b.handler, Remembers: true}
	go func() {
		done <- host.run(running, func(context.Context) (connection, error) {
			here, there := newPipe()
			h := g.hub.Load()
			if !h.enterConnection() {
				return nil, errClosed
			}
			h.serving.Go(func() {
				defer h.leaveConnection()
				_ = h.serve(h.base, there, Identity{ID: "host-a", Scopes: []string{Hosts}})
				there.abort()
			})
			return here, nil
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return g
}

// next replaces the current hub by a new one.
func (g *gateways) next() {
	h, _ := newHub(g.t, Config{Limits: Limits{Rate: -1}})
	g.http = h.Handler()
	if old := g.hub.Swap(h); old != nil {
		if err := old.Close(); err != nil {
			g.t.Error(err)
		}
	}
}

// post makes a call over plain HTTP once the workspace has its host.
func (g *gateways) post(name, id, arguments string) (status int, text string) {
	g.t.Helper()
	for until := time.Now().Add(30 * time.Second); len(g.hub.Load().Workspaces()) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			g.t.Fatal("no host")
		}
	}
	r := httptest.NewRequest("POST", "http://127.0.0.1/v1/sessions/s/tools/"+name+"?call_id="+id, strings.NewReader(arguments))
	r.Header.Set("Authorization", "Bearer agent-a")
	w := httptest.NewRecorder()
	g.http.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// A write is done once under its call_id, even if the second call comes to another gateway: the answer comes from the record.
// (FILE-4)
func TestOnceAcrossGateways(t *testing.T) {
	b := newBench(t, nil, policy.Policy{Unattended: true})
	g := newGateways(t, b)
	const write = `{"path":"a.txt","content":"one\n"}`
	if status, text := g.post("write_file", "1", write); status != 200 || !strings.Contains(text, `"success":true`) {
		t.Fatal(status, text)
	}
	if status, text := g.post("read_file", "2", `{"path":"a.txt"}`); status != 200 || !strings.Contains(text, `"success":true`) {
		t.Fatal(status, text)
	}
	if status, text := g.post("read_file", "2", `{"path":"a.txt"}`); status != 409 || !strings.Contains(text, "calls/2 has its result") {
		t.Error(status, text)
	}
	b.put(t, "a.txt", "somebody else's\n")
	for n := range 3 {
		if status, text := g.post("write_file", "1", write); status != 200 || !strings.Contains(text, "done before") {
			t.Error(n, status, text)
		}
		if status, text := g.post("write_file", "1", `{"path":"b.txt","content":"one\n"}`); status != 200 || !strings.Contains(text, "for another call") {
			t.Error(n, status, text)
		}
		g.next()
	}
	if status, text := g.post("read_file", "2", `{"path":"a.txt"}`); status != 200 || !strings.Contains(text, `"success":true`) {
		t.Error(status, text)
	}
	if got := b.get(t, "a.txt") + b.get(t, "b.txt"); got != "somebody else's\n" {
		t.Errorf("%q", got)
	}
	for range 100 { // one call directly after another
		if status, text := g.post("write_file", "1", write); status != 200 || !strings.Contains(text, "done before") {
			t.Fatal(status, text)
		}
	}
	if n := len(b.outcomes(t)); n != 1 {
		t.Errorf("%d writes", n)
	}
}

// A call waits for a person when its gateway ends, and is repeated at the next gateway. The first call ends before the repeated
// call is answered, and the answer is the first call's end. (FILE-4)
func TestOnceWhileAsked(t *testing.T) {
	queue := new(approval.Queue)
	b := newBench(t, Relay{Next: queue}, policy.Policy{})
	g := newGateways(t, b)
	sub := queue.Subscribe()
	defer sub.Close()
	const write = `{"path":"a.txt","content":"one\n"}`
	var first sync.WaitGroup
	defer first.Wait()
	first.Go(func() { g.post("write_file", "1", write) })
	if e, err := sub.Next(ctx); err != nil || e.Opened == nil {
		t.Fatalf("%+v, %v", e, err)
	}
	g.next()
	status, text := g.post("write_file", "1", write)
	if status != 200 || !strings.Contains(text, `"error":"cancelled"`) || !strings.Contains(text, "Nothing was written") {
		t.Error(status, text)
	}
	if open := queue.Open(); len(open) != 0 {
		t.Errorf("asked again: %+v", open)
	}
	if got := b.get(t, "a.txt"); got != "" {
		t.Errorf("%q", got)
	}
}

// The Caller receives the call's id, and that the call must not be done twice.
func TestOnceIsPassedOn(t *testing.T) {
	calls := make(chan tool.Call, 1)
	h, _ := newHub(t, Config{})
	runHost(t, serveHub(t, h), "w", told{calls: calls})
	for len(h.Workspaces()) == 0 {
		time.Sleep(time.Millisecond)
	}
	if _, err := h.Caller("w").Call(ctx, tool.Call{ID: "1", Session: "s", Name: "read_file", Arguments: json.RawMessage(`{"n":1}`)}); err != nil {
		t.Fatal(err)
	}
	if c := <-calls; !c.Once || c.ID != "s/1" || c.Session != "s" {
		t.Errorf("%+v", c)
	}
}

// told passes on the calls that it receives.
type told struct {
	echo
	calls chan tool.Call
}

func (c told) Call(_ context.Context, call tool.Call) (tool.Result, error) {
	c.calls <- call
	return tool.Result{CallID: call.ID, Text: `{}`}, nil
}
