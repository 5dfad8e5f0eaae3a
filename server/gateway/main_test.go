package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/filetools"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/test/recordtest"
	"github.com/stet-dev/stet/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testAuthority accepts the test tokens: a role, "-" and one letter.
type testAuthority struct {
	mu      sync.Mutex
	revoked map[string]bool
}

func (a *testAuthority) Identify(token string) (Identity, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	role, name, ok := strings.Cut(token, "-")
	if !ok || a.revoked[token] {
		return Identity{}, ErrToken
	}
	return Identity{ID: token, Name: name, Scopes: []string{role}}, nil
}

func (a *testAuthority) Holds(i Identity) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.revoked[i.ID]
}

func (a *testAuthority) revoke(token string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.revoked == nil {
		a.revoked = map[string]bool{}
	}
	a.revoked[token] = true
}

// logged keeps log records for tests.
type logged struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// newHub makes a hub that is closed when the test ends.
func newHub(t testing.TB, c Config) (*Hub, *logged) {
	t.Helper()
	log := &logged{}
	if c.Authority == nil {
		c.Authority = &testAuthority{}
	}
	c.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	h, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h, log
}

// serveHub serves a hub on a loopback port.
func serveHub(t testing.TB, h *Hub) string {
	t.Helper()
	s := httptest.NewServer(h.Handler())
	t.Cleanup(func() {
		_ = h.Close()
		s.Close()
	})
	return s.URL
}

// bench is a workspace with its tools, as a host uses it.
type bench struct {
	dir     string
	state   string
	tools   *filetools.Tools
	handler *approval.Handler
	trail   *recordtest.Memory
}

// inOnePiece is the limit, in bytes, of a read or write in one piece.
const inOnePiece = 1 << 20

func newBench(t testing.TB, approver approval.Approver, p policy.Policy) *bench {
	t.Helper()
	b := &bench{dir: t.TempDir(), state: t.TempDir(), trail: new(recordtest.Memory)}
	root, err := workspace.Open(b.dir, workspace.Options{State: b.state, ReadLimit: inOnePiece, WriteLimit: inOnePiece})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	if b.tools, err = filetools.New(filetools.Config{Root: root}); err != nil {
		t.Fatal(err)
	}
	set := new(tool.Set)
	if err := set.Add(b.tools.All()...); err != nil {
		t.Fatal(err)
	}
	b.handler = &approval.Handler{
		Tools: set, Policy: &p, Approver: approver, Root: b.dir, Rate: -1, Journal: &record.Journal{Trail: b.trail},
	}
	t.Cleanup(func() { _ = b.handler.Journal.Close() })
	return b
}

func (b *bench) put(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) get(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}

// outcomes returns the writes in the trail, by path.
func (b *bench) outcomes(t testing.TB) []record.Entry {
	t.Helper()
	if err := b.handler.Journal.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	all, err := b.trail.Entries(context.Background(), record.TrailQuery{Kinds: []record.Kind{record.Outcome}})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// runHost runs a host until the test ends or stop is called. stop waits for it.
func runHost(t testing.TB, url, workspace string, caller tool.Caller) (h *Host, stop func()) {
	t.Helper()
	return run(t, &Host{Dial: Dial{URL: url, Token: "host-a"}, Workspace: workspace, Caller: caller})
}

// run is runHost for an existing host.
func run(t testing.TB, h *Host) (_ *Host, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("host: %v", err)
		}
	})
	t.Cleanup(stop)
	return h, stop
}

// dialAgent connects an agent, and waits for the workspace's host.
func dialAgent(t testing.TB, url, workspace string) *Agent {
	t.Helper()
	a := &Agent{Dial: Dial{URL: url, Token: "agent-a"}, Workspace: workspace, Client: "tester 1"}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := a.Connect(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	if err := a.AwaitHost(ctx); err != nil {
		t.Fatal(err)
	}
	return a
}

func mustCall(t testing.TB, c tool.Caller, name, args string) tool.Result {
	t.Helper()
	r, err := c.Call(context.Background(), tool.Call{Name: name, Arguments: json.RawMessage(args)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// approve answers the queue's questions until the test ends.
func approve(t testing.TB, q *approval.Queue, answer func(approval.Question) approval.Answer) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	sub := q.Subscribe()
	var wg sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		_ = sub.Close()
	})
	wg.Go(func() {
		for {
			e, err := sub.Next(ctx)
			if err != nil {
				return
			}
			if e.Opened == nil {
				continue
			}
			a := answer(*e.Opened)
			if a.Seal == "" {
				a.Seal = e.Opened.Seal
			}
			if err := q.Answer(e.Opened.ID, a); err != nil {
				t.Error(err)
			}
		}
	})
}
