package agent_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/session"
)

// withTasks lets the agent give tasks to a similar agent.
func withTasks(a *agent.Agent) {
	a.Tasks = &agent.Agent{Model: a.Model, Name: a.Name, Tools: a.Tools, Files: a.Files, Store: a.Store, Dir: a.Dir, Prompt: agent.Prompt{System: "You do one task."}}
}

// A task runs in its own session and window; its answer is the result.
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
			t.Fatal("what the task read is in the window of the agent that gave the task")
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

// The usage of tasks is part of the conversation's usage, also in another process.
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

// Each request is counted in one session, at the price of its model. All sessions together are what the conversation has spent,
// also after a compaction and a resume.
func TestTasksPriced(t *testing.T) {
	r := newRig(t, "messages", llmtest.Script{}, func(req *llm.Request) (llm.Response, error) {
		all := texts(req)
		switch {
		case asksForSummary(req):
			return say(goodSummary)
		case strings.Contains(all, "You do one task."):
			return say(strings.Repeat("many words ", 200))
		case strings.Contains(all, "tool: "):
			return say("Both are done.")
		}
		return say("", call(agent.TaskTool, `{"prompt":"one"}`), call(agent.TaskTool, `{"prompt":"another"}`))
	}, func(a *agent.Agent) {
		withTasks(a)
		a.Name, a.Tasks.Name = "o3", "o4-mini"
	})
	check := func(c *agent.Conversation) {
		t.Helper()
		usd, used, sums := 0.0, 0, 0
		models := map[string]bool{}
		for _, i := range r.list() {
			st := session.FoldEvents(i.ID, r.stored(i.ID))
			for _, p := range st.Paid {
				model, _ := prices.Lookup(p.Model)
				cost, _ := model.Cost(p.Used)
				usd += cost
				used += p.Used.Output
				sums -= p.Used.Output
				models[p.Model] = true
			}
			sums += st.Spent.Output
		}
		spent := c.Spent()
		if !spent.Known || usd == 0 || math.Abs(spent.USD-usd) > 1e-9 || spent.Usage.Output != used || sums != 0 || len(models) != 2 {
			t.Fatalf("%+v is spent, and $%f by the sessions, on %v", spent, usd, models)
		}
	}
	c := r.begin()
	r.run(c, "Do them.")
	check(c)
	check(r.resume(c.ID()))
	if err := c.Compact(t.Context(), "", nil); err != nil {
		t.Fatal(err)
	}
	r.run(c, "Do them again.")
	check(c)
	check(r.resume(c.ID()))
	if n := len(r.list()); n != 6 {
		t.Fatalf("%d sessions", n)
	}
}

// A resume counts what a task used after its own compaction, and what the task's tasks used. It does not count a session that was
// forked.
func TestTasksOfTasksSpent(t *testing.T) {
	r := newRig(t, "messages", llmtest.Script{}, says("Yes."), nil)
	from := func(id string, relation session.Relation, used int) *session.Session {
		t.Helper()
		ses, err := session.Create(t.Context(), r.store, session.Opening{Dir: r.dir, From: session.Link{Session: id, Seq: 1, Relation: relation}},
			session.Message{Role: llm.User, Parts: []llm.Part{{Text: "Go."}}}, session.Usage{Model: "o3", Used: llm.Usage{Output: used}})
		if err != nil {
			t.Fatal(err)
		}
		return ses
	}
	first := from("", "", 1)
	task := from(first.ID(), session.Started, 10)
	next, err := task.Compact(t.Context(), session.Title("on"))
	if err != nil {
		t.Fatal(err)
	}
	if err := next.Append(t.Context(), session.Usage{Model: "o4-mini", Used: llm.Usage{Output: 100}}); err != nil {
		t.Fatal(err)
	}
	from(next.ID(), session.Started, 1000)
	from(first.ID(), session.Forked, 10_000)
	if spent := r.resume(first.ID()).Spent(); spent.Usage.Output != 1111 || !spent.Known {
		t.Fatalf("%+v", spent)
	}
}

// Interrupting a conversation interrupts its tasks.
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
