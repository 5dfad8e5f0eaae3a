package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim/transcript"
)

// The calls of guarded agents since the guard ran last are read from their session files; those of projects that are not guarded are not.
// doctor says since when no guard runs, and uninstall finds the hooks of projects. (GRD-2)
func TestOffSince(t *testing.T) {
	r := newUndoRig(t)
	home := strings.TrimPrefix(r.p.env[0], "HOME=")
	write := func(name string, data []byte) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(home, ".config/stet/config.toml"), []byte("listen = \"127.0.0.1:1\"\n"))
	now := time.Now()
	for _, dir := range []string{r.dir, "/elsewhere"} {
		var b bytes.Buffer
		s := &transcript.Session{ID: filepath.Base(dir), Dir: dir}
		for _, ago := range []time.Duration{2 * time.Hour, time.Minute} {
			id := "toolu_" + filepath.Base(dir) + ago.String()
			s.Messages = append(s.Messages,
				llm.Message{Role: llm.User, Time: now.Add(-ago), Parts: []llm.Part{{Kind: llm.Text, Text: "do it"}}},
				llm.Message{Role: llm.Assistant, Time: now.Add(-ago), Parts: []llm.Part{{Kind: llm.ToolCall, CallID: id, Name: "Bash", Args: `{"command":"rm x"}`}}},
				llm.Message{Role: llm.Tool, Time: now.Add(-ago), Parts: []llm.Part{{Kind: llm.ToolResult, CallID: id, Text: "ok"}}})
		}
		if err := transcript.WriteClaudeCode(&b, s); err != nil {
			t.Fatal(err)
		}
		write(filepath.Join(home, ".claude/projects/"+filepath.Base(dir), s.ID+".jsonl"), b.Bytes())
	}
	if off := r.p.offSince(t.Context(), now.Add(-time.Hour), now); len(off.Calls) != 0 {
		t.Error("no agent is guarded, and these are reported:", off.Calls)
	}
	if code, said := r.stet("guard", "claude", "--project", "--yes"); code != 0 {
		t.Fatal(said)
	}
	off := r.p.offSince(t.Context(), now.Add(-time.Hour), now)
	if len(off.Calls) != 1 || off.Calls[0].Call != "toolu_"+filepath.Base(r.dir)+"1m0s" || off.Calls[0].Dir != r.dir || off.Calls[0].Agent != "claude" {
		t.Error(off.Calls)
	}
	if code, said := r.stet("guard", "claude", "--yes"); code != 0 {
		t.Fatal(said)
	}
	if off := r.p.offSince(t.Context(), now.Add(-time.Hour), now); len(off.Calls) != 2 {
		t.Error(off.Calls)
	}
	if _, said := r.stet("doctor"); !strings.Contains(said, "no guard has ever run") {
		t.Error(said)
	}
	if err := r.p.sayAlive("127.0.0.1:1", now); err != nil {
		t.Fatal(err)
	}
	if _, said := r.stet("doctor"); !strings.Contains(said, "the guard is off since") {
		t.Error(said)
	}
	if code, said := r.stet("uninstall"); code != 0 || strings.Count(said, "the guard's hooks are taken out") != 2 {
		t.Error(code, said)
	}
}
