package agent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/session"
)

// begins returns the beginning of the conversation, without attached files.
func begins(st session.State) string {
	var all []string
	for _, p := range st.Messages[0].Parts {
		if !strings.Contains(p.Text, "The file as it is on disk now") {
			all = append(all, p.Text)
		}
	}
	return strings.Join(all, "\n")
}

// holding begins a conversation with stored events.
func (r *rig) holding(said ...session.Body) *agent.Conversation {
	r.t.Helper()
	ses, err := session.Create(r.t.Context(), r.store, session.Opening{Dir: r.dir}, said...)
	if err != nil {
		r.t.Fatal(err)
	}
	return r.resume(ses.ID())
}

func message(role llm.Role, parts ...llm.Part) session.Message {
	return session.Message{Role: role, Parts: parts}
}

func text(s string) llm.Part { return llm.Part{Text: s} }

// After any number of compactions, the person's words are unchanged, and earlier summaries are not mistaken for them. (CTX-4)
func TestTwoCompactions(t *testing.T) {
	overWires(t, func(t *testing.T, wire string) {
		n := 0
		r, _ := long(t, wire, 14, func(*llm.Request) (llm.Response, error) {
			n++
			return say(fmt.Sprintf("Summary number %d: files were read.", n))
		})
		const wish = "Read the files, then bring the plan up to date; never touch zebra.txt."
		r.run(r.begin(), wish)
		done := r.told(agent.Compacted)
		if len(done) < 2 {
			t.Fatalf("%d compactions", len(done))
		}
		for i, e := range done {
			ses, err := session.Resume(t.Context(), r.store, e.To)
			if err != nil {
				t.Fatal(err)
			}
			all := begins(ses.State())
			if strings.Count(all, wish) != 1 || strings.Count(all, "Summary number") != 1 || !strings.Contains(all, fmt.Sprintf("Summary number %d:", i+1)) {
				t.Errorf("compaction %d begins with\n%s", i+1, all)
			}
		}
	})
}

// Unanswered messages are carried over through several compactions in a row; the old summaries are not.
func TestUnansweredTwice(t *testing.T) {
	n := 0
	r := newRig(t, "chat", llmtest.Script{}, func(*llm.Request) (llm.Response, error) {
		n++
		return say(fmt.Sprintf("Summary %d.", n))
	}, nil)
	c := r.holding(
		message(llm.User, text("The first thing to do, at some length.")), message(llm.Assistant, text("It is done, at some length too.")),
		message(llm.User, text("The wish without an answer.")),
	)
	for i := range 3 {
		if err := c.Compact(t.Context(), "", nil); err != nil {
			t.Fatal(err)
		}
		st := c.State()
		if roles(st.Messages) != "user user" || st.Messages[1].Parts[0].Text != "The wish without an answer." ||
			!strings.Contains(begins(st), fmt.Sprintf("Summary %d.", i+1)) {
			t.Fatalf("compaction %d: %+v", i+1, st.Messages)
		}
	}
}

// The newest calls are carried over with their results and the prompt that they belong to.
func TestTailOfCalls(t *testing.T) {
	overWires(t, func(t *testing.T, wire string) {
		r := newRig(t, wire, llmtest.Script{}, says("A summary."), nil)
		c := r.holding(
			message(llm.User, text("The wish.")),
			message(llm.Assistant, text("I read at some length, one file after the other."), llm.Part{Kind: llm.ToolCall, CallID: "c1", Name: "read_file", Args: `{"path":"a"}`}),
			message(llm.Tool, llm.Part{Kind: llm.ToolResult, CallID: "c1", Text: "the first result"}),
			message(llm.Assistant, text("And the next."), llm.Part{Kind: llm.ToolCall, CallID: "c2", Name: "read_file", Args: `{"path":"b"}`}),
			message(llm.Tool, llm.Part{Kind: llm.ToolResult, CallID: "c2", Text: "the newest result"}),
		)
		for range 2 {
			if err := c.Compact(t.Context(), "", nil); err != nil {
				t.Fatal(err)
			}
			st := c.State()
			if roles(st.Messages) != "user assistant tool" || st.Messages[1].Parts[1].CallID != "c2" || st.Messages[2].Parts[0].Text != "the newest result" {
				t.Fatalf("%+v", st.Messages)
			}
			if strings.Count(begins(st), "The wish.") != 1 {
				t.Fatal(begins(st))
			}
		}
		r.run(c, "")
		if r.in("the newest result") != 1 || r.in("the first result") != 0 {
			t.Fatal(texts(r.sent()))
		}
	})
}

// After a cut-off answer the prompt counts as unanswered: it is carried over, with the end of the answer if that is short. An
// answered prompt is not asked again.
func TestCutOffThenCompact(t *testing.T) {
	answer := strings.Repeat("I begin with the work and think of many things. ", 50)
	for name, c := range map[string]struct {
		answer, roles string
		window        int
	}{
		"short": {answer, "user assistant system", 0},
		"long":  {answer, "user", 5000},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "messages", llmtest.Script{}, says("A summary."), func(a *agent.Agent) { a.Limits.Window = c.window })
			ask := message(llm.User, text("The wish, not done."))
			note := message(llm.System, text("The answer was cut off: context canceled"))
			note.Local = true
			talk := r.holding(ask, message(llm.Assistant, text(c.answer)), note)
			for range 2 {
				if err := talk.Compact(t.Context(), "", nil); err != nil {
					t.Fatal(err)
				}
				if st := talk.State(); strings.Count(begins(st), "The wish, not done.") != 1 || roles(st.Messages) != c.roles {
					t.Fatalf("%s\n%s", roles(st.Messages), begins(st))
				}
			}
			if out := r.run(talk, ""); out.Turns != 1 {
				t.Fatalf("%+v", out)
			}
			if want := strings.Count(c.roles, "assistant"); r.in("Your last answer was cut off") != want {
				t.Fatal(texts(r.sent()))
			}
			talk = r.holding(ask, message(llm.Assistant, text(c.answer)))
			if err := talk.Compact(t.Context(), "", nil); err != nil {
				t.Fatal(err)
			}
			if st := talk.State(); strings.Contains(begins(st), "The wish") || roles(st.Messages) != "user" {
				t.Fatal("what was answered is taken along:\n" + begins(st))
			}
		})
	}
}
