package web

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/test/webtest"
	"github.com/stet-dev/stet/tool"
)

// control is a handler with which a flow acts as an agent, as a person, or as another program.
func (h *rig) control() http.Handler {
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
			Session, Client, Tool string
			Args                  json.RawMessage
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			reply(w, nil, err)
			return
		}
		res, err := h.handler.Call(r.Context(), tool.Call{Session: in.Session, Client: cmp.Or(in.Client, "example-agent 1.0"), Name: in.Tool, Arguments: in.Args})
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
	m.HandleFunc("POST /impostor", func(w http.ResponseWriter, r *http.Request) { // stet ends, and another program takes its port
		h.thief = new(webtest.Impostor)
		reply(w, nil, h.listen(h.ui.Listener.Addr().String(), h.thief))
	})
	m.HandleFunc("GET /impostor", func(w http.ResponseWriter, r *http.Request) { // returns what that program received
		reply(w, h.thief.Seen(), nil)
	})
	m.HandleFunc("POST /restart", func(w http.ResponseWriter, r *http.Request) { // stet starts again; returns which of the other program's replayed requests it accepts
		err := h.listen(h.ui.Listener.Addr().String(), h.web())
		var taken []string
		if err == nil && h.thief != nil {
			taken, err = h.thief.Replay(r.Context(), h.ui.URL)
		}
		reply(w, taken, err)
	})
	m.HandleFunc("POST /opened", func(w http.ResponseWriter, r *http.Request) {
		var in struct{ N int }
		err := json.NewDecoder(r.Body).Decode(&in)
		if err == nil {
			err = h.opened(r.Context(), in.N)
		}
		reply(w, nil, err)
	})
	m.HandleFunc("POST /answer", func(w http.ResponseWriter, r *http.Request) { // the person of lab rejects all open questions
		for _, q := range h.queue.Open() {
			if err := h.queue.Answer(q.ID, approval.Answer{Verdict: approval.Reject, By: "lab"}); err != nil {
				reply(w, nil, err)
				return
			}
		}
		reply(w, nil, nil)
	})
	m.HandleFunc("POST /outside", func(w http.ResponseWriter, r *http.Request) { // a tool of another program asks for permission
		a, err := h.queue.Ask(r.Context(), approval.Question{
			Session: "session-1", Client: "example-agent 1.0", Tool: "deploy", Write: true, Grantable: true,
			Notes: []tool.Note{tool.Outside}, Diff: tool.Diff{Other: "{\n  \"to\": \"<b>stage</b>\u202e\"\n}"}, Seal: "seal",
		})
		reply(w, a.Verdict, err)
	})
	m.HandleFunc("POST /native", func(w http.ResponseWriter, r *http.Request) { // an agent asks about a command of its own, or one of a flood; returns the answer
		var in struct{ Command string }
		err := json.NewDecoder(r.Body).Decode(&in)
		var a approval.Answer
		if err == nil {
			a, err = h.queue.Ask(r.Context(), approval.Question{
				Asked: time.Now(), Root: project, Session: "s1", Client: "claude", Tool: "Bash", Write: true, Native: true, Command: in.Command, Dir: project,
				About: "Water the garden", Notes: []tool.Note{tool.Deletes}, Diff: tool.Diff{Other: in.Command}, Content: []byte(in.Command), Editable: true, Seal: "seal",
				Why: "the agent's own rules",
			})
		}
		reply(w, map[string]string{"verdict": string(a.Verdict), "words": a.Words, "by": a.By}, err)
	})
	m.HandleFunc("POST /entry", func(w http.ResponseWriter, r *http.Request) { // adds an entry to the trail, as the guard does
		var e record.Entry
		err := json.NewDecoder(r.Body).Decode(&e)
		if err == nil {
			e.Time, e.Root = time.Now(), project
			_, err = h.handler.Journal.Now(r.Context(), e)
		}
		reply(w, nil, err)
	})
	m.HandleFunc("GET /open", func(w http.ResponseWriter, _ *http.Request) { // the open questions: ID by subject
		ids := map[string]string{}
		for _, q := range h.queue.Open() {
			ids[q.Subject()] = q.ID
		}
		reply(w, ids, nil)
	})
	m.HandleFunc("POST /bend", func(w http.ResponseWriter, r *http.Request) { // another program changes the trail
		db, err := sql.Open("sqlite", h.file)
		if err == nil {
			_, err = db.ExecContext(r.Context(), "DROP TRIGGER trail_is_never_changed; UPDATE trail SET bytes = bytes + 1 WHERE seq = 1")
			err = errors.Join(err, db.Close())
		}
		reply(w, nil, err)
	})
	m.HandleFunc("POST /elsewhere", func(w http.ResponseWriter, r *http.Request) { // a session begins or continues in another process
		var in struct{ Text string }
		err := json.NewDecoder(r.Body).Decode(&in)
		if err == nil {
			err = h.sayElsewhere(r.Context(), in.Text)
		}
		reply(w, nil, err)
	})
	m.HandleFunc("POST /say", func(w http.ResponseWriter, r *http.Request) { // adds to the session about retries, as its person
		var in struct{ Text string }
		err := json.NewDecoder(r.Body).Decode(&in)
		if err == nil {
			err = h.say(r.Context(), in.Text)
		}
		reply(w, nil, err)
	})
	m.HandleFunc("POST /seed", func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Long bool }
		err := json.NewDecoder(r.Body).Decode(&in)
		if err == nil {
			err = h.seed(r.Context(), names(in.Long))
		}
		reply(w, nil, err)
	})
	return m
}

// opened waits until n questions are open.
func (h *rig) opened(ctx context.Context, n int) error {
	open, _, sub := h.queue.Watch(0)
	defer func() { _ = sub.Close() }()
	for now := len(open); now != n; {
		e, err := sub.Next(ctx)
		if err != nil {
			return err
		}
		if e.Opened != nil {
			now++
		} else {
			now--
		}
	}
	return nil
}
