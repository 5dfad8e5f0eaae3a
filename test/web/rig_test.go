package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/filetools"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/web"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store/sqlite"
	"github.com/stet-dev/stet/test/webtest"
	"github.com/stet-dev/stet/tool"
)

// rig is the server of one flow: everything behind the UI.
type rig struct {
	dir     string
	tools   *filetools.Tools
	queue   *approval.Queue
	handler *approval.Handler
	store   *sqlite.Store
	hub     *session.Hub

	elsewhere *sqlite.Sessions // the store of sessions, as another process has opened it
	root      *workspace.Root
	file      string // the file of the stores

	ui    *httptest.Server
	down  atomic.Bool       // the UI's server refuses every request
	thief *webtest.Impostor // a program that has taken the port of the server
}

// project is the root of the workspace in the trail.
const project = "/home/me/project"

// tokens are the tokens of three people. All but lab are admins.
var tokens = map[string]string{"token-of-desk": "desk", "token-of-lab": "lab", "token-of-owner": "owner"}

func newRig(t *testing.T) *rig {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	h := &rig{dir: t.TempDir(), queue: new(approval.Queue)}
	state := t.TempDir()
	h.file = filepath.Join(state, "stet.db")
	root, err := workspace.Open(h.dir, workspace.Options{State: state})
	if err != nil {
		t.Fatal(err)
	}
	h.root = root
	if h.store, err = sqlite.Open(ctx, h.file); err != nil {
		t.Fatal(err)
	}
	sessions, err := sqlite.OpenSessions(ctx, h.file)
	if err != nil {
		t.Fatal(err)
	}
	if h.elsewhere, err = sqlite.OpenSessions(ctx, h.file); err != nil {
		t.Fatal(err)
	}
	h.hub = &session.Hub{Store: sessions, Poll: 100 * time.Millisecond}
	if h.tools, err = filetools.New(filetools.Config{Root: root}); err != nil {
		t.Fatal(err)
	}
	set := new(tool.Set)
	if err := set.Add(h.tools.All()...); err != nil {
		t.Fatal(err)
	}
	journal := &record.Journal{Trail: h.store}
	h.handler = &approval.Handler{
		Tools: set, Approver: h.queue, Root: project, Rate: -1, Journal: journal,
		Suspicion: policy.Suspicion{Do: policy.Suspend},
	}
	if err := h.listen("127.0.0.1:0", h.web()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		h.ui.CloseClientConnections()
		h.ui.Close()
		for _, err := range []error{journal.Close(), sessions.Close(), h.elsewhere.Close(), h.store.Close(), root.Close()} {
			if err != nil {
				t.Error(err)
			}
		}
	})
	return h
}

// listen serves a handler at an address, in place of the earlier one.
func (h *rig) listen(address string, next http.Handler) error {
	if h.ui != nil {
		h.ui.CloseClientConnections()
		h.ui.Close()
	}
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", address)
	if err != nil {
		return err
	}
	h.ui = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.down.Load() {
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, r)
	}))
	_ = h.ui.Listener.Close()
	h.ui.Listener = l
	h.ui.Start()
	return nil
}

func (h *rig) web() *web.Handler {
	return &web.Handler{
		Queue: h.queue, Sessions: h.hub, Records: h.store, Trail: h.store, Version: "0.0.0",
		Authenticate: func(token string) (web.Person, bool) {
			name, ok := tokens[token]
			return web.Person{ID: name, Name: name, Admin: name != "lab"}, ok
		},
		Holds:  func(id string) (web.Person, bool) { return web.Person{ID: id, Name: id, Admin: id != "lab"}, true },
		Secret: bytes.Repeat([]byte{7}, 32), Buttons: true, Push: unused{},
		Changes: h.store.Changes,
		Disk:    h.disk,
		Undo:    h.undo,
		Lift:    h.handler.Resume,
		Cost: func(_ string, u, whole record.Usage) (float64, float64, bool) {
			return (float64(u.Input)*3 + float64(u.CacheRead)*0.3 + float64(u.CacheWrite)*3.75 + float64(u.Output)*15) / 1e6, float64(whole.Prompt()-u.Prompt()) * 3e-7, true
		},
		Next: func(r record.Request) (time.Time, float64, float64, bool) {
			return r.Time.Add(time.Hour), 0.21, 1.9, true
		},
		Window:        func(string) int { return 200_000 },
		ResumeCommand: func(i session.Info) string { return "stet chat --resume " + i.ID },
		Settings: func() []web.Setting {
			return []web.Setting{{Name: "workspace", Value: project}, {Name: "approvals expire after", Value: "10 min"},
				{Name: "upstream-messages", Value: "https://messages.models.example.com/organisation/development", Note: "STET_UPSTREAM_MESSAGES"}}
		},
	}
}

// unused is a web.Push that is never called: a browser can subscribe only over https, and this page has none.
type unused struct{}

func (unused) Key() (string, error)           { return "", errors.New("a page without https asks for the key") }
func (unused) Add(_, _, _, _, _ string) error { return errors.New("a page without https subscribes") }
func (unused) Remove(string) error            { return nil }

// disk returns the contents of files.
func (h *rig) disk(ctx context.Context, _ string, paths []string) (map[string]string, error) {
	all := map[string]string{}
	for _, name := range paths {
		p, err := h.root.Path(name)
		if err != nil {
			continue
		}
		if v, err := h.root.Version(ctx, p); err == nil {
			all[name] = string(v)
		}
	}
	return all, nil
}

// undo asks a person with a question in the queue, and then undoes the writes.
func (h *rig) undo(ctx context.Context, writes []record.Write, person, session string) error {
	set := new(tool.Set)
	if err := set.Add(filetools.TakeBack{Tools: h.tools, Writes: writes}); err != nil {
		return err
	}
	asking := &approval.Handler{Tools: set, Approver: h.queue, Root: project, Rate: -1, Journal: h.handler.Journal}
	r, err := asking.Call(ctx, tool.Call{Session: session, Client: "undo for " + person, Name: "undo", Arguments: json.RawMessage("{}")})
	if err == nil && r.Failed() {
		err = errors.New(r.Text)
	}
	return err
}

// link returns the link with which a person logs in.
func (h *rig) link(token string) string {
	return strings.TrimSuffix(h.ui.URL, "/") + "/#token=" + token
}

// ask opens some questions, like an agent, and does not wait for the results.
func (h *rig) ask(ctx context.Context) {
	for _, c := range []struct{ path, before, after string }{
		{"internal/upload/retry.go", longText(60), strings.ReplaceAll(longText(62), "step7()", "retry7(budget int)")},
		{"docs/uploads.md", "", "# Uploads\n\nAn upload retries five times in a minute.\n"},
	} {
		file := filepath.Join(h.dir, c.path)
		_ = os.MkdirAll(filepath.Dir(file), 0o755)
		if c.before != "" {
			_ = os.WriteFile(file, []byte(c.before), 0o644)
		}
		args, _ := json.Marshal(map[string]any{"path": c.path, "content": c.after, "create_dirs": true})
		go func() {
			_, _ = h.handler.Call(ctx, tool.Call{Session: "session-1", Client: "example-agent 1.0", Name: "write_file", Arguments: args})
		}()
	}
}
