package agent_test

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store/sqlite"
	"github.com/stet-dev/stet/trim"
)

// unchanged returns a function that checks that all events stored now are still stored.
func (r *rig) unchanged() func() {
	r.t.Helper()
	was := map[string][]session.Event{}
	for _, i := range r.list() {
		was[i.ID] = r.stored(i.ID)
	}
	return func() {
		r.t.Helper()
		for id, events := range was {
			if now := r.stored(id); len(now) < len(events) || !reflect.DeepEqual(events, now[:len(events)]) {
				r.t.Errorf("session %s is not what was stored", id)
			}
		}
	}
}

func (r *rig) list() []session.Info {
	r.t.Helper()
	all, err := r.store.List(context.Background(), session.Query{})
	if err != nil {
		r.t.Fatal(err)
	}
	return all
}

func (r *rig) stored(id string) []session.Event {
	r.t.Helper()
	events, damaged, err := r.store.Events(context.Background(), id, 0)
	if err != nil || len(damaged) > 0 {
		r.t.Fatal(err, damaged)
	}
	return events
}

// In whichever way a request is made, the same repeated text is left out of it, and the stored session is unchanged. (TRIM-12,
// TRIM-1)
func TestTrimmedInEveryWay(t *testing.T) {
	const pointer = "unchanged: shown above by"
	overWires(t, func(t *testing.T, wire string) {
		read := llmtest.Call("read_file", `{"path":"a.txt"}`)
		script := llmtest.Script{Turns: []llmtest.Turn{
			llmtest.Say("I read.", read), llmtest.Say("Read once."),
			llmtest.Say("Again.", read), llmtest.Say("Read twice."),
		}}
		store, err := sqlite.OpenSessions(t.Context(), filepath.Join(t.TempDir(), "stet.db"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		r := newRig(t, wire, script, nil, func(a *agent.Agent) { a.Store = store })
		r.store = store
		var b strings.Builder
		for i := range 200 {
			fmt.Fprintf(&b, "line %d of the file that is read %x\n", i, i*7919)
		}
		r.put("a.txt", b.String())
		c := r.begin()
		r.run(c, "Read.")
		before := c.State().Last
		r.run(c, "Read it again.")

		// A normal turn.
		if r.in(pointer) != 1 {
			t.Fatal("the repeat was sent")
		}
		normal := r.server.Requests()
		size := 0
		for _, m := range c.State().Messages {
			for _, p := range m.Parts {
				if p.Kind == llm.ToolResult && strings.Contains(p.Text, "line 199 of") {
					size++
				}
			}
		}
		if size != 2 {
			t.Fatalf("%d whole reads are stored", size)
		}

		// A resume of the newest session, and of one chosen from a list.
		check := r.unchanged()
		latest, err := session.Latest(t.Context(), r.store, r.dir)
		if err != nil || latest.ID != c.ID() || r.list()[0].ID != c.ID() {
			t.Fatal(latest, err)
		}
		r.again()
		c = r.resume(latest.ID)
		r.run(c, "Well?")
		if r.in(pointer) != 1 || !strings.HasPrefix(texts(r.sent()), texts(normal[len(normal)-1].Decoded)) {
			t.Fatal("a resume sends something else than was sent")
		}
		check()

		// A rewind, here and in another process: the same prompt makes the same request.
		check = r.unchanged()
		if err := c.Rewind(t.Context(), before); err != nil {
			t.Fatal(err)
		}
		r.again()
		r.run(r.resume(c.ID()), "Read it again.")
		after := r.server.Requests()
		for i := 1; i <= 2; i++ {
			if string(after[len(after)-i].Body) != string(normal[len(normal)-i].Body) {
				t.Fatal("after a rewind the same words make another request")
			}
		}
		check()

		// A compaction, and a resume of the old session after it.
		check = r.unchanged()
		c = r.resume(c.ID())
		old := c.ID()
		if err := c.Compact(t.Context(), "", nil); err != nil {
			t.Fatal(err)
		}
		check()
		c = r.resume(old)
		if c.ID() == old {
			t.Fatal("the old session goes on")
		}
		r.run(c, "Read it again.")
		check()
	})
}

// At a cold point unneeded results are left out; while the cache is warm, they stay. Both depend only on what is stored, so the
// next process does the same.
func TestColdPoints(t *testing.T) {
	overWires(t, func(t *testing.T, wire string) {
		for _, c := range []struct {
			name   string
			pause  time.Duration
			model  string
			leaves bool
		}{
			{"at once", time.Minute, "scripted", false},
			{"after a pause", 6 * time.Minute, "scripted", true},
			{"another model", time.Minute, "other", true},
		} {
			t.Run(c.name, func(t *testing.T) {
				r := newRig(t, wire, llmtest.Script{}, says("Fine."), func(a *agent.Agent) { a.Engine.Policy = trim.Adaptive })
				at := time.Now().Add(-c.pause - 10*time.Second)
				message := func(role llm.Role, parts ...llm.Part) session.Message {
					at = at.Add(time.Second)
					return session.Message{Role: role, Parts: parts, Time: at, Model: c.model}
				}
				var bodies []session.Body
				bodies = append(bodies, message(llm.User, llm.Part{Text: "Look around."}))
				for i := range 8 {
					id := fmt.Sprintf("c%d", i)
					bodies = append(bodies,
						message(llm.Assistant, llm.Part{Kind: llm.ToolCall, CallID: id, Name: "Bash", Args: `{"command":"make"}`}),
						message(llm.Tool, llm.Part{Kind: llm.ToolResult, CallID: id, Text: listing(i)}))
				}
				bodies = append(bodies, message(llm.Assistant, llm.Part{Text: "I see."}))
				ses, err := session.Create(t.Context(), r.store, session.Opening{Dir: r.dir}, bodies...)
				if err != nil {
					t.Fatal(err)
				}
				r.run(r.resume(ses.ID()), "Go on.")
				first := texts(r.sent())
				if left := strings.Contains(first, "output of an older command left out"); left != c.leaves {
					t.Fatalf("left out: %v\n%s", left, first)
				}
				r.again()
				r.run(r.resume(ses.ID()), "And on.")
				if !strings.HasPrefix(texts(r.sent()), first) {
					t.Fatal("the next process sends something else than was sent")
				}
			})
		}
	})
}

// listing returns a long output of a command.
func listing(n int) string {
	var names []string
	for i := range 60 {
		names = append(names, fmt.Sprintf("src/file_%d_%d.go", n, i))
	}
	return fmt.Sprintf(`{"success":true,"content":"%s"}`, strings.Join(names, `\n`))
}

// The cache is marked at the last cold point and at the ends of the newest requests.
func TestCacheMarks(t *testing.T) {
	r := newRig(t, "messages", llmtest.Script{Turns: []llmtest.Turn{
		llmtest.Say("", llmtest.Call("list_files", `{"path":"."}`)),
		llmtest.Say("", llmtest.Call("find_files", `{"pattern":"*.go"}`)),
		llmtest.Say("", llmtest.Call("find_files", `{"pattern":"*.md"}`)),
	}}, nil, nil)
	r.run(r.begin(), "Look.")
	got := strings.Count(string(r.server.Requests()[3].Body), `"cache_control":{"type":"ephemeral"}`)
	if got != 4 { // system, the first request, the request before, and this one
		t.Fatalf("%d marks in %s", got, r.server.Requests()[3].Body)
	}
}
