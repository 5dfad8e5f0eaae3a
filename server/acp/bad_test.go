package acp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/server/acp"
)

// exchange sends lines and the end of input, and returns the answers by id.
func exchange(t *testing.T, r *rig, lines ...string) map[string]map[string]any {
	t.Helper()
	var out strings.Builder
	if err := acp.Serve(t.Context(), r.config, strings.NewReader(strings.Join(lines, "\n")), &out); err != nil {
		t.Fatal(err)
	}
	answers := map[string]map[string]any{}
	s := bufio.NewScanner(strings.NewReader(out.String()))
	s.Buffer(nil, 1<<24)
	for s.Scan() {
		var m map[string]any
		if err := json.Unmarshal(s.Bytes(), &m); err != nil {
			t.Fatalf("%v: %s", err, s.Text())
		}
		if _, ok := m["method"]; !ok {
			answers[fmt.Sprint(m["id"])] = m
		}
	}
	return answers
}

func failed(m map[string]any) (code float64, message string) {
	e, _ := m["error"].(map[string]any)
	code, _ = e["code"].(float64)
	message, _ = e["message"].(string)
	return code, message
}

const initializeLine = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":1}}`

// Every invalid line gets its error, and none ends the connection.
func TestBadInput(t *testing.T) {
	r := newRig(t, script())
	long := `{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"x":"` + strings.Repeat("y", 11<<20) + `"}}`
	for _, c := range []struct {
		line, id string
		code     float64
		says     string
	}{
		{`{"jsonrpc":`, "<nil>", -32700, "not JSON"},
		{`[{"jsonrpc":"2.0","id":1,"method":"initialize"}]`, "<nil>", -32600, "no JSON-RPC message: it is an array"},
		{`"text"`, "<nil>", -32600, "no JSON-RPC"},
		{`{"jsonrpc":"2.0"}`, "<nil>", -32600, "neither id nor method"},
		{`{"jsonrpc":"2.0","id":{},"method":"session/list"}`, "<nil>", -32600, "an id is"},
		{`{"jsonrpc":"2.0","id":3,"method":4}`, "3", -32600, "a method is"},
		{`{"jsonrpc":"2.0","id":4,"method":"no/such"}`, "4", -32601, "not found"},
		{`{"jsonrpc":"2.0","id":5,"method":"session/new","params":{"cwd":5,"mcpServers":[]}}`, "5", -32602, "cwd"},
		{`{"jsonrpc":"2.0","id":5,"method":"session/new","params":{"cwd":"relative","mcpServers":[]}}`, "5", -32602, "absolute"},
		{`{"jsonrpc":"2.0","id":5,"method":"session/new","params":{"cwd":"/no/such","mcpServers":[]}}`, "5", -32602, "not a workspace"},
		{`{"jsonrpc":"2.0","id":5,"method":"session/new"}`, "5", -32602, "cwd"},
		{`{"jsonrpc":"2.0","id":6,"method":"session/prompt","params":{"sessionId":"none","prompt":[]}}`, "6", -32002, "no open session"},
		{`{"jsonrpc":"2.0","id":6,"method":"session/load","params":{"sessionId":"none","cwd":"/x","mcpServers":[]}}`, "6", -32002, "no session"},
		{`{"jsonrpc":"2.0","id":6,"method":"session/load","params":{"sessionId":"","cwd":"/x","mcpServers":[]}}`, "6", -32002, "no session"},
		{`{"jsonrpc":"2.0","id":6,"method":"session/list","params":{"cursor":"-1"}}`, "6", -32602, "cursor"},
		{`{"jsonrpc":"2.0","id":6,"method":"session/list","params":{"cwd":"x"}}`, "6", -32602, "absolute"},
		{`{"jsonrpc":"2.0","id":6,"method":"session/close","params":{"sessionId":"none"}}`, "6", -32002, "no open session"},
		{`{"jsonrpc":"2.0","id":6,"method":"session/set_mode","params":{"sessionId":"none","modeId":"ask"}}`, "6", -32002, "no open session"},
		{`{"jsonrpc":"2.0","id":6,"method":"authenticate","params":{"methodId":"none"}}`, "6", -32602, "no way"},
		{long, "7", -32600, "at most"},
	} {
		answers := exchange(t, r, initializeLine, c.line, "", `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"none"}}`,
			`{"jsonrpc":"2.0","method":"no/such"}`, `{"jsonrpc":"2.0","id":99,"result":{}}`, `{"jsonrpc":"2.0","id":"end","method":"session/list","params":{}}`)
		code, message := failed(answers[c.id])
		if code != c.code || !strings.Contains(message, c.says) {
			t.Errorf("%.100s: %v %q", c.line, code, message)
		}
		if answers["hello"]["result"] == nil || answers["end"]["result"] == nil {
			t.Errorf("%.100s: the others were not answered: %v", c.line, answers)
		}
	}
}

// Before initialize no other request is answered.
func TestBeforeInitialize(t *testing.T) {
	a := exchange(t, newRig(t, script()), `{"jsonrpc":"2.0","id":1,"method":"session/list","params":{}}`)
	if code, _ := failed(a["1"]); code != -32600 {
		t.Error(a)
	}
}

// A client with a newer version gets this version.
func TestVersion(t *testing.T) {
	a := exchange(t, newRig(t, script()), strings.Replace(initializeLine, `:1}`, `:7}`, 1))
	result, _ := a["hello"]["result"].(map[string]any)
	if result["protocolVersion"] != 1.0 {
		t.Error(a)
	}
}

// Without a key the client is told what to do, and no session is created.
func TestAuth(t *testing.T) {
	r := newRig(t, script())
	missing := errors.New("set SOME_KEY")
	r.config.Ready = func() error { return missing }
	a := exchange(t, r, initializeLine,
		fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, r.dir),
		`{"jsonrpc":"2.0","id":2,"method":"authenticate","params":{"methodId":"key"}}`)
	result, _ := a["hello"]["result"].(map[string]any)
	if methods, _ := result["authMethods"].([]any); len(methods) != 1 || !strings.Contains(fmt.Sprint(methods), "SOME_KEY") {
		t.Error(result)
	}
	for _, id := range []string{"1", "2"} {
		if code, message := failed(a[id]); code != -32000 || !strings.Contains(message, "SOME_KEY") {
			t.Error(code, message)
		}
	}
	missing = nil
	if a := exchange(t, r, initializeLine, `{"jsonrpc":"2.0","id":2,"method":"authenticate","params":{"methodId":"key"}}`); a["2"]["error"] != nil {
		t.Error(a)
	}
}

// An error of the model's endpoint is an error of the prompt, and the session continues.
func TestModelError(t *testing.T) {
	broken := true
	r := newRig(t, func(*llm.Request) (llm.Response, error) {
		if broken {
			return llm.Response{}, llmFault()
		}
		return llm.Response{Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{words("yes")}}}, nil
	})
	e := &editor{}
	r.connect(e)
	id := r.begin(e)
	prompt := sdk.PromptRequest{SessionId: id, Prompt: []sdk.ContentBlock{sdk.TextBlock("go")}}
	_, err := e.Prompt(t.Context(), prompt)
	var told *sdk.RequestError
	if !errors.As(err, &told) || told.Code != -32000 {
		t.Error(err)
	}
	broken = false
	if stop := r.say(e, id, "again"); stop != sdk.StopReasonEndTurn {
		t.Error(stop)
	}
}

// The editor disconnects while a question is open: Serve ends without an error, and nothing keeps running.
func TestEditorDisconnects(t *testing.T) {
	r := newRig(t, readThenEdit(), "a.txt", "one\ntwo\nthree\n")
	asked := make(chan struct{})
	e := &editor{decide: func(ctx context.Context, _ sdk.RequestPermissionRequest) sdk.RequestPermissionOutcome {
		close(asked)
		<-ctx.Done()
		return sdk.NewRequestPermissionOutcomeCancelled()
	}}
	hangUp := r.connect(e)
	id := r.begin(e)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = e.Prompt(t.Context(), sdk.PromptRequest{SessionId: id, Prompt: []sdk.ContentBlock{sdk.TextBlock("go")}})
	}()
	<-asked
	if err := hangUp(); err != nil {
		t.Error(err)
	}
	<-done
	if r.read("a.txt") != "one\ntwo\nthree\n" {
		t.Error("written")
	}
}

type unwritable struct{}

func (unwritable) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// Serve ends if nothing can be written to the client, and if the context ends.
func TestServeEnds(t *testing.T) {
	r := newRig(t, script())
	in, out := io.Pipe()
	go func() { _, _ = io.WriteString(out, initializeLine+"\n") }()
	if err := acp.Serve(t.Context(), r.config, in, unwritable{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
	_ = out.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	in, out = io.Pipe()
	if err := acp.Serve(ctx, r.config, in, io.Discard); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	_ = out.Close()
}
