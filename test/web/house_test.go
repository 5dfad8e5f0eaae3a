package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stet-dev/stet/approval"
	"github.com/stet-dev/stet/filetools"
	"github.com/stet-dev/stet/policy"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store/sqlite"
	"github.com/stet-dev/stet/tool"
	"github.com/stet-dev/stet/web"
	"github.com/stet-dev/stet/workspace"
)

// house is everything behind the UI, for one flow.
type house struct {
	dir     string
	tools   *filetools.Tools
	queue   *approval.Queue
	handler *approval.Handler
	store   *sqlite.Store
	hub     *session.Hub
	ui      *httptest.Server
	down    atomic.Bool // the UI's server refuses everybody
}

// project is what the workspace is called in the trail.
const project = "/home/me/project"

// tokens are those of two people.
var tokens = map[string]string{"token-of-anna": "anna", "token-of-ben": "ben"}

func newHouse(t *testing.T) *house {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	h := &house{dir: t.TempDir(), queue: new(approval.Queue)}
	state := t.TempDir()
	root, err := workspace.Open(h.dir, workspace.Options{State: state})
	if err != nil {
		t.Fatal(err)
	}
	if h.store, err = sqlite.Open(ctx, filepath.Join(state, "stet.db")); err != nil {
		t.Fatal(err)
	}
	sessions, err := sqlite.OpenSessions(ctx, filepath.Join(state, "stet.db"))
	if err != nil {
		t.Fatal(err)
	}
	h.hub = &session.Hub{Store: sessions}
	if h.tools, err = filetools.New(filetools.Config{Root: root, WriteLimit: 5 << 20}); err != nil {
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
	ui := h.web()
	h.ui = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.down.Load() {
			panic(http.ErrAbortHandler)
		}
		ui.ServeHTTP(w, r)
	}))
	h.ui.Start()
	t.Cleanup(func() {
		stop()
		h.ui.CloseClientConnections()
		h.ui.Close()
		for _, err := range []error{journal.Close(), sessions.Close(), h.store.Close(), root.Close()} {
			if err != nil {
				t.Error(err)
			}
		}
	})
	return h
}

func (h *house) web() *web.Handler {
	return &web.Handler{
		Queue: h.queue, Sessions: h.hub, Records: h.store, Trail: h.store, Version: "0.0.0",
		Authenticate: func(token string) (string, bool) { name, ok := tokens[token]; return name, ok },
		Undo:         h.undo,
		Lift:         h.handler.Resume,
		Cost: func(_ string, u record.Usage) (float64, bool) {
			return (float64(u.Input)*3 + float64(u.CacheRead)*0.3 + float64(u.CacheWrite)*3.75 + float64(u.Output)*15) / 1e6, true
		},
		Window:        func(string) int { return 200_000 },
		ResumeCommand: func(i session.Info) string { return "stet chat --resume " + i.ID },
		Settings: func() []web.Setting {
			return []web.Setting{{Name: "workspace", Value: project}, {Name: "approvals expire after", Value: "10 min", Note: "--approval-timeout"}}
		},
	}
}

// undo asks by the queue, and then undoes.
func (h *house) undo(ctx context.Context, writes []record.Write, person string) error {
	set := new(tool.Set)
	if err := set.Add(filetools.TakeBack{Tools: h.tools, Writes: writes}); err != nil {
		return err
	}
	asking := &approval.Handler{Tools: set, Approver: h.queue, Root: project, Rate: -1, Journal: h.handler.Journal}
	r, err := asking.Call(ctx, tool.Call{Session: "undo", Client: "undo for " + person, Name: "undo", Arguments: json.RawMessage("{}")})
	if err == nil && r.Failed() {
		err = errors.New(r.Text)
	}
	return err
}

// control is what a flow tells the house to do, as an agent or the world would.
func (h *house) control() http.Handler {
	m := http.NewServeMux()
	reply := func(w http.ResponseWriter, v any, err error) {
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(v)
	}
	m.HandleFunc("POST /call", func(w http.ResponseWriter, r *http.Request) { // waits for the result
		var in struct {
			Session, Tool string
			Args          json.RawMessage
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			reply(w, nil, err)
			return
		}
		res, err := h.handler.Call(r.Context(), tool.Call{Session: in.Session, Client: "example-agent 1.0", Name: in.Tool, Arguments: in.Args})
		reply(w, map[string]string{"text": res.Text, "code": string(res.Code)}, err)
	})
	m.HandleFunc("GET /file", func(w http.ResponseWriter, r *http.Request) {
		data, err := os.ReadFile(filepath.Join(h.dir, r.URL.Query().Get("path")))
		if errors.Is(err, os.ErrNotExist) {
			reply(w, nil, nil)
			return
		}
		reply(w, string(data), err)
	})
	m.HandleFunc("POST /file", func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Path, Content string }
		err := json.NewDecoder(r.Body).Decode(&in)
		if err == nil {
			file := filepath.Join(h.dir, in.Path)
			if err = os.MkdirAll(filepath.Dir(file), 0o755); err == nil {
				err = os.WriteFile(file, []byte(in.Content), 0o644)
			}
		}
		reply(w, nil, err)
	})
	m.HandleFunc("GET /trail", func(w http.ResponseWriter, r *http.Request) {
		err := h.handler.Journal.Flush(r.Context())
		if err != nil {
			reply(w, nil, err)
			return
		}
		all, err := h.store.Entries(r.Context(), record.TrailQuery{})
		reply(w, all, err)
	})
	m.HandleFunc("POST /down", func(w http.ResponseWriter, r *http.Request) {
		h.down.Store(true)
		h.ui.CloseClientConnections()
		reply(w, nil, nil)
	})
	m.HandleFunc("POST /up", func(w http.ResponseWriter, r *http.Request) {
		h.down.Store(false)
		reply(w, nil, nil)
	})
	m.HandleFunc("POST /say", func(w http.ResponseWriter, r *http.Request) { // as the person of the session on retries
		var in struct{ Text string }
		err := json.NewDecoder(r.Body).Decode(&in)
		if err == nil {
			err = h.say(r.Context(), in.Text)
		}
		reply(w, nil, err)
	})
	m.HandleFunc("POST /seed", func(w http.ResponseWriter, r *http.Request) { reply(w, nil, h.seed(r.Context())) })
	return m
}

// link is the link by which a person comes in.
func (h *house) link(token string) string {
	return strings.TrimSuffix(h.ui.URL, "/") + "/#token=" + token
}

// ask opens some questions, as an agent would, whose results nobody waits for.
func (h *house) ask(ctx context.Context) {
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
