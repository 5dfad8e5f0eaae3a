package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/session"
)

// withTasks lets the agent give tasks to one that is like it.
func withTasks(a *agent.Agent) {
	a.Tasks = &agent.Agent{Model: a.Model, Name: a.Name, Tools: a.Tools, Files: a.Files, Store: a.Store, Dir: a.Dir, Prompt: agent.Prompt{System: "You do one task."}}
}

// A task is done in a session and a window of its own; its answer is the
// result.
func TestTasks(t *testing.T) {
	overWires(t, func(t *testing.T, wire string) {
		r := newRig(t, wire, llmtest.Script{}, func(req *llm.Request) (llm.Response, error) {
			all := texts(req)
			switch {
			case strings.Contains(all, "You do one task.") && strings.Contains(all, "user: find the "):
				if strings.Contains(all, "tool: ") {
					return say("Found by " + all[strings.Index(all, "user: find the "):][:20])
				}
				return say("", call("read_file", `{"path":"a.txt"}`))
			case strings.Contains(all, "tool: "):
				return say("Both are found.")
			}
			return say("I give it away.", call(agent.TaskTool, `{"prompt":"find the apple"}`), call(agent.TaskTool, `{"prompt":"find the berry"}`), call(agent.TaskTool, `{}`))
		}, withTasks)
		r.put("a.txt", "apple\n")
		c := r.begin()
		if out := r.run(c, "Find them."); out.Text != "Both are found." || out.Turns != 2 {
			t.Fatalf("%+v", out)
		}
		for _, want := range []string{"Found by user: find the apple", "Found by user: find the berry", "prompt is missing"} {
			if r.in(want) != 1 {
				t.Fatal(texts(r.sent()))
			}
		}
		if r.in(`"content":"apple`) != 0 {
			t.Fatal("what the task read stands in the window of who gave it")
		}
		subs, err := r.store.List(t.Context(), session.Query{Parent: c.ID()})
		if err != nil || len(subs) != 2 || subs[0].From.Relation != session.Started {
			t.Fatalf("%+v, %v", subs, err)
		}
		open, err := r.store.List(t.Context(), session.Query{Open: true})
		if err != nil || len(open) != 1 {
			t.Fatalf("%d open sessions, %v", len(open), err)
		}
		tasks := map[string]bool{}
		for _, e := range r.events {
			tasks[e.Task] = true
		}
		if len(tasks) != 3 {
			t.Fatalf("events of %v", tasks)
		}
	})
}

// What tasks use is what the conversation uses, in another process too.
func TestTasksSpent(t *testing.T) {
	r := newRig(t, "messages", llmtest.Script{}, func(req *llm.Request) (llm.Response, error) {
		all := texts(req)
		switch {
		case strings.Contains(all, "You do one task."):
			return say(strings.Repeat("many words ", 200))
		case strings.Contains(all, "tool: "):
			return say("Both are done.")
		}
		return say("", call(agent.TaskTool, `{"prompt":"one"}`), call(agent.TaskTool, `{"prompt":"another"}`))
	}, withTasks)
	c := r.begin()
	out := r.run(c, "Do them.")
	var all, own int
	for _, e := range r.told(agent.Answered) {
		all += e.Usage.Output
		if e.Task == "" {
			own += e.Usage.Output
		}
	}
	if again := r.resume(c.ID()).Spent(); out.Usage.Output != all || c.Spent().Usage.Output != all || again.Usage != c.Spent().Usage || all < 10*own {
		t.Fatalf("the run used %d, the conversation %d, resumed %d; of all %d, its own %d", out.Usage.Output, c.Spent().Usage.Output, again.Usage.Output, all, own)
	}
	if c.State().Context.Output > own {
		t.Fatalf("what tasks used fills the window: %+v", c.State().Context)
	}
}

// Whoever interrupts a conversation interrupts its tasks.
func TestTaskInterrupted(t *testing.T) {
	r := newRig(t, "chat", llmtest.Script{}, func(req *llm.Request) (llm.Response, error) {
		if strings.Contains(texts(req), "You do one task.") {
			return say(strings.Repeat("very slowly ", 100))
		}
		return say("", call(agent.TaskTool, `{"prompt":"count"}`))
	}, withTasks)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := r.begin()
	_, err := c.Run(ctx, []llm.Part{{Text: "Go."}}, func(e agent.Event) {
		if e.Kind == agent.Asking && e.Task == "" {
			r.server.Fail(llmtest.Fault{}, llmtest.Fault{PauseAfter: 4, Pause: 3600e9})
		}
		if e.Kind == agent.Piece && e.Task != "" && e.Piece.Kind == llm.TextDelta {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if got := roles(r.resume(c.ID()).State().Messages); got != "user assistant tool" {
		t.Fatal(got)
	}
}
