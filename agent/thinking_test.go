package agent_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
	"github.com/stet-dev/stet/llm/endpoint"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/test/strictmodel"
	"github.com/stet-dev/stet/tool"
	"github.com/stet-dev/stet/trim"
)

// lister has one tool, whose result for the same place is different each time.
type lister struct{ calls int }

func (*lister) Specs() []tool.Spec {
	return []tool.Spec{{Name: "list_files", Schema: []byte(`{"type":"object"}`), ReadOnly: true}}
}

func (l *lister) Call(_ context.Context, c tool.Call) (tool.Result, error) {
	l.calls++
	return tool.Result{CallID: c.ID, Text: listing(l.calls)}, nil
}

// WIRE-1, WIRE-2: the provider refuses no request of our own agent because of bound thinking: after a pause, a resume with another
// system text, a fork, a rewind, a compaction or another model, or when messages had to be left out to fit. Thinking that was left
// out while a model did not check it stays out.
func TestBoundThinking(t *testing.T) {
	for name, test := range map[string]func(a *agent.Agent, run func(c *agent.Conversation) *agent.Conversation){
		"a pause": func(a *agent.Agent, run func(c *agent.Conversation) *agent.Conversation) {
			c := run(nil)
			time.Sleep(310 * time.Second)
			run(run(c))
		},
		"a fork and a rewind": func(a *agent.Agent, run func(c *agent.Conversation) *agent.Conversation) {
			c := run(nil)
			was := c.State().Last
			run(c)
			time.Sleep(310 * time.Second)
			fork, err := c.Fork(context.Background(), was)
			if err != nil {
				t.Fatal(err)
			}
			run(fork)
			if err := c.Rewind(context.Background(), was); err != nil {
				t.Fatal(err)
			}
			run(run(c))
		},
		"a compaction": func(a *agent.Agent, run func(c *agent.Conversation) *agent.Conversation) {
			c := run(run(nil))
			if err := c.Compact(context.Background(), "", nil); err != nil {
				t.Fatal(err)
			}
			time.Sleep(310 * time.Second)
			run(run(c))
		},
		"a small window": func(a *agent.Agent, run func(c *agent.Conversation) *agent.Conversation) {
			a.Limits, a.MaxTokens = agent.Limits{Window: 9000, Compact: -1, Reserve: 100}, 500
			c := run(nil)
			for range 4 {
				c = run(c)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := new(llmtest.Memory)
				server, err := strictmodel.Start(llmtest.Config{Listener: network, Handler: func(req *llm.Request) (llm.Response, error) {
					parts := []llm.Part{{Kind: llm.Thinking, Text: "hm"}, {Text: "A summary."}}
					last := req.Messages[len(req.Messages)-1]
					n := 0
					for _, m := range req.Messages {
						if m.Role == llm.Tool {
							n++
						}
					}
					if asked := last.Role == llm.User && !strings.Contains(last.Parts[len(last.Parts)-1].Text, agent.SummaryAsked); asked || n%4 != 0 {
						parts = append(parts, llm.Part{Kind: llm.ToolCall, CallID: fmt.Sprintf("call_%d_%d", n, len(req.Messages)), Name: "list_files", Args: `{"path":"src"}`})
					}
					return llm.Response{Message: llm.Message{Role: llm.Assistant, Parts: parts}}, nil
				}})
				if err != nil {
					t.Fatal(err)
				}
				defer server.Close()
				transport := &http.Transport{DialContext: network.DialContext}
				defer transport.CloseIdleConnections()
				store := new(session.Memory)
				begin := func(model, system string) *agent.Agent {
					return &agent.Agent{
						Model: endpoint.Client{API: anthropic.API, Config: endpoint.Config{BaseURL: "http://model.test", HTTP: &http.Client{Transport: transport}, Retries: -1}},
						Name:  model, Store: store, Tools: new(lister), Repeats: 100, Prompt: agent.Prompt{System: system},
						Engine: trim.Config{Policy: trim.Bold},
					}
				}
				a := begin("claude-opus-5-5", "Help.")
				run := func(c *agent.Conversation) *agent.Conversation {
					t.Helper()
					if c == nil {
						if c, err = a.New(t.Context()); err != nil {
							t.Fatal(err)
						}
					}
					if _, err := c.Run(t.Context(), []llm.Part{{Text: "Look around."}}, nil); err != nil {
						t.Error(err)
					}
					return c
				}
				test(a, run)
				list, err := store.List(t.Context(), session.Query{})
				if err != nil {
					t.Fatal(err)
				}
				limits, most := a.Limits, a.MaxTokens
				for i, model := range []string{"claude-opus-5-5", "claude-sonnet-4-5", "claude-fable-5-1"} {
					time.Sleep(310 * time.Second)
					a = begin(model, fmt.Sprintf("Help. It is day %d.", i))
					a.Limits, a.MaxTokens = limits, most
					c, err := a.Resume(t.Context(), list[0].ID)
					if err != nil {
						t.Fatal(err)
					}
					if model == "claude-sonnet-4-5" {
						continue // the model does not check it, but the test's provider does
					}
					run(run(c))
				}
			})
		})
	}
}
