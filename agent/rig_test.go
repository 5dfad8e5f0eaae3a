package agent_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/filetools"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
	"github.com/stet-dev/stet/llm/endpoint"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/llm/openai"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/test/strictmodel"
	"github.com/stet-dev/stet/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// wires has the APIs by their names.
var wires = map[string]llm.API{"messages": anthropic.API, "chat": openai.ChatAPI, "responses": openai.ResponsesAPI}

// overWires runs a test over all wire formats in parallel.
func overWires(t *testing.T, test func(t *testing.T, wire string)) {
	for wire := range wires {
		t.Run(wire, func(t *testing.T) {
			t.Parallel()
			test(t, wire)
		})
	}
}

// handler answers requests instead of a model.
type handler func(*llm.Request) (llm.Response, error)

// rig is an agent with a model over HTTP, and the file tools over a directory, behind the handler that asks a person.
type rig struct {
	t      testing.TB
	server *llmtest.Server
	dir    string
	tools  *filetools.Tools
	asks   *approval.Handler
	store  session.Store
	agent  *agent.Agent
	events []agent.Event
}

// newRig makes a rig. change may be nil. Otherwise it changes the agent before its first use.
func newRig(t testing.TB, wire string, script llmtest.Script, answer handler, change func(*agent.Agent)) *rig {
	t.Helper()
	server, err := strictmodel.Start(llmtest.Config{Script: script, Handler: answer})
	if err != nil {
		t.Fatal(err)
	}
	transport := new(http.Transport)
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
	})
	r := &rig{t: t, server: server, dir: t.TempDir(), store: new(session.Memory)}
	model := endpoint.Client{API: wires[wire], Config: endpoint.Config{BaseURL: server.URL, HTTP: &http.Client{Transport: transport}, Retries: -1}}
	r.agent = &agent.Agent{Model: model, Name: "scripted", Store: r.store, Dir: r.dir}
	r.agent.Tools = r.open()
	r.agent.Files = r.tools
	if change != nil {
		change(r.agent)
	}
	return r
}

// open opens the directory, as a starting process does.
func (r *rig) open() tool.Caller {
	r.t.Helper()
	root, err := workspace.Open(r.dir, workspace.Options{State: r.t.TempDir()})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { root.Close() })
	if r.tools, err = filetools.New(filetools.Config{Root: root}); err != nil {
		r.t.Fatal(err)
	}
	set := new(tool.Set)
	if err := set.Add(r.tools.All()...); err != nil {
		r.t.Fatal(err)
	}
	r.asks = &approval.Handler{Tools: set, Policy: new(policy.Policy), Root: r.dir, Approver: approveAll{}, Rate: -1}
	return r.asks
}

// approveAll is an approver that approves everything.
type approveAll struct{}

func (approveAll) Ask(_ context.Context, q approval.Question) (approval.Answer, error) {
	return approval.Answer{Verdict: approval.Approve, Seal: q.Seal, By: "test"}, nil
}

func (r *rig) put(name, content string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(content), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) get(name string) string {
	data, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		return "<" + errors.Unwrap(err).Error() + ">"
	}
	return string(data)
}

func (r *rig) begin() *agent.Conversation {
	r.t.Helper()
	c, err := r.agent.New(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

func (r *rig) resume(id string) *agent.Conversation {
	r.t.Helper()
	c, err := r.agent.Resume(context.Background(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// again replaces the agent by the same agent in a new process.
func (r *rig) again() {
	r.t.Helper()
	a := r.agent
	r.agent = &agent.Agent{
		Model: a.Model, Name: a.Name, Store: a.Store, Dir: a.Dir, Prompt: a.Prompt, Engine: a.Engine, Limits: a.Limits,
		MaxTokens: a.MaxTokens, Tools: r.open(),
	}
	r.agent.Files = r.tools
}

// run runs a prompt, which must succeed.
func (r *rig) run(c *agent.Conversation, prompt string) agent.Outcome {
	r.t.Helper()
	out, err := r.try(context.Background(), c, prompt)
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

func (r *rig) try(ctx context.Context, c *agent.Conversation, prompt string) (agent.Outcome, error) {
	var parts []llm.Part
	if prompt != "" {
		parts = []llm.Part{{Kind: llm.Text, Text: prompt}}
	}
	return c.Run(ctx, parts, func(e agent.Event) {
		r.events = append(r.events, e)
		if e.Kind == agent.Asking {
			// The plan made step by step equals the plan made at once.
			if f := c.Fill(); !reflect.DeepEqual(f, e.Fill) {
				r.t.Errorf("the request is filled by %+v; planned at once, by %+v", e.Fill, f)
			}
		}
	})
}

// told lists the events of a kind.
func (r *rig) told(k agent.EventKind) []agent.Event {
	var out []agent.Event
	for _, e := range r.events {
		if e.Kind == k {
			out = append(out, e)
		}
	}
	return out
}

// sent returns the model's last request.
func (r *rig) sent() *llm.Request {
	all := r.server.Requests()
	return all[len(all)-1].Decoded
}

// texts returns the text of a request, one part on each line.
func texts(req *llm.Request) string {
	var b strings.Builder
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			b.WriteString(string(m.Role) + ": " + p.Text + p.Args + "\n")
		}
	}
	return b.String()
}

// say returns an answer of text and calls.
func say(text string, calls ...llm.Part) (llm.Response, error) {
	m := llm.Message{Role: llm.Assistant}
	if text != "" {
		m.Parts = append(m.Parts, llm.Part{Text: text})
	}
	m.Parts = append(m.Parts, calls...)
	return llm.Response{Message: m}, nil
}

func call(name, args string) llm.Part { return llm.Part{Kind: llm.ToolCall, Name: name, Args: args} }

// in returns how often sub occurs in the last request.
func (r *rig) in(sub string) int { return strings.Count(texts(r.sent()), sub) }
