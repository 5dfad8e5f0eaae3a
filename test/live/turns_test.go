package live

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim"
	"github.com/stet-dev/stet/trim/transcript"
)

// builds is a session that builds 40 targets, one every 20 seconds. Each answer comes from the model of its turn.
func builds(model func(turn int) string) *transcript.Session {
	s := &transcript.Session{Dir: "/home/me/project"}
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	add := func(role llm.Role, model string, p llm.Part) {
		s.Messages = append(s.Messages, llm.Message{Role: role, Model: model, Time: at, Parts: []llm.Part{p}})
		at = at.Add(10 * time.Second)
	}
	add(llm.User, "", llm.Part{Text: "build all of it"})
	for i := range 40 {
		id := fmt.Sprint("call_", i)
		add(llm.Assistant, model(i), llm.Part{Kind: llm.ToolCall, CallID: id, Name: "Bash", Args: fmt.Sprintf(`{"command":"make t%d"}`, i)})
		var out strings.Builder
		for n := range 60 {
			fmt.Fprintf(&out, "t%d: step %d is done\n", i, n)
		}
		add(llm.Tool, "", llm.Part{Kind: llm.ToolResult, CallID: id, Text: out.String()})
	}
	add(llm.Assistant, model(40), llm.Part{Text: "done"})
	return s
}

// say adds a message of the user, after a pause, and an answer.
func say(s *transcript.Session, after time.Duration, text string) {
	last := &s.Messages[len(s.Messages)-1]
	at := time.Time{}
	for i := range s.Messages {
		if s.Messages[i].Time.After(at) {
			at = s.Messages[i].Time
		}
	}
	at = at.Add(after)
	s.Messages = append(s.Messages,
		llm.Message{Role: llm.User, Time: at, Parts: []llm.Part{{Text: text}}},
		llm.Message{Role: llm.Assistant, Model: last.Model, Time: at.Add(10 * time.Second), Parts: []llm.Part{{Text: "did it"}}})
}

// TRIM-17: a prompt at a cold point is taken back and another one is sent, and models take turns: neither costs more than without
// stet.
func TestLiveTurns(t *testing.T) {
	one := func(int) string { return "one" }
	retyped := builds(one)
	n := len(retyped.Messages)
	say(retyped, time.Hour, "now the first thing")
	start := len(retyped.Messages)
	retyped.Starts = []int{start}
	for i, m := range retyped.Messages[:n] {
		if m.Role == llm.Assistant {
			retyped.Carried = append(retyped.Carried, start+i)
		}
		retyped.Messages = append(retyped.Messages, m)
	}
	say(retyped, 20*time.Second, "no, the second thing")
	for name, s := range map[string]*transcript.Session{
		"taken back": retyped,
		"in turns":   builds(func(turn int) string { return []string{"one", "two"}[turn%2] }),
		"in fives":   builds(func(turn int) string { return []string{"one", "two"}[turn/5%2] }),
	} {
		asked := requests(s)
		for _, policy := range []trim.Policy{trim.Lossless, trim.Adaptive} {
			t.Run(name+" "+string(policy), func(t *testing.T) {
				var off, with *upstream
				synctest.Test(t, func(t *testing.T) { off = through(t, s, trim.Off, asked) })
				synctest.Test(t, func(t *testing.T) { with = through(t, s, policy, asked) })
				t.Logf("%.0f, %+.2f %%", with.cost, 100*(with.cost/off.cost-1))
				if with.cost > off.cost*(1+1e-9) {
					t.Errorf("%.0f instead of %.0f", with.cost, off.cost)
				}
			})
		}
	}
}
