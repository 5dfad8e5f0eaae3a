package acp_test

import (
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/llm"
)

// Another connection loads a session. It shows all messages and calls, and the conversation continues.
func TestLoad(t *testing.T) {
	r := newRig(t, readThenEdit(), "a.txt", "one\ntwo\nthree\n")
	first := &editor{decide: choose(sdk.PermissionOptionKindAllowOnce)}
	hangUp := r.connect(first)
	id := r.begin(first)
	r.say(first, id, "make it loud")
	if err := hangUp(); err != nil {
		t.Fatal(err)
	}

	e := &editor{}
	r.connect(e)
	list, err := e.ListSessions(t.Context(), sdk.ListSessionsRequest{Cwd: &r.dir})
	if err != nil || len(list.Sessions) != 1 || list.Sessions[0].SessionId != id || *list.Sessions[0].Title != "make it loud" {
		t.Fatalf("%+v, %v", list, err)
	}
	loaded, err := e.LoadSession(t.Context(), sdk.LoadSessionRequest{SessionId: id, Cwd: r.dir, McpServers: []sdk.McpServer{}})
	if err != nil || loaded.Modes.CurrentModeId != "ask" {
		t.Fatalf("%+v, %v", loaded, err)
	}
	said, _, person := texts(e.seenSoFar())
	if said != "I read it. I change it. It is done." || person != "make it loud" {
		t.Errorf("said %q, asked %q", said, person)
	}
	c := calls(e.seenSoFar())["c2"]
	if c == nil || last(c.Statuses) != sdk.ToolCallStatusCompleted || c.Content[0].Diff == nil || !strings.Contains(c.Content[0].Diff.NewText, "TWO") {
		t.Errorf("%+v", c)
	}
	if stop := r.say(e, id, "thanks"); stop != sdk.StopReasonEndTurn {
		t.Error(stop)
	}
}

// If a session is loaded by its first id, the messages before a compaction are shown. The summary is not shown.
func TestLoadCompacted(t *testing.T) {
	r := newRig(t, func(req *llm.Request) (llm.Response, error) {
		text := "An answer." + strings.Repeat(" Very long.", 300)
		if m := last(req.Messages); strings.Contains(last(m.Parts).Text, agent.SummaryAsked) {
			text = "The person greeted, and the model answered. Nothing else happened, and nothing is left to do."
		}
		return llm.Response{Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{words(text)}}}, nil
	})
	first := &editor{}
	hangUp := r.connect(first)
	id := r.begin(first)
	r.say(first, id, "hello")
	r.say(first, id, "/compact the greeting")
	r.say(first, id, "still there?")
	if err := hangUp(); err != nil {
		t.Fatal(err)
	}
	e := &editor{}
	r.connect(e)
	if _, err := e.LoadSession(t.Context(), sdk.LoadSessionRequest{SessionId: id, Cwd: r.dir, McpServers: []sdk.McpServer{}}); err != nil {
		t.Fatal(err)
	}
	said, _, person := texts(e.seenSoFar())
	if person != "hellostill there?" || strings.Count(said, "An answer.") != 2 || strings.Contains(said, "greeted") {
		t.Errorf("person %q, agent %.100q", person, said)
	}
}

// session/resume shows no old messages. The command is answered without the model.
func TestResumeAndCommand(t *testing.T) {
	r := newRig(t, script())
	e := &editor{}
	r.connect(e)
	id := r.begin(e)
	r.say(e, id, "/compact")
	r.say(e, id, "hello")
	if _, err := e.CloseSession(t.Context(), sdk.CloseSessionRequest{SessionId: id}); err != nil {
		t.Fatal(err)
	}
	before := len(e.seenSoFar())
	if _, err := e.ResumeSession(t.Context(), sdk.ResumeSessionRequest{SessionId: id, Cwd: r.dir}); err != nil {
		t.Fatal(err)
	}
	if said, _, person := texts(e.seenSoFar()[before:]); said+person != "" {
		t.Errorf("%q, %q", said, person)
	}
	all, _, _ := texts(e.seenSoFar())
	if !strings.Contains(all, "nothing to summarize") {
		t.Errorf("%q", all)
	}
}

func TestListPages(t *testing.T) {
	r := newRig(t, script())
	e := &editor{}
	r.connect(e)
	for range 51 {
		id := r.begin(e)
		r.say(e, id, "hello")
	}
	r.begin(e) // this session has no messages
	list, err := e.ListSessions(t.Context(), sdk.ListSessionsRequest{})
	if err != nil || len(list.Sessions) != 50 || list.NextCursor == nil {
		t.Fatalf("%d, %v", len(list.Sessions), err)
	}
	rest, err := e.ListSessions(t.Context(), sdk.ListSessionsRequest{Cursor: list.NextCursor})
	if err != nil || len(rest.Sessions) != 1 || rest.NextCursor != nil {
		t.Fatalf("%d, %v", len(rest.Sessions), err)
	}
	if rest.Sessions[0].Cwd != r.dir || !filepath.IsAbs(rest.Sessions[0].Cwd) {
		t.Errorf("%+v", rest.Sessions[0])
	}
}
