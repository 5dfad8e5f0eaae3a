package acp_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/coder/acp-go-sdk"
	"go.uber.org/goleak"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/filetools"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/endpoint"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/llm/openai"
	"github.com/stet-dev/stet/server/acp"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/test/strictmodel"
	"github.com/stet-dev/stet/tool"
)

func TestMain(m *testing.M) {
	if os.Getenv(envServer) != "" {
		if err := serveMCP(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// rig is a workspace with an agent whose model is scripted. Editors can connect one after the other.
type rig struct {
	t      *testing.T
	dir    string
	config acp.Config
	queue  *approval.Queue
	policy *policy.Policy
	answer func(*llm.Request) (llm.Response, error)
}

// newRig creates a workspace. files are pairs of a name and a text.
func newRig(t *testing.T, answer func(*llm.Request) (llm.Response, error), files ...string) *rig {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, dir: dir, queue: new(approval.Queue), answer: answer}
	for i := 0; i < len(files); i += 2 {
		r.write(files[i], files[i+1])
	}
	all, err := policy.ParsePattern("*")
	if err != nil {
		t.Fatal(err)
	}
	r.policy = &policy.Policy{Relay: []policy.Pattern{all}}
	r.config = acp.Config{Open: r.open, Store: new(session.Memory), Relays: true, Version: "1", Environ: os.Environ()}
	return r
}

func (r *rig) write(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) read(name string) string {
	r.t.Helper()
	b, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(b)
}

// open is acp.Config.Open, with the real tools.
func (r *rig) open(_ context.Context, dir string) (*acp.Workspace, error) {
	if dir != r.dir {
		return nil, acp.ErrDirectory
	}
	network := new(llmtest.Memory)
	server, err := strictmodel.Start(llmtest.Config{Handler: r.answer, Listener: network, Reasoning: true})
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{DialContext: network.DialContext}
	root, err := workspace.Open(dir, workspace.Options{State: r.t.TempDir()})
	if err != nil {
		return nil, err
	}
	tools, err := filetools.New(filetools.Config{Root: root})
	if err != nil {
		return nil, err
	}
	set := new(tool.Set)
	if err := set.Add(tools.All()...); err != nil {
		return nil, err
	}
	handler := &approval.Handler{Tools: set, Policy: r.policy, Root: dir, Approver: acp.Approver{Next: r.queue}}
	a := &agent.Agent{
		Model: endpoint.Client{API: openai.ChatAPI, Config: endpoint.Config{BaseURL: "http://model.test", Model: "m", HTTP: &http.Client{Transport: transport}}},
		Name:  "m", Tools: handler, Store: r.config.Store, Dir: dir, Files: tools,
	}
	return &acp.Workspace{
		Agent: a,
		Text: func(ctx context.Context, name string) (string, error) {
			p, err := root.Path(name)
			if err != nil {
				return "", err
			}
			c, err := root.ReadAll(ctx, p)
			return string(c.Data), err
		},
		With: handler.With,
		End:  handler.End,
		Close: func() error {
			transport.CloseIdleConnections()
			_ = server.Close()
			return root.Close()
		},
	}, nil
}

// editor is a client that uses the SDK. Its fields are set before it connects.
type editor struct {
	sdk.Client // the methods that editor does not have are never called
	*sdk.ClientSideConnection

	buffers map[string]string // unsaved texts by absolute path; nil: the editor does not offer its buffers
	decide  func(context.Context, sdk.RequestPermissionRequest) sdk.RequestPermissionOutcome
	seen    func(sdk.SessionUpdate)

	mu      sync.Mutex
	updates []sdk.SessionUpdate
	asked   []sdk.RequestPermissionRequest
}

func (e *editor) SessionUpdate(_ context.Context, n sdk.SessionNotification) error {
	e.mu.Lock()
	e.updates = append(e.updates, n.Update)
	e.mu.Unlock()
	if e.seen != nil {
		e.seen(n.Update)
	}
	return nil
}

func (e *editor) RequestPermission(ctx context.Context, p sdk.RequestPermissionRequest) (sdk.RequestPermissionResponse, error) {
	e.mu.Lock()
	e.asked = append(e.asked, p)
	e.mu.Unlock()
	return sdk.RequestPermissionResponse{Outcome: e.decide(ctx, p)}, nil
}

func (e *editor) ReadTextFile(_ context.Context, p sdk.ReadTextFileRequest) (sdk.ReadTextFileResponse, error) {
	text, ok := e.buffers[p.Path]
	if !ok {
		return sdk.ReadTextFileResponse{}, sdk.NewInvalidParams("not open")
	}
	return sdk.ReadTextFileResponse{Content: text}, nil
}

// choose returns a decision function that selects the option of the given kind.
func choose(kind sdk.PermissionOptionKind) func(context.Context, sdk.RequestPermissionRequest) sdk.RequestPermissionOutcome {
	return func(_ context.Context, p sdk.RequestPermissionRequest) sdk.RequestPermissionOutcome {
		i := slices.IndexFunc(p.Options, func(o sdk.PermissionOption) bool { return o.Kind == kind })
		return sdk.NewRequestPermissionOutcomeSelected(p.Options[i].OptionId)
	}
}

// connect runs Serve for e until the test ends or hangUp is called. hangUp returns the result of Serve.
func (r *rig) connect(e *editor) (hangUp func() error) {
	r.t.Helper()
	toAgent, fromEditor := io.Pipe()
	toEditor, fromAgent := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := acp.Serve(context.WithoutCancel(r.t.Context()), r.config, toAgent, fromAgent)
		_ = fromAgent.Close()
		ended <- err
	}()
	e.ClientSideConnection = sdk.NewClientSideConnection(e, fromEditor, toEditor)
	e.SetLogger(slog.New(slog.DiscardHandler))
	hangUp = sync.OnceValue(func() error {
		_ = fromEditor.Close()
		err := <-ended
		<-e.Done()
		return err
	})
	r.t.Cleanup(func() {
		if err := hangUp(); err != nil {
			r.t.Error(err)
		}
	})
	if _, err := e.Initialize(r.t.Context(), sdk.InitializeRequest{
		ProtocolVersion:    sdk.ProtocolVersionNumber,
		ClientInfo:         &sdk.Implementation{Name: "test editor", Version: "1"},
		ClientCapabilities: sdk.ClientCapabilities{Fs: sdk.FileSystemCapabilities{ReadTextFile: e.buffers != nil}},
	}); err != nil {
		r.t.Fatal(err)
	}
	return hangUp
}

// begin opens a session.
func (r *rig) begin(e *editor) sdk.SessionId {
	r.t.Helper()
	s, err := e.NewSession(r.t.Context(), sdk.NewSessionRequest{Cwd: r.dir, McpServers: []sdk.McpServer{}})
	if err != nil {
		r.t.Fatal(err)
	}
	return s.SessionId
}

// say sends a prompt, and returns why the turn ended.
func (r *rig) say(e *editor, id sdk.SessionId, text string) sdk.StopReason {
	r.t.Helper()
	p, err := e.Prompt(r.t.Context(), sdk.PromptRequest{SessionId: id, Prompt: []sdk.ContentBlock{sdk.TextBlock(text)}})
	if err != nil {
		r.t.Fatal(err)
	}
	return p.StopReason
}

// seenSoFar returns the updates that were received.
func (e *editor) seenSoFar() []sdk.SessionUpdate {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.updates)
}

// texts returns the text of the agent, its thoughts with the notes, and the text of the person.
func texts(updates []sdk.SessionUpdate) (said, thoughts, person string) {
	var a, b, c strings.Builder
	for _, u := range updates {
		switch {
		case u.AgentMessageChunk != nil && u.AgentMessageChunk.Content.Text != nil:
			a.WriteString(u.AgentMessageChunk.Content.Text.Text)
		case u.AgentThoughtChunk != nil && u.AgentThoughtChunk.Content.Text != nil:
			b.WriteString(u.AgentThoughtChunk.Content.Text.Text)
		case u.UserMessageChunk != nil && u.UserMessageChunk.Content.Text != nil:
			c.WriteString(u.UserMessageChunk.Content.Text.Text)
		}
	}
	return a.String(), b.String(), c.String()
}

// call is a tool call as an editor shows it: the first update together with all later ones.
type call struct {
	Title    string
	Kind     sdk.ToolKind
	Path     string
	Statuses []sdk.ToolCallStatus
	Content  []sdk.ToolCallContent
	Raw      any
}

func calls(updates []sdk.SessionUpdate) map[sdk.ToolCallId]*call {
	out := map[sdk.ToolCallId]*call{}
	for _, u := range updates {
		if c := u.ToolCall; c != nil {
			out[c.ToolCallId] = &call{Title: c.Title, Kind: c.Kind, Statuses: []sdk.ToolCallStatus{c.Status}, Content: c.Content}
			if len(c.Locations) > 0 {
				out[c.ToolCallId].Path = c.Locations[0].Path
			}
		}
		if c := u.ToolCallUpdate; c != nil && out[c.ToolCallId] != nil {
			shown := out[c.ToolCallId]
			if c.Status != nil {
				shown.Statuses = append(shown.Statuses, *c.Status)
			}
			if c.Content != nil {
				shown.Content = c.Content
			}
			if c.RawOutput != nil {
				shown.Raw = c.RawOutput
			}
		}
	}
	return out
}

// script answers with turns, one after the other. It counts the answers in the conversation to find the next one.
func script(turns ...[]llm.Part) func(*llm.Request) (llm.Response, error) {
	return func(req *llm.Request) (llm.Response, error) {
		n := 0
		for _, m := range req.Messages {
			if m.Role == llm.Assistant {
				n++
			}
		}
		if n >= len(turns) {
			return llm.Response{Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Text: "Done."}}}}, nil
		}
		return llm.Response{Message: llm.Message{Role: llm.Assistant, Parts: turns[n]}}, nil
	}
}

func words(s string) llm.Part { return llm.Part{Kind: llm.Text, Text: s} }

func using(id, name, args string) llm.Part {
	return llm.Part{Kind: llm.ToolCall, CallID: id, Name: name, Args: args}
}

// llmFault is the error of an endpoint that refuses the key.
func llmFault() error { return &llmtest.Fault{Status: http.StatusUnauthorized} }
