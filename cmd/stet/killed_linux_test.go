package main

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/test/strictmodel"
)

// stuckModel calls write_file, blocks at its second request until it is killed, and answers later requests with the result of its
// call. asked gets a value at the second request.
func stuckModel(t *testing.T) (url string, asked <-chan struct{}) {
	t.Helper()
	stuck, second := make(chan struct{}), make(chan struct{}, 1)
	var requests atomic.Int64
	m, err := strictmodel.Start(llmtest.Config{Handler: func(r *llm.Request) (llm.Response, error) {
		parts := []llm.Part{{Kind: llm.Text, Text: "The call was made."}}
		switch requests.Add(1) {
		case 1:
			parts = []llm.Part{{Kind: llm.ToolCall, CallID: "c1", Name: "write_file", Args: `{"path":"b.txt","content":"b\n"}`}}
		case 2:
			second <- struct{}{}
			<-stuck
		default:
			for _, m := range r.Messages {
				for _, p := range m.Parts {
					if p.Kind == llm.ToolResult && strings.Contains(p.Text, `"created":true`) {
						parts[0].Text = "The result is there."
					}
				}
			}
		}
		return llm.Response{Message: llm.Message{Role: llm.Assistant, Parts: parts}}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		close(stuck)
		_ = m.Close() // there is no state to lose
	})
	return m.URL, second
}

// stet run and stet chat are killed while the model answers. Their writes are stored and can be undone. The next start says that
// the session ended early, and the agent continues with the result of its call.
func TestKilledAgent(t *testing.T) {
	const ended = "ended before the agent was done: it goes on from what is stored"
	for name, c := range map[string]struct {
		begin, goOn []string
		said        string // on standard input, to continue
	}{
		"run":      {[]string{"run", "do it"}, []string{"run", "--resume", "latest", "go on"}, ""},
		"run json": {[]string{"run", "--json", "do it"}, []string{"run", "--json", "--resume", "latest", "go on"}, ""},
		"chat":     {[]string{"chat"}, []string{"chat", "--continue"}, "/continue\n"},
	} {
		t.Run(name, func(t *testing.T) {
			url, asked := stuckModel(t)
			h := newHome(t)
			h.env = append(h.env, "OPENAI_API_KEY=x")
			flags := []string{"--model", "m", "--api", "chat", "--base-url", url + "/v1", "--root", h.tree, "--allow", "*.txt"}
			first := h.stet(append(c.begin, flags...)...)
			first.Stdin = strings.NewReader("do it\n")
			if err := first.Start(); err != nil {
				t.Fatal(err)
			}
			<-asked
			_ = first.Process.Kill()
			_ = first.Wait() // it was killed

			h.verified(t, 1)
			holds(t, h.tree+"/b.txt", "b\n")
			if out := h.run(t, "undo"); !strings.Contains(out, "write_file b.txt") {
				t.Errorf("what can be taken back: %s", out)
			}
			again := h.stet(append(c.goOn, flags...)...)
			again.Stdin = strings.NewReader(c.said)
			out, err := again.CombinedOutput()
			if err != nil || strings.Count(string(out), ended) != 1 || !strings.Contains(string(out), "The result is there.") {
				t.Errorf("%v: %s", err, out)
			}
			done := h.stet(append(c.goOn, flags...)...)
			done.Stdin = strings.NewReader("thanks\n")
			out, err = done.CombinedOutput()
			if err != nil || strings.Contains(string(out), ended) {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
