package acp

import (
	"bytes"
	"context"
	"log/slog"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/coder/acp-go-sdk"
)

// editor is an ACP client made with the Go SDK.
type editor struct {
	sdk.Client // its other methods are never called
	*sdk.ClientSideConnection
	t       *testing.T
	choices []sdk.PermissionOptionKind // in their order

	mu      sync.Mutex
	updates []sdk.SessionUpdate
	asked   []sdk.RequestPermissionRequest
}

func (e *editor) SessionUpdate(_ context.Context, n sdk.SessionNotification) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.updates = append(e.updates, n.Update)
	return nil
}

func (e *editor) RequestPermission(_ context.Context, p sdk.RequestPermissionRequest) (sdk.RequestPermissionResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	choice := e.choices[len(e.asked)]
	e.asked = append(e.asked, p)
	i := slices.IndexFunc(p.Options, func(o sdk.PermissionOption) bool { return o.Kind == choice })
	return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeSelected(p.Options[i].OptionId)}, nil
}

// start runs stet acp for e. hangUp closes its input, and checks that it then ends without an error and without output on
// standard error.
func (p place) start(e *editor, args ...string) (hangUp func()) {
	p.t.Helper()
	e.t = p.t
	name, err := stet()
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.Command(name, append([]string{"acp"}, args...)...)
	cmd.Dir, cmd.Env = p.home, p.env()
	var said bytes.Buffer
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	e.ClientSideConnection = sdk.NewClientSideConnection(e, in, out)
	e.SetLogger(slog.New(slog.DiscardHandler))
	hangUp = sync.OnceFunc(func() {
		_ = in.Close()
		<-e.Done() // everything was read
		if err := cmd.Wait(); err != nil || said.Len() > 0 {
			p.t.Errorf("%v: %s", err, said.String())
		}
	})
	p.t.Cleanup(hangUp)
	if _, err := e.Initialize(p.t.Context(), sdk.InitializeRequest{
		ProtocolVersion: sdk.ProtocolVersionNumber,
		ClientInfo:      &sdk.Implementation{Name: "test editor", Version: "1"},
	}); err != nil {
		p.t.Fatalf("%v: %s", err, said.String())
	}
	return hangUp
}

func (p place) begin(e *editor) sdk.SessionId {
	p.t.Helper()
	s, err := e.NewSession(p.t.Context(), sdk.NewSessionRequest{Cwd: p.dir, McpServers: []sdk.McpServer{}})
	if err != nil {
		p.t.Fatal(err)
	}
	return s.SessionId
}

func (e *editor) say(id sdk.SessionId, text string) sdk.StopReason {
	e.t.Helper()
	p, err := e.Prompt(e.t.Context(), sdk.PromptRequest{SessionId: id, Prompt: []sdk.ContentBlock{sdk.TextBlock(text)}})
	if err != nil {
		e.t.Fatal(err)
	}
	return p.StopReason
}

// told returns what the agent said, and the states of each call.
func (e *editor) told() (said string, states map[string][]sdk.ToolCallStatus) {
	e.mu.Lock()
	defer e.mu.Unlock()
	states = map[string][]sdk.ToolCallStatus{}
	titles := map[sdk.ToolCallId]string{}
	for _, u := range e.updates {
		switch {
		case u.AgentMessageChunk != nil && u.AgentMessageChunk.Content.Text != nil:
			said += u.AgentMessageChunk.Content.Text.Text
		case u.ToolCall != nil:
			titles[u.ToolCall.ToolCallId] = u.ToolCall.Title
			states[u.ToolCall.Title] = append(states[u.ToolCall.Title], u.ToolCall.Status)
		case u.ToolCallUpdate != nil && u.ToolCallUpdate.Status != nil:
			title := titles[u.ToolCallUpdate.ToolCallId]
			states[title] = append(states[title], *u.ToolCallUpdate.Status)
		}
	}
	return said, states
}

// In each of the three wire formats: a read, an edit that is allowed, an edit that is rejected, and the session loaded by another
// process.
func TestGoClient(t *testing.T) {
	for _, api := range []string{"messages", "chat", "responses"} {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			p, m := newPlace(t), model(t, nil)
			p.write("a.txt", "one\ntwo\nthree\n")
			args := []string{"--model", "m", "--base-url", m.URL, "--api", api}
			e := &editor{choices: []sdk.PermissionOptionKind{sdk.PermissionOptionKindAllowOnce, sdk.PermissionOptionKindRejectOnce}}
			hangUp := p.start(e, args...)
			id := p.begin(e)
			if stop := e.say(id, "louder, please"); stop != sdk.StopReasonEndTurn {
				t.Error(stop)
			}
			hangUp()
			if got := p.read("a.txt"); got != "one\nTWO\nthree\n" {
				t.Errorf("%q", got)
			}
			said, states := e.told()
			if said != "I read it. I change it. And again. That is all." {
				t.Errorf("%q", said)
			}
			edits := states["Edit a.txt"]
			if !slices.Contains(edits, sdk.ToolCallStatusCompleted) || !slices.Contains(edits, sdk.ToolCallStatusFailed) || len(e.asked) != 2 {
				t.Errorf("%v, asked %d times", states, len(e.asked))
			}
			d := e.asked[0].ToolCall.Content[0].Diff
			if d == nil || d.Path != filepath.Join(p.dir, "a.txt") || *d.OldText != "one\ntwo\nthree\n" || d.NewText != "one\nTWO\nthree\n" {
				t.Errorf("%+v", d)
			}

			again := &editor{}
			p.start(again, args...)
			if _, err := again.LoadSession(t.Context(), sdk.LoadSessionRequest{SessionId: id, Cwd: p.dir, McpServers: []sdk.McpServer{}}); err != nil {
				t.Fatal(err)
			}
			if shown, _ := again.told(); shown != said {
				t.Errorf("%q", shown)
			}
			again.say(id, "and now?")
			if shown, _ := again.told(); !strings.HasSuffix(shown, "Once more. Still the same.") {
				t.Errorf("%q", shown)
			}
		})
	}
}

// The model that needs no key works. What it writes is recorded, and stet lists the session.
func TestScripted(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	e := &editor{choices: []sdk.PermissionOptionKind{sdk.PermissionOptionKindAllowAlways}}
	hangUp := p.start(e, "--model", "scripted")
	id := p.begin(e)
	if stop := e.say(id, "show me"); stop != sdk.StopReasonEndTurn {
		t.Error(stop)
	}
	hangUp()
	if got := p.read("stet-demo.txt"); !strings.Contains(got, "version 1") {
		t.Errorf("%q", got)
	}
	if out := p.command("audit"); !strings.Contains(out, "test editor") {
		t.Error(out)
	}
	if out := p.command("sessions", "list"); !strings.Contains(out, string(id)[:8]) {
		t.Error(out)
	}
}

// Errors: no key, a directory that does not exist, and a directory outside of --root.
func TestRefused(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	e := &editor{}
	p.start(e, "--model", "claude-sonnet-4-5")
	_, err := e.NewSession(t.Context(), sdk.NewSessionRequest{Cwd: p.dir, McpServers: []sdk.McpServer{}})
	if err == nil || !strings.Contains(err.Error(), "-32000") || !strings.Contains(err.Error(), "ANTHROPIC_API_KEY") {
		t.Error(err)
	}
	e = &editor{}
	p.start(e, "--model", "scripted", "--root", p.dir)
	for dir, says := range map[string]string{p.dir + "/none": "no directory", "relative": "absolute", p.home: "not below"} {
		if _, err := e.NewSession(t.Context(), sdk.NewSessionRequest{Cwd: dir, McpServers: []sdk.McpServer{}}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	p.begin(e)
}
