package acp

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm/llmtest"
)

// report is the output of client.mjs.
type report struct {
	Name     string
	Version  int
	Modes    []string
	Commands []string
	Kinds    []string
	Stop     string
	Said     string
	Thought  string
	Asked    []struct {
		Diff struct {
			Type, Path       string
			OldText, NewText string
		}
		Options []string
	}
	Statuses []string
	Read     []string
	Exit     int

	UnknownMethod, UnknownSession, Outside struct {
		Code    int
		Message string
	}
	Listed         []bool
	Loaded, Person string
	Cancelled      string
}

// The protocol's own SDK accepts all messages as valid, and does what an editor does.
func TestNPMClient(t *testing.T) {
	t.Parallel()
	modules := packages.Need(t)
	p, m := newPlace(t), model(t, nil)
	p.write("a.txt", "one\ntwo\nthree\n")
	var none llmtest.Fault
	m.Fail(none, none, none, none, llmtest.Fault{Delay: time.Hour}) // the second prompt gets no answer from the model, only the end of the turn
	name, err := stet()
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("client.mjs")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", script, modules, p.dir, name, "acp", "--model", "m", "--base-url", m.URL, "--api", "messages")
	cmd.Env, cmd.Dir = p.env(), p.home
	out, err := cmd.Output()
	if err != nil {
		var said []byte
		if exit, ok := err.(*exec.ExitError); ok {
			said = exit.Stderr
		}
		t.Fatalf("%v: %s%s", err, out, said)
	}
	var r report
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if r.Name != "stet" || r.Version != 1 || r.Exit != 0 || r.Stop != "end_turn" || r.Cancelled != "cancelled" {
		t.Errorf("%+v", r)
	}
	if !slices.Equal(r.Modes, []string{"ask", "accept-edits", "read-only"}) || !slices.Equal(r.Commands, []string{"compact"}) {
		t.Errorf("modes %v, commands %v", r.Modes, r.Commands)
	}
	// The file was changed once. After that the editor's buffer differs from the file on the disk, and the second edit is refused
	// without a question.
	if p.read("a.txt") != "one\nTWO\nthree\n" || len(r.Asked) != 1 || !slices.Contains(r.Statuses, "completed") || !slices.Contains(r.Statuses, "failed") {
		t.Errorf("%q, asked %+v, %v", p.read("a.txt"), r.Asked, r.Statuses)
	}
	path := filepath.Join(p.dir, "a.txt")
	if d := r.Asked[0].Diff; d.Type != "diff" || d.Path != path || d.OldText != "one\ntwo\nthree\n" || d.NewText != "one\nTWO\nthree\n" {
		t.Errorf("%+v", d)
	}
	if len(r.Read) == 0 || r.Read[0] != path {
		t.Errorf("read %v", r.Read)
	}
	if r.Said != "I read it. I change it. And again. That is all." || !strings.Contains(r.Thought, "A look first.") || !strings.Contains(r.Thought, "MCP server x: it ended before it was ready. The agent works without it.") {
		t.Errorf("said %q, thought %q", r.Said, r.Thought)
	}
	if r.Loaded != r.Said || !strings.HasPrefix(r.Person, "louder, please") || !slices.Equal(r.Listed, []bool{true}) {
		t.Errorf("loaded %q, %q, listed %v", r.Loaded, r.Person, r.Listed)
	}
	if r.UnknownMethod.Code != -32601 || r.UnknownSession.Code != -32002 || r.Outside.Code != -32602 {
		t.Errorf("%+v, %+v, %+v", r.UnknownMethod, r.UnknownSession, r.Outside)
	}
	for _, kind := range []string{"agent_message_chunk", "agent_thought_chunk", "available_commands_update", "tool_call", "tool_call_update", "usage_update"} {
		if !slices.Contains(r.Kinds, kind) {
			t.Errorf("no %s: %v", kind, r.Kinds)
		}
	}
}
