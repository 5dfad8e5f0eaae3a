package agent_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/tool"
)

// hangingTool ignores the context of the call that is named "hang".
type hangingTool struct {
	tool.Caller
	began, free, ended chan struct{}
}

func (d hangingTool) Call(_ context.Context, c tool.Call) (tool.Result, error) {
	if c.ID == "hang" {
		close(d.began)
		<-d.free
		defer close(d.ended)
	}
	return tool.Result{CallID: c.ID, Text: "quick"}, nil
}

// A tool that ignores its context does not block the conversation: the model is told that it is not known whether the call was
// done.
func TestToolIgnoresContext(t *testing.T) {
	d := hangingTool{began: make(chan struct{}), free: make(chan struct{}), ended: make(chan struct{})}
	list := func(id string) llm.Part {
		return llm.Part{Kind: llm.ToolCall, CallID: id, Name: "list_files", Args: `{"path":"."}`}
	}
	r := newRig(t, "messages", llmtest.Script{}, turns(says("", list("quick"), list("hang")), says("I look.")), func(a *agent.Agent) {
		d.Caller = a.Tools
		a.Tools = d
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		<-d.began
		cancel()
	}()
	c := r.begin()
	if _, err := r.try(ctx, c, "Go."); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if out := r.run(c, "Well?"); out.Text != "I look." {
		t.Fatalf("%+v", out)
	}
	if r.in("the person interrupted the call. Whether it was done is not known") != 1 || r.in("quick\n") != 1 {
		t.Fatal(texts(r.sent()))
	}
	close(d.free)
	<-d.ended
}

// panics is a tool that panics.
type panics struct{ tool.Caller }

func (panics) Call(context.Context, tool.Call) (tool.Result, error) { panic("index out of reach") }

// panicsAtStart panics before the call is begun.
type panicsAtStart struct{ panics }

func (panicsAtStart) Start(tool.Call) func(context.Context) (tool.Result, error) {
	panic("index out of reach")
}

// endsGoroutine ends its goroutine without a result.
type endsGoroutine struct{ tool.Caller }

func (endsGoroutine) Call(context.Context, tool.Call) (tool.Result, error) {
	runtime.Goexit()
	return tool.Result{}, nil
}

// A panic in a tool is an error for the model, and is logged with its stack.
func TestPanickingTool(t *testing.T) {
	for name, c := range map[string]struct {
		tools       func(tool.Caller) tool.Caller
		told, stack string
	}{
		"in the call":  {func(c tool.Caller) tool.Caller { return panics{c} }, "panic: index out of reach", "panics.Call"},
		"in the start": {func(c tool.Caller) tool.Caller { return panicsAtStart{panics{c}} }, "panic: index out of reach", "panicsAtStart.Start"},
		"ended":        {func(c tool.Caller) tool.Caller { return endsGoroutine{c} }, "it ended without a result", "tool=list_files"},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			list := call("list_files", `{"path":"."}`)
			r := newRig(t, "chat", llmtest.Script{}, turns(says("", list, list), says("I see.")), func(a *agent.Agent) {
				a.Tools = c.tools(a.Tools)
				a.Parallel = 1
				a.Log = slog.New(slog.NewTextHandler(&log, nil))
			})
			if out := r.run(r.begin(), "Go."); out.Text != "I see." || out.Turns != 2 {
				t.Fatalf("%+v", out)
			}
			if r.in("the tool broke: "+c.told) != 2 {
				t.Fatal(texts(r.sent()))
			}
			if got := log.String(); !strings.Contains(got, "tool=list_files") || !strings.Contains(got, c.stack) {
				t.Fatal(got)
			}
		})
	}
}
