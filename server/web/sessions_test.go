package web

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/session"
)

func said(role llm.Role, text string) session.Message {
	return session.Message{Role: role, Parts: []llm.Part{{Kind: llm.Text, Text: text}}}
}

// talk stores a session.
func (h *rig) talk(t *testing.T) *session.Session {
	t.Helper()
	s, err := session.Create(t.Context(), h.Sessions, session.Opening{Dir: "/home/me/project"},
		said(llm.User, "Why is it slow?"),
		session.Message{
			Role: llm.Assistant, Model: "m", Usage: &llm.Usage{Input: 10, CacheRead: 90, Output: 5},
			Parts: []llm.Part{{Kind: llm.ToolCall, CallID: "c", Name: "read_file", Args: `{"path":"a"}`}},
		},
		session.Message{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: "c", Text: strings.Repeat("x", maxText+1), IsError: true}}},
		session.Message{Role: llm.Assistant, Local: true, Parts: []llm.Part{{Kind: llm.Text, Text: "a note"}}},
		said(llm.Assistant, "It sleeps."),
	)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A stored session is listed, found and shown, with the parts that fill its window.
func TestSession(t *testing.T) {
	h, _ := newRig(t)
	h.Window = func(string) int { return 1000 }
	h.ResumeCommand = func(i session.Info) string { return "resume " + i.ID }
	id := h.talk(t).ID()
	p := h.enter(t, "A")
	if all := get[[]Session](p, "/api/sessions"); len(all) != 1 || all[0].ID != id || all[0].Title != "Why is it slow?" || all[0].Messages != 4 {
		t.Errorf("sessions %+v", all)
	}
	if hits := get[[]Hit](p, "/api/search?words=IT+slow"); len(hits) != 1 || hits[0].Session != id || hits[0].Seq != 2 {
		t.Errorf("hits %+v", hits)
	}
	d := get[SessionDetail](p, "/api/sessions/"+id)
	if d.Limit != 1000 || d.Resume != "resume "+id || d.Context != (Tokens{Input: 10, CacheRead: 90, Output: 5}) || len(d.Conversation) != 5 {
		t.Errorf("session %+v", d)
	}
	if r := d.Conversation[2].Parts[0]; r.Kind != "result" || !r.Failed || len(r.Text) != maxText || r.Bytes != maxText+1 {
		t.Errorf("result %s, %d of %d bytes", r.Kind, len(r.Text), r.Bytes)
	}
	want := fmt.Sprintf("[{results of read_file %d} {calls 21} {user 15} {assistant 10}]", maxText+1)
	if got := fmt.Sprint(d.Window); got != want {
		t.Errorf("window %s, want %s", got, want)
	}
	if r := p.do(http.MethodGet, "/api/sessions/none", nil, nil); r.StatusCode != http.StatusNotFound {
		t.Errorf("no such session: %s", r.Status)
	}
}

// An export is complete, and can be imported.
func TestExport(t *testing.T) {
	h, _ := newRig(t)
	id := h.talk(t).ID()
	p := h.enter(t, "A")
	path := "/api/sessions/" + id + "/export?format="
	got, err := session.ReadJSON(p.do(http.MethodGet, path+"json", nil, nil).Body)
	if err != nil || got.ID != id || len(got.Events) != 6 {
		t.Errorf("json: %+v, %v", got, err)
	}
	for format, want := range map[string]string{"markdown": "Why is it slow?"} {
		r := p.do(http.MethodGet, path+format, nil, nil)
		if data, _ := io.ReadAll(r.Body); !strings.Contains(string(data), want) || r.Header.Get("Content-Type") != "application/octet-stream" {
			t.Errorf("%s: %s: %s", format, r.Header, data)
		}
	}
	if r := p.do(http.MethodGet, path+"nothing", nil, nil); r.StatusCode != http.StatusBadRequest {
		t.Errorf("no such format: %s", r.Status)
	}
}

// Rewind and fork are events; no event is lost.
func TestRewindAndFork(t *testing.T) {
	h, _ := newRig(t)
	id := h.talk(t).ID()
	p := h.enter(t, "A")
	path := "/api/sessions/" + id
	for _, to := range []uint64{0, 6, 7} {
		p.post(path+"/rewind", Rewind{to}, http.StatusBadRequest)
	}
	p.post(path+"/rewind", Rewind{2}, http.StatusOK)
	if d := get[SessionDetail](p, path); len(d.Conversation) != 1 || d.Events != 7 {
		t.Errorf("rewound: %d messages, %d events", len(d.Conversation), d.Events)
	}
	p.post(path+"/fork", Fork{9}, http.StatusBadRequest)
	p.post(path+"/fork", Fork{6}, http.StatusOK)
	forks := get[[]Session](p, "/api/sessions?parent="+id)
	if len(forks) != 1 || forks[0].Relation != "forked" {
		t.Fatalf("forks %+v", forks)
	}
	if d := get[SessionDetail](p, "/api/sessions/"+forks[0].ID); len(d.Conversation) != 5 {
		t.Errorf("the fork has %d messages", len(d.Conversation))
	}
	p.post(path+"/compact", struct{}{}, http.StatusNotImplemented)
}

// A follower of a session gets new events, and after a lost connection the missed ones, once and in order.
func TestFollow(t *testing.T) {
	h, _ := newRig(t)
	s := h.talk(t)
	p := h.enter(t, "A")
	next := listen[SessionEvent](p, "/api/sessions/"+s.ID()+"/events?after=5")
	if e := next(); e.Seq != 6 || e.Message == nil || e.Message.Parts[0].Text != "It sleeps." {
		t.Errorf("event %+v", e)
	}
	if err := s.Append(t.Context(), said(llm.User, "Wake it."), session.Title("Sleep")); err != nil {
		t.Fatal(err)
	}
	again := listen[SessionEvent](p, "/api/sessions/"+s.ID()+"/events?after=6")
	for name, next := range map[string]func() SessionEvent{"first": next, "again": again} {
		one, two := next(), next()
		if one.Seq != 7 || one.Kind != "message" || two.Seq != 8 || two.Kind != "title" {
			t.Errorf("%s: events %+v, %+v", name, one, two)
		}
	}
}
