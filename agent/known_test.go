package agent_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/files/freshness"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/tool"
)

// named records the client sessions of calls.
type named struct {
	tool.Caller
	sessions []string
}

func (n *named) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	n.sessions = append(n.sessions, c.Session)
	return n.Caller.Call(ctx, c)
}

// A conversation calls its tools under its first session's name, also after compactions and in another process. Grants and undo
// depend on this name.
func TestClientSession(t *testing.T) {
	list := call("list_files", `{"path":"."}`)
	n := 0
	calls := new(named)
	r := newRig(t, "chat", llmtest.Script{}, func(req *llm.Request) (llm.Response, error) {
		if asksForSummary(req) {
			return say("Listed.")
		}
		if n++; n%2 == 1 {
			return say("I look at what is here, and say so at some length.", list)
		}
		return say("I have seen what is here, and say so at some length.")
	}, func(a *agent.Agent) {
		calls.Caller = a.Tools
		a.Tools = calls
	})
	c := r.begin()
	var ids []string
	for range 2 {
		r.run(c, "List what is here, and take your time.")
		ids = append(ids, c.ID())
		if err := c.Compact(t.Context(), "", nil); err != nil {
			t.Fatal(err)
		}
	}
	c = r.resume(c.ID())
	r.run(c, "List again.")
	if ids[0] == ids[1] || !slices.Equal(calls.sessions, []string{ids[0], ids[0], ids[0]}) {
		t.Fatalf("sessions %v, calls in the name of %v", ids, calls.sessions)
	}
}

// A compaction keeps the order in which files were used: the next compaction attaches the right ones. (CTX-9)
func TestOrderAfterCompaction(t *testing.T) {
	r := newRig(t, "messages", llmtest.Script{}, turns(
		says("", call("read_file", `{"path":"0.txt"}`)), says("", call("read_file", `{"path":"1.txt"}`)),
		says("", call("write_file", `{"path":"2.txt","content":"2\n"}`)), says("", call("read_file", `{"path":"3.txt"}`)),
		says("", call("read_file", `{"path":"4.txt"}`)), says("", call("read_file", `{"path":"5.txt"}`)),
		says("", call("read_file", `{"path":"6.txt"}`)), says("", call("read_file", `{"path":"1.txt"}`)),
		says("", call("read_file", `{"path":"7.txt"}`)), says("Read."), says("Files were read."),
	), nil)
	for i := range 8 {
		r.put(fmt.Sprintf("%d.txt", i), fmt.Sprintf("file %d\n", i))
	}
	c := r.begin()
	r.run(c, "Read.")
	order := func() (names []string) {
		for _, f := range r.tools.Tracker(r.list()[len(r.list())-1].ID).Files() {
			names = append(names, f.Path)
		}
		return names
	}
	want := []string{"7.txt", "1.txt", "6.txt", "5.txt", "4.txt", "3.txt", "2.txt", "0.txt"}
	if got := order(); !slices.Equal(got, want) {
		t.Fatal(got)
	}
	if err := c.Compact(t.Context(), "", nil); err != nil {
		t.Fatal(err)
	}
	if got := order(); !slices.Equal(got, want) {
		t.Fatalf("after a compaction: %v", got)
	}
}

// A file that a compaction does not attach is no longer in view: the agent must read it before it overwrites it, also in another
// process. An attached file is known. (CTX-4)
func TestNotAttachedIsNotKnown(t *testing.T) {
	for _, again := range []bool{false, true} {
		var script []func(*llm.Request) (llm.Response, error)
		for i := range 7 {
			script = append(script, says("", call("read_file", fmt.Sprintf(`{"path":"%d.txt"}`, i))))
		}
		script = append(script, says("Read."), says("Files were read."),
			says("", call("write_file", `{"path":"0.txt","content":"new\n"}`)), says("", call("write_file", `{"path":"6.txt","content":"new\n"}`)))
		r := newRig(t, "messages", llmtest.Script{}, turns(script...), nil)
		for i := range 7 {
			r.put(fmt.Sprintf("%d.txt", i), fmt.Sprintf("file %d\n", i))
		}
		c := r.begin()
		r.run(c, "Read.")
		if err := c.Compact(t.Context(), "", nil); err != nil {
			t.Fatal(err)
		}
		if again {
			r.again()
			c = r.resume(c.ID())
		}
		person := new(noted)
		r.asks.Approver = person
		r.run(c, "Write.")
		if asked := person.asked; len(asked) != 2 || !slices.Equal(asked[0].Notes, []tool.Note{tool.PartRead}) || len(asked[1].Notes) != 0 {
			t.Fatalf("again %v: %+v", again, asked)
		}
	}
}

// A check of a file on disk that found no change is remembered, but not stored.
func TestLooksAreNotStored(t *testing.T) {
	r := newRig(t, "chat", llmtest.Script{}, turns(says("", call("read_file", `{"path":"a.txt"}`)), says("Read.")), nil)
	r.put("a.txt", "one\n")
	c := r.begin()
	r.run(c, "Read.")
	touched := time.Now().Add(-time.Hour).Truncate(time.Second)
	if err := os.Chtimes(filepath.Join(r.dir, "a.txt"), touched, touched); err != nil {
		t.Fatal(err)
	}
	r.run(c, "Well?")
	r.run(c, "Well?")
	f, _ := r.tools.Tracker(c.ID()).File("a.txt", workspace.Stamp{})
	if f.Stamp.Mtime != touched.UnixNano() {
		t.Fatalf("the file was not checked: %+v", f)
	}
	for _, e := range r.stored(c.ID()) {
		if o, ok := e.Body.(session.File); ok && o.Kind == freshness.Seen {
			t.Errorf("event %d: %+v", e.Seq, o)
		}
	}
}
