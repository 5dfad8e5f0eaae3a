package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/cmd/stet/internal/toolset"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/tool"
)

// FILE-11: with suspicion = "roll back", a session that repeatedly tries to leave the workspace is suspended, its writes are
// undone, and the trail records it.
func TestRollBack(t *testing.T) {
	home, tree := t.TempDir(), t.TempDir()
	kept := filepath.Join(tree, "kept.txt")
	if err := os.WriteFile(kept, []byte("as it was\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := &program{out: io.Discard, err: io.Discard, env: []string{"HOME=" + home, "XDG_STATE_HOME=" + home}, dir: tree}
	o, err := p.toolOptions(&config.Config{})
	if err != nil {
		t.Fatal(err)
	}
	o.Rate, o.Suspicion.Do = -1, policy.RollBack
	o.Policy.Unattended, o.Policy.Unread = true, policy.Allow
	h, err := toolset.Open(t.Context(), tree, o)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	call := func(session, name, args string) tool.Result {
		t.Helper()
		r, err := h.Handler.Call(t.Context(), tool.Call{ID: "1", Session: session, Name: name, Arguments: json.RawMessage(args)})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, args := range []string{
		`{"path":"kept.txt","content":"first\n"}`, `{"path":"kept.txt","content":"second\n"}`, `{"path":"new.txt","content":"new\n"}`, `{"path":"theirs.txt","content":"bad\n"}`,
	} {
		if r := call("bad", "write_file", args); r.Failed() {
			t.Fatalf("%s", r.Text)
		}
	}
	theirs := filepath.Join(tree, "theirs.txt")
	if err := os.WriteFile(theirs, []byte("somebody's\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	call("good", "write_file", `{"path":"other.txt","content":"stays\n"}`)
	for range 6 {
		call("bad", "read_file", `{"path":"../../etc/passwd"}`)
	}
	if got, _ := os.ReadFile(kept); string(got) != "as it was\n" {
		t.Errorf("kept.txt holds %q", got)
	}
	if _, err := os.Stat(filepath.Join(tree, "new.txt")); err == nil {
		t.Error("new.txt is still there")
	}
	if got, _ := os.ReadFile(filepath.Join(tree, "other.txt")); string(got) != "stays\n" {
		t.Errorf("another session's file holds %q", got)
	}
	if got, _ := os.ReadFile(theirs); string(got) != "somebody's\n" {
		t.Errorf("what somebody changed since holds %q", got)
	}
	if r := call("bad", "read_file", `{"path":"kept.txt"}`); !r.Failed() || !strings.Contains(r.Text, "suspended") {
		t.Errorf("the session goes on: %s", r.Text)
	}
	writes, err := record.Writes(t.Context(), h.Trail, "bad", 0)
	if err != nil {
		t.Fatal(err)
	}
	undone := 0
	for _, w := range writes {
		if w.Tool == "undo" {
			undone++
		}
	}
	if undone != 2 || len(record.Undoable(writes)) != 1 {
		t.Errorf("%d undoings in the trail, %d writes left", undone, len(record.Undoable(writes)))
	}
}

// FILE-12: a write that was not done, because its process was killed before, has nothing that a roll back leaves behind.
func TestRollBackOfNoWrite(t *testing.T) {
	home, tree := t.TempDir(), t.TempDir()
	p := &program{out: io.Discard, err: io.Discard, env: []string{"HOME=" + home, "XDG_STATE_HOME=" + home}, dir: tree}
	o, err := p.toolOptions(&config.Config{})
	if err != nil {
		t.Fatal(err)
	}
	o.Rate, o.Suspicion.Do = -1, policy.RollBack
	h, err := toolset.Open(t.Context(), tree, o)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	intent := record.Entry{Kind: record.Intent, Time: time.Now(), Root: h.Root.Dir(), Session: "bad", Tool: "write_file", Path: "never.txt", After: strings.Repeat("a", 64)}
	if _, err := h.Handler.Journal.Now(t.Context(), intent); err != nil {
		t.Fatal(err)
	}
	for range 6 {
		c := tool.Call{ID: "1", Session: "bad", Name: "read_file", Arguments: json.RawMessage(`{"path":"../../etc/passwd"}`)}
		if _, err := h.Handler.Call(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Handler.Journal.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	all, err := h.Trail.Entries(t.Context(), record.TrailQuery{Session: "bad", Kinds: []record.Kind{record.Call}, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(e record.Entry) bool { return e.Tool == "roll back" })
	if i < 0 || all[i].Outcome == record.Broke {
		t.Errorf("entry %d of the calls is %+v", i, all[max(i, 0)])
	}
}
