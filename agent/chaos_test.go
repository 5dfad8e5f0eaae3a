package agent_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/llmtest"
)

// The model gives random answers, parts fail, and runs are interrupted at random. Every request is valid for a provider, the stored
// session only grows, every call runs at most once, and the conversation can continue. (CTX-3, TRIM-12)
func TestRandomRuns(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			wire := []string{"messages", "chat", "responses"}[seed%3]
			rnd := rand.New(rand.NewPCG(seed, 7))
			var ids atomic.Int64
			r := newRig(t, wire, llmtest.Script{}, anything(t, wire, rand.New(rand.NewPCG(seed, 8)), &ids), func(a *agent.Agent) {
				a.Limits = agent.Limits{Window: 9_000}
				a.MaxTokens, a.MaxTurns = 500, 12
			})
			for i := range 4 {
				r.put(fmt.Sprintf("%d.txt", i), strings.Repeat(fmt.Sprintf("line of file %d\n", i), 100))
			}
			c := r.begin()
			for range 8 {
				check := r.unchanged()
				ctx, cancel := context.WithCancel(t.Context())
				left := rnd.IntN(40)
				prompt := "Go on."
				if rnd.IntN(3) == 0 && c.ID() != "" {
					prompt = ""
				}
				_, _ = c.Run(ctx, textOf(prompt), func(e agent.Event) {
					if left--; left == 0 {
						cancel()
					}
				})
				cancel()
				check()
				switch st := c.State(); rnd.IntN(4) {
				case 0:
					r.again()
					c = r.resume(c.ID())
				case 1:
					if err := c.Rewind(t.Context(), 1+uint64(rnd.IntN(int(st.Last)))); err != nil {
						t.Fatal(err)
					}
				case 2:
					r.put("0.txt", fmt.Sprint(rnd.Int(), "\n"))
				}
			}
			for _, req := range r.server.Requests() {
				accepted(t, req.Decoded)
			}
		})
	}
}

func textOf(text string) []llm.Part {
	if text == "" {
		return nil
	}
	return []llm.Part{{Text: text}}
}

// anything returns random answers.
func anything(t *testing.T, wire string, rnd *rand.Rand, ids *atomic.Int64) handler {
	turn := make(chan struct{}, 1)
	return func(req *llm.Request) (llm.Response, error) {
		turn <- struct{}{}
		defer func() { <-turn }()
		some := func() llm.Part {
			p := call("read_file", fmt.Sprintf(`{"path":"%d.txt"}`, rnd.IntN(5)))
			switch rnd.IntN(6) {
			case 0:
				p = call("edit_file", fmt.Sprintf(`{"path":"%d.txt","edits":[{"old_text":"line","new_text":"row"}]}`, rnd.IntN(4)))
			case 1:
				p = call("write_file", fmt.Sprintf(`{"path":"%d.txt","content":"%d\n"}`, rnd.IntN(4), rnd.Int()))
			case 2:
				p = call("nothing", `{}`)
			case 3:
				p = call("list_files", `{"path":"."}`)
			}
			p.CallID = fmt.Sprintf("call_%d", ids.Add(1))
			return p
		}
		switch n := rnd.IntN(20); {
		case n == 0:
			return llm.Response{}, llmtest.Fault{Status: 500}
		case n == 1:
			return llm.Response{}, llmtest.Fault{Status: 400, Message: "prompt is too long: 9000 tokens > 8000 maximum"}
		case n == 2:
			return say("")
		case n == 3:
			return stops(limitWord[wire], "half of", some(), some())(req)
		case n == 4:
			return stops(refusedWord[wire], "no")(req)
		case n < 8:
			return say("That is all.")
		case n < 12:
			return say("At once.", some(), some(), some())
		}
		return say("Now.", some())
	}
}

// accepted checks the rules of providers: a user's words come first, and every call has exactly one result directly behind it.
func accepted(t *testing.T, req *llm.Request) {
	t.Helper()
	open := map[string]bool{}
	first := true
	for i, m := range req.Messages {
		if m.Role == llm.System {
			continue
		}
		if first && m.Role != llm.User {
			t.Fatalf("the first message is the %s's", m.Role)
		}
		first = false
		if m.Role != llm.Tool && len(open) > 0 {
			t.Fatalf("message %d: calls without a result: %v", i, open)
		}
		for _, p := range m.Parts {
			switch p.Kind {
			case llm.ToolCall:
				open[p.CallID] = true
			case llm.ToolResult:
				if !open[p.CallID] {
					t.Fatalf("message %d: a result of no call: %s", i, p.CallID)
				}
				delete(open, p.CallID)
			}
		}
	}
	if len(open) > 0 {
		t.Fatalf("calls without a result: %v", open)
	}
}
