package acp_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/llm"
)

const editA = `{"path":"a.txt","edits":[{"old_text":"two","new_text":"TWO"}]}`

func readThenEdit() func(*llm.Request) (llm.Response, error) {
	return script(
		[]llm.Part{{Kind: llm.Thinking, Text: "I look first."}, words("I read it. "), using("c1", "read_file", `{"path":"a.txt"}`)},
		[]llm.Part{words("I change it. "), using("c2", "edit_file", editA)},
		[]llm.Part{words("It is done.")},
	)
}

// A turn has text, thoughts, a read, and an edit that is shown and allowed.
func TestPrompt(t *testing.T) {
	r := newRig(t, readThenEdit(), "a.txt", "one\ntwo\nthree\n")
	e := &editor{decide: choose(sdk.PermissionOptionKindAllowOnce)}
	r.connect(e)
	id := r.begin(e)
	if stop := r.say(e, id, "make it loud"); stop != sdk.StopReasonEndTurn {
		t.Error(stop)
	}
	if got := r.read("a.txt"); got != "one\nTWO\nthree\n" {
		t.Errorf("%q", got)
	}
	updates := e.seenSoFar()
	said, thoughts, _ := texts(updates)
	if said != "I read it. I change it. It is done." || !strings.Contains(thoughts, "I look first.") {
		t.Errorf("said %q, thought %q", said, thoughts)
	}
	if u := updates[0].AvailableCommandsUpdate; u == nil || len(u.AvailableCommands) != 1 || u.AvailableCommands[0].Name != "compact" {
		t.Errorf("the first update is %+v", updates[0])
	}
	all := calls(updates)
	path := filepath.Join(r.dir, "a.txt")
	read, edit := all["c1"], all["c2"]
	if read == nil || read.Kind != sdk.ToolKindRead || read.Title != "Read a.txt" || read.Path != path || last(read.Statuses) != sdk.ToolCallStatusCompleted {
		t.Errorf("%+v", read)
	}
	if edit == nil || edit.Kind != sdk.ToolKindEdit || edit.Path != path || last(edit.Statuses) != sdk.ToolCallStatusCompleted {
		t.Fatalf("%+v", edit)
	}
	d := edit.Content[0].Diff
	if d == nil || d.Path != path || d.OldText == nil || *d.OldText != "one\ntwo\nthree\n" || d.NewText != "one\nTWO\nthree\n" {
		t.Errorf("%+v", d)
	}
	if len(e.asked) != 1 || e.asked[0].ToolCall.ToolCallId != "c2" || len(e.asked[0].Options) != 3 || e.asked[0].ToolCall.Content[0].Diff.NewText != d.NewText {
		t.Errorf("%+v", e.asked)
	}
	if !slices.ContainsFunc(updates, func(u sdk.SessionUpdate) bool { return u.UsageUpdate != nil && u.UsageUpdate.Used > 0 }) {
		t.Error("no usage")
	}
}

func last[T any](all []T) T { return all[len(all)-1] }

// An edit is rejected: nothing is written, the call has failed, and the model is told.
func TestReject(t *testing.T) {
	r := newRig(t, readThenEdit(), "a.txt", "one\ntwo\nthree\n")
	e := &editor{decide: choose(sdk.PermissionOptionKindRejectOnce)}
	r.connect(e)
	id := r.begin(e)
	r.say(e, id, "make it loud")
	if got := r.read("a.txt"); got != "one\ntwo\nthree\n" {
		t.Errorf("%q", got)
	}
	c := calls(e.seenSoFar())["c2"]
	if last(c.Statuses) != sdk.ToolCallStatusFailed || !strings.Contains(fmt.Sprint(c.Raw), "user_rejected") || c.Content[0].Diff == nil {
		t.Errorf("%+v", c)
	}
}

// After a grant for the session, there is no question about the second write.
func TestAllowForSession(t *testing.T) {
	r := newRig(t, script(
		[]llm.Part{using("c1", "write_file", `{"path":"n.txt","content":"1\n"}`)},
		[]llm.Part{using("c2", "write_file", `{"path":"m.txt","content":"2\n"}`)},
	))
	e := &editor{decide: choose(sdk.PermissionOptionKindAllowAlways)}
	r.connect(e)
	id := r.begin(e)
	r.say(e, id, "two files")
	if r.read("n.txt")+r.read("m.txt") != "1\n2\n" || len(e.asked) != 1 {
		t.Errorf("asked %d times", len(e.asked))
	}
	d := calls(e.seenSoFar())["c2"].Content[0].Diff
	if d == nil || d.OldText != nil || d.NewText != "2\n" {
		t.Errorf("%+v", d)
	}
}

// A write to a control file cannot be allowed in the editor, in any mode, and another write may get no answer there. The question
// then waits in the queue, and the editor shows where and why.
func TestAnsweredElsewhere(t *testing.T) {
	for name, c := range map[string]struct {
		decide func(context.Context, sdk.RequestPermissionRequest) sdk.RequestPermissionOutcome
		mode   sdk.SessionModeId
		asked  int
		says   string
	}{
		".envrc": {choose(sdk.PermissionOptionKindAllowOnce), "accept-edits", 0, "An answer in the editor does not suffice here. Run `stet approve`"},
		"a.txt": {func(context.Context, sdk.RequestPermissionRequest) sdk.RequestPermissionOutcome {
			return sdk.NewRequestPermissionOutcomeSelected("no such option")
		}, "", 1, "The editor gave no answer (the client's answer is no decision). Run `stet approve`"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, script([]llm.Part{using("c1", "write_file", `{"path":"`+name+`","content":"x\n"}`)}))
			events := r.queue.Subscribe()
			defer events.Close()
			e := &editor{decide: c.decide}
			r.connect(e)
			id := r.begin(e)
			if c.mode != "" {
				if _, err := e.SetSessionMode(t.Context(), sdk.SetSessionModeRequest{SessionId: id, ModeId: c.mode}); err != nil {
					t.Fatal(err)
				}
			}
			answered := make(chan error, 1)
			go func() {
				ev, err := events.Next(t.Context())
				if err == nil {
					err = r.queue.Answer(ev.Opened.ID, approval.Answer{Verdict: approval.Approve, Seal: ev.Opened.Seal})
				}
				answered <- err
			}()
			r.say(e, id, "go")
			if err := <-answered; err != nil {
				t.Fatal(err)
			}
			if r.read(name) != "x\n" || len(e.asked) != c.asked {
				t.Errorf("asked %d times in the editor", len(e.asked))
			}
			told := false
			for _, u := range e.seenSoFar() {
				if u.ToolCallUpdate == nil {
					continue
				}
				notes := 0
				for _, c := range u.ToolCallUpdate.Content {
					if c.Content != nil {
						notes += strings.Count(c.Content.Content.Text.Text, "makes something run")
					}
				}
				if notes > 1 {
					t.Errorf("one note is shown %d times", notes)
				}
				for _, shown := range u.ToolCallUpdate.Content {
					told = told || shown.Content != nil && strings.HasPrefix(shown.Content.Content.Text.Text, c.says)
				}
			}
			if !told {
				t.Error("the editor does not say where to answer, and why")
			}
		})
	}
}

func TestModes(t *testing.T) {
	turns := script(
		[]llm.Part{using("c1", "write_file", `{"path":"n.txt","content":"1\n"}`)},
		[]llm.Part{words("First.")},
		[]llm.Part{using("c2", "write_file", `{"path":"m.txt","content":"2\n"}`)},
	)
	r := newRig(t, turns)
	e := &editor{decide: choose(sdk.PermissionOptionKindRejectOnce)}
	r.connect(e)
	id := r.begin(e)
	mode := func(m sdk.SessionModeId) error {
		_, err := e.SetSessionMode(t.Context(), sdk.SetSessionModeRequest{SessionId: id, ModeId: m})
		return err
	}
	if mode("no-such-mode") == nil {
		t.Error("a mode that is none was taken")
	}
	if err := mode("read-only"); err != nil {
		t.Fatal(err)
	}
	r.say(e, id, "one")
	if _, err := os.Stat(filepath.Join(r.dir, "n.txt")); err == nil {
		t.Error("written in read-only mode")
	}
	if err := mode("accept-edits"); err != nil {
		t.Fatal(err)
	}
	r.say(e, id, "two")
	if r.read("m.txt") != "2\n" || len(e.asked) != 0 {
		t.Errorf("asked %d times", len(e.asked))
	}
}

// The prompt is cancelled while the person is asked. The turn ends as cancelled, nothing is written, and the next prompt works.
func TestCancelWhileAsked(t *testing.T) {
	r := newRig(t, readThenEdit(), "a.txt", "one\ntwo\nthree\n")
	e := &editor{}
	var id sdk.SessionId
	e.decide = func(ctx context.Context, _ sdk.RequestPermissionRequest) sdk.RequestPermissionOutcome {
		_ = e.Cancel(ctx, sdk.CancelNotification{SessionId: id})
		return sdk.NewRequestPermissionOutcomeCancelled()
	}
	r.connect(e)
	id = r.begin(e)
	if stop := r.say(e, id, "make it loud"); stop != sdk.StopReasonCancelled {
		t.Error(stop)
	}
	if got := r.read("a.txt"); got != "one\ntwo\nthree\n" {
		t.Errorf("%q", got)
	}
	if c := calls(e.seenSoFar())["c2"]; last(c.Statuses) != sdk.ToolCallStatusFailed {
		t.Errorf("%+v", c)
	}
	if stop := r.say(e, id, "never mind"); stop != sdk.StopReasonEndTurn {
		t.Error(stop)
	}
}

// A prompt is cancelled while the model answers, and before its turn begins.
func TestCancelWhileSpeaking(t *testing.T) {
	hold := make(chan struct{})
	r := newRig(t, func(req *llm.Request) (llm.Response, error) {
		<-hold
		return llm.Response{Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{words("late")}}}, nil
	})
	e := &editor{}
	r.connect(e)
	id := r.begin(e)
	for range 20 {
		stop := make(chan sdk.StopReason, 1)
		go func() {
			p, err := e.Prompt(t.Context(), sdk.PromptRequest{SessionId: id, Prompt: []sdk.ContentBlock{sdk.TextBlock("go")}})
			if err != nil {
				t.Error(err)
			}
			stop <- p.StopReason
		}()
		for {
			if err := e.Cancel(t.Context(), sdk.CancelNotification{SessionId: id}); err != nil {
				t.Fatal(err)
			}
			select {
			case s := <-stop:
				if s != sdk.StopReasonCancelled {
					t.Error(s)
				}
			default:
				continue
			}
			break
		}
	}
	close(hold)
}

// A session answers one prompt at a time. Different sessions can run at the same time.
func TestTwoPrompts(t *testing.T) {
	hold, begun := make(chan struct{}), make(chan struct{}, 1)
	r := newRig(t, func(req *llm.Request) (llm.Response, error) {
		if strings.Contains(last(last(req.Messages).Parts).Text, "wait") {
			begun <- struct{}{}
			<-hold
		}
		return llm.Response{Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{words("yes")}}}, nil
	})
	e := &editor{}
	r.connect(e)
	one, two := r.begin(e), r.begin(e)
	first := make(chan sdk.StopReason, 1)
	go func() {
		p, err := e.Prompt(t.Context(), sdk.PromptRequest{SessionId: one, Prompt: []sdk.ContentBlock{sdk.TextBlock("wait")}})
		if err != nil {
			t.Error(err)
		}
		first <- p.StopReason
	}()
	<-begun
	if _, err := e.Prompt(t.Context(), sdk.PromptRequest{SessionId: one, Prompt: []sdk.ContentBlock{sdk.TextBlock("more")}}); err == nil {
		t.Error("a second prompt was taken")
	}
	if stop := r.say(e, two, "hello"); stop != sdk.StopReasonEndTurn {
		t.Error(stop)
	}
	close(hold)
	if stop := <-first; stop != sdk.StopReasonEndTurn {
		t.Error(stop)
	}
}

// An endpoint restarts the numbers of calls in each answer. The editor still gets two different ids.
func TestSameCallID(t *testing.T) {
	r := newRig(t, script(
		[]llm.Part{using("call_0", "list_files", `{"path":"."}`)},
		[]llm.Part{using("call_0", "file_info", `{"path":"a.txt"}`)},
	), "a.txt", "one\n")
	e := &editor{}
	r.connect(e)
	r.say(e, r.begin(e), "go")
	all := calls(e.seenSoFar())
	if len(all) != 2 || all["call_0"] == nil || all["call_0#2"] == nil || last(all["call_0#2"].Statuses) != sdk.ToolCallStatusCompleted {
		t.Errorf("%+v", all)
	}
}
