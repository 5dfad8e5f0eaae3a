package agent_test

import (
	"strings"
	"testing"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/llmtest"
)

// The loop over each wire format: the model reads, edits and answers. The conversation is stored, and continues in another process.
func TestLoop(t *testing.T) {
	overWires(t, func(t *testing.T, wire string) {
		r := newRig(t, wire, llmtest.Script{Turns: []llmtest.Turn{
			llmtest.Say("I read it.", llmtest.Call("read_file", `{"path":"a.txt"}`)),
			llmtest.Say("I change it.", llmtest.Call("edit_file", `{"path":"a.txt","edits":[{"old_text":"one","new_text":"two"}]}`)),
			llmtest.Say("It is changed."),
			llmtest.Say("It says two."),
		}}, nil, nil)
		r.put("a.txt", "one\n")
		c := r.begin()
		if c.ID() != "" {
			t.Fatalf("a session is stored before anything was said: %s", c.ID())
		}
		out := r.run(c, "Make it two.")
		if out.End != agent.Done || out.Text != "It is changed." || out.Turns != 3 || out.Stop != llm.StopDone || out.Usage.Output == 0 {
			t.Fatalf("%+v", out)
		}
		if got := r.get("a.txt"); got != "two\n" {
			t.Fatalf("a.txt is %q", got)
		}
		if n := len(r.told(agent.CallEnds)); n != 2 {
			t.Fatalf("%d calls ended", n)
		}
		r.again()
		c = r.resume(c.ID())
		if out := r.run(c, "What does it say?"); out.Text != "It says two." {
			t.Fatalf("%+v", out)
		}
		if r.in("was changed by somebody else") != 0 {
			t.Fatal("the agent's own edit is taken for somebody else's:\n" + texts(r.sent()))
		}
		if got := roles(c.State().Messages); got != "user assistant tool assistant tool assistant user assistant" {
			t.Fatal(got)
		}
		if s := c.Spent(); s.Usage.Output == 0 || s.Known {
			t.Fatalf("%+v", s)
		}
		if f := c.Fill(); f.Used == 0 || f.Limit == 0 || len(f.Shares) < 4 || f.Tools == 0 {
			t.Fatalf("%+v", f)
		}
	})
}

func roles(messages []llm.Message) string {
	var out []string
	for _, m := range messages {
		out = append(out, string(m.Role))
	}
	return strings.Join(out, " ")
}
