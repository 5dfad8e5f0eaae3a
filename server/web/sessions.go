package web

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/session"
)

// Session is a stored session in a list.
type Session struct {
	ID       string    `json:"id"`
	Dir      string    `json:"dir,omitempty"`
	Title    string    `json:"title"` // or its beginning
	Model    string    `json:"model,omitempty"`
	Source   string    `json:"source,omitempty"`
	From     string    `json:"from,omitempty"`
	Relation string    `json:"relation,omitempty"` // to From: "forked", "compacted", "started"
	Next     string    `json:"next,omitempty"`     // the session that continues after a compaction
	Created  time.Time `json:"created"`
	Updated  time.Time `json:"updated"`
	Events   uint64    `json:"events"`
	Messages int       `json:"messages"`
}

// SessionDetail is the state of a stored session.
type SessionDetail struct {
	Session
	Conversation []Message `json:"conversation"`
	Window       []Share   `json:"window"` // the parts that fill it, the largest first
	Context      Tokens    `json:"context"`
	Limit        int       `json:"limit,omitempty"` // the model's window in tokens; 0: unknown
	Spent        Tokens    `json:"spent"`
	Rewinds      []Rewound `json:"rewinds"`
	Damaged      []string  `json:"damaged,omitempty"`
	Resume       string    `json:"resume,omitempty"` // the command that resumes it
}

// Rewound is a rewind. A rewind to the event before it restores what it removed.
type Rewound struct {
	Seq  uint64    `json:"seq"` // of the rewind itself
	To   uint64    `json:"to"`
	Time time.Time `json:"time"`
}

// Message is a message of a conversation.
type Message struct {
	Seq   uint64    `json:"seq"` // number of its event, to which a rewind can go
	Role  string    `json:"role"`
	Time  time.Time `json:"time,omitzero"`
	Model string    `json:"model,omitempty"`
	Local bool      `json:"local,omitempty"` // a note that is not sent to the model
	Parts []Part    `json:"parts"`
	Used  *Tokens   `json:"used,omitempty"`
}

// Part is a piece of a message. Long texts are cut.
type Part struct {
	Kind   string `json:"kind"` // "text", "thinking", "call", "result", "other"
	Name   string `json:"name,omitempty"`
	Call   string `json:"call,omitempty"`
	Text   string `json:"text"`
	Bytes  int    `json:"bytes"` // of the whole text
	Failed bool   `json:"failed,omitempty"`
}

// Share is a part of a window.
type Share struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes"`
}

// Tokens has the usage of requests.
type Tokens struct {
	Input        int `json:"input"` // not cached
	CacheRead    int `json:"cache_read"`
	CacheWrite   int `json:"cache_write"`
	CacheWrite1h int `json:"cache_write_1h"` // part of CacheWrite
	Output       int `json:"output"`
	Reasoning    int `json:"reasoning"` // part of Output
}

func (t Tokens) plus(u record.Usage) Tokens {
	return Tokens{
		t.Input + u.Input, t.CacheRead + u.CacheRead, t.CacheWrite + u.CacheWrite, t.CacheWrite1h + u.CacheWrite1h,
		t.Output + u.Output, t.Reasoning + u.Reasoning,
	}
}

// Hit is a message that a search found.
type Hit struct {
	Session string    `json:"session"`
	Title   string    `json:"title"` // of the session, or its beginning
	Seq     uint64    `json:"seq"`
	Time    time.Time `json:"time"`
	Text    string    `json:"text"`
}

// maxText is the limit of sent bytes of a part.
const maxText = 32 << 10

func (h *Handler) sessions(r *http.Request) (any, error) {
	limit, err := number(r, "limit", 200)
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	found, err := h.Sessions.List(r.Context(), session.Query{Dir: q.Get("dir"), Parent: q.Get("parent"), Open: q.Get("open") != "", Limit: limit})
	if err != nil {
		return nil, err
	}
	all := make([]Session, len(found))
	for i, f := range found {
		all[i] = listed(f)
	}
	return all, nil
}

func listed(i session.Info) Session {
	title := cmp.Or(i.Title, i.First)
	return Session{
		i.ID, i.Dir, title, i.Model, i.Source, i.From.Session, string(i.From.Relation), i.Next, i.Created, i.Updated, i.Last, i.Count,
	}
}

func (h *Handler) search(r *http.Request) (any, error) {
	words := strings.Fields(r.URL.Query().Get("words"))
	hits, err := h.Sessions.Search(r.Context(), words, 100)
	if err != nil {
		return nil, err
	}
	titles := map[string]string{}
	all := make([]Hit, len(hits))
	for i, f := range hits {
		if _, ok := titles[f.Session]; !ok {
			found, err := h.Sessions.List(r.Context(), session.Query{ID: f.Session, Limit: 1})
			if err != nil {
				return nil, err
			}
			for _, s := range found {
				titles[s.ID] = listed(s).Title
			}
		}
		all[i] = Hit{f.Session, titles[f.Session], f.Event.Seq, f.Event.Time, f.Snippet(words)}
	}
	return all, nil
}

// load reads a session by its full id.
func (h *Handler) load(ctx context.Context, id string) (session.State, []session.Event, error) {
	if h.Sessions == nil {
		return session.State{}, nil, absent("a stored session")
	}
	events, damaged, err := h.Sessions.Events(ctx, id, 0)
	if err != nil {
		return session.State{}, nil, err
	}
	var f session.Fold
	f.Miss(damaged...)
	f.Add(events...)
	st := f.State()
	st.ID = id
	return st, events, nil
}

func (h *Handler) session(r *http.Request) (any, error) {
	st, events, err := h.load(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	d := SessionDetail{
		Session: listed(st.Info), Conversation: []Message{}, Context: Tokens{}.plus(st.Context), Spent: Tokens{}.plus(st.Spent), Rewinds: []Rewound{},
	}
	for _, e := range events {
		if back, ok := e.Body.(session.Rewind); ok {
			d.Rewinds = append(d.Rewinds, Rewound{e.Seq, back.To, e.Time})
		}
	}
	for i, m := range st.Messages {
		d.Conversation = append(d.Conversation, message(st.Marks[i], m))
	}
	d.Window = shares(st.Messages)
	for _, x := range st.Damaged {
		d.Damaged = append(d.Damaged, x.String())
	}
	if h.Window != nil {
		d.Limit = h.Window(st.Model)
	}
	if h.ResumeCommand != nil {
		d.Resume = h.ResumeCommand(st.Info)
	}
	return d, nil
}

func (h *Handler) export(w http.ResponseWriter, r *http.Request) error {
	name := r.URL.Query().Get("format")
	write := session.Formats[name]
	if write == nil {
		return invalid("there is no format %q", name)
	}
	st, events, err := h.load(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/octet-stream") // so that a browser does not show it
	w.Header().Set("Cache-Control", "no-store")
	if err := write(w, st, events); err != nil {
		h.log().Error("export", "session", st.ID, "format", name, "err", err)
		panic(http.ErrAbortHandler) // the sent data is incomplete, and the client must notice
	}
	return nil
}
