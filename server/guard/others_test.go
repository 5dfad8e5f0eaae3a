package guard

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/files/snapshot"
	"github.com/stet-dev/stet/record"
)

func (r *rig) log(e record.Entry) {
	r.t.Helper()
	e.Time, e.Root = time.Now(), r.dir
	if _, err := r.trail.Log(r.t.Context(), e); err != nil {
		r.t.Fatal(err)
	}
}

// What a person's undo and stet's own tools write while a command runs is not counted to the command. (GRD-3)
func TestUndoDuringCall(t *testing.T) {
	r := newRig(t)
	e, _ := r.before("rm src/b.txt; echo more >> a.txt")
	if err := os.Remove(filepath.Join(r.dir, "src/b.txt")); err != nil {
		t.Fatal(err)
	}
	r.write("a.txt", "a\nmore\n")
	e.Kind = After
	r.handle(e)
	first, err := snapshot.Load(r.store, r.entries()[0].After)
	if err != nil {
		t.Fatal(err)
	}
	e, _ = r.before("touch c; make")
	r.write("c", "")
	back, err := snapshot.Prepare(t.Context(), r.dir, r.store, first.Changes)
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	did, err := back.Apply(t.Context(), func(snapshot.Step) bool { return true })
	if err != nil || len(did) != 2 {
		t.Fatal(did, err)
	}
	sum, err := snapshot.Result{Changes: did}.Save(r.store)
	if err != nil {
		t.Fatal(err)
	}
	r.log(record.Entry{Kind: record.Changed, Client: UndoClient, Session: UndoClient, Tool: "undo", After: sum})
	r.write("tool.txt", "by a tool\n")
	hash, err := r.store.Put([]byte("by a tool\n"))
	if err != nil {
		t.Fatal(err)
	}
	r.log(record.Entry{Kind: record.Intent, Session: "stdio-1", Tool: "write_file", Path: "tool.txt", After: hash})
	e.Kind = After
	r.handle(e)
	if got := fmt.Sprintf("%q", r.changed()); got != `["a.txt src/b.txt" "a.txt src/b.txt" "c"]` {
		t.Error(got)
	}
}

// While an undo writes files, the guard does not read what a command has changed.
func TestHold(t *testing.T) {
	r := newRig(t)
	e, _ := r.before("touch c")
	r.write("c", "")
	release := r.store.Hold(t.Context())
	var restored atomic.Bool
	done := make(chan bool)
	go func() {
		e.Kind = After
		r.handle(e)
		done <- restored.Load()
	}()
	restored.Store(true)
	release()
	if !<-done {
		t.Error("the changes were looked at")
	}
}

// A call of stet's own tools is one record. Another MCP server of that name is recorded as any other, and a rule that denies is for it, too. (GRD-3)
func TestOwnTools(t *testing.T) {
	r := newRig(t, rule(t, policy.Deny, "", "secret/**", ""))
	if a := r.handle(Event{Kind: Before, Call: "denied", Tool: "mcp__stet__write_file", Input: json.RawMessage(`{"path":"secret/a","content":""}`)}); a.Action != policy.Deny || !a.Decided {
		t.Error(a)
	}
	call := func(id, tool, text string, do func()) {
		e := Event{Kind: Before, Call: id, Tool: "mcp__stet__" + tool, Input: json.RawMessage(text)}
		if a := r.handle(e); a.Decided {
			t.Error(a)
		}
		do()
		e.Kind = After
		r.handle(e)
	}
	call("own read", "read_file", `{"path":"a.txt"}`, func() { r.log(record.Entry{Kind: record.Call, Session: "stdio-1", Tool: "read_file"}) })
	call("own write", "write_file", `{"path":"a.txt","content":"x"}`, func() {
		r.write("a.txt", "x")
		r.write("person.txt", "while stet asked")
		r.log(record.Entry{Kind: record.Intent, Session: "stdio-1", Tool: "write_file", Path: "a.txt"})
	})
	call("other write", "write_file", `{"path":"b.txt","content":"x"}`, func() { r.write("b.txt", "x") })
	call("other read", "read_file", `{"path":"a.txt"}`, func() {})
	if len(r.ended) != 4 {
		t.Fatal(len(r.ended))
	}
	if err := r.settleOwn(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range r.entries() {
		if e.Client == "agent" {
			got = append(got, fmt.Sprint(e.Kind, " ", e.CallID))
		}
	}
	if strings.Join(got, ", ") != "call denied, changed other write, call other read" {
		t.Error(got)
	}
}
