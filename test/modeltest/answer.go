package modeltest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/endpoint"
	"github.com/stet-dev/stet/llm/llmtest"
)

// sameAnswer checks that a streamed answer equals its events, and equals the answer that is not streamed. The stream arrives in
// pieces of different sizes.
func sameAnswer(t *testing.T, a Adapter) {
	for _, chunk := range []int{0, 1, 7, 100, 1 << 20} {
		a.play(t, nil, nil, func(t *testing.T, r *rig) {
			whole, err := r.model.Complete(t.Context(), request())
			if err != nil {
				t.Fatal(err)
			}
			r.server.Fail(llmtest.Fault{Chunk: chunk})
			res, events, err := r.stream(request())
			if err != nil {
				t.Fatal(err)
			}
			whole.Usage, res.Usage = llm.Usage{}, llm.Usage{} // the second request reads the cache
			checkTold(t, events, res)
			if !reflect.DeepEqual(plain(t, res), plain(t, whole)) {
				t.Errorf("chunks of %d: streamed\n%+v\nwhole\n%+v", chunk, res, whole)
			}
			checkFirstTurn(t, res)
		})
	}
}

// checkFirstTurn checks that res is the first turn of the script.
func checkFirstTurn(t *testing.T, res *llm.Response) {
	t.Helper()
	turn := script.Turns[0]
	var got []string
	for _, p := range res.Message.Parts {
		if p.Span.Valid() {
			t.Errorf("a part has a place: %+v", p)
		}
		got = append(got, fmt.Sprint(p.Kind, p.Text, p.Name, compact(t, p.Args)))
	}
	want := []string{
		fmt.Sprint(llm.Thinking, turn.Thinking), fmt.Sprint(llm.Text, turn.Text),
		fmt.Sprint(llm.ToolCall, "lookup", compact(t, turn.Do[0].Args)), fmt.Sprint(llm.ToolCall, "lookup", compact(t, turn.Do[1].Args)),
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if res.ID == "" || res.Model != "scripted" || res.Message.Role != llm.Assistant || res.Stop() != llm.StopCalls {
		t.Errorf("%+v, stop %v", res, res.Stop())
	}
}

// plain returns res with sorted members in the JSON of its parts.
func plain(t *testing.T, res *llm.Response) *llm.Response {
	out := *res
	out.Message.Parts = append([]llm.Part(nil), res.Message.Parts...)
	for i := range out.Message.Parts {
		out.Message.Parts[i].Raw = compact(t, out.Message.Parts[i].Raw)
	}
	return &out
}

func compact(t *testing.T, args string) string {
	var v any
	if args == "" {
		return ""
	}
	if err := json.Unmarshal([]byte(args), &v); err != nil {
		t.Fatal(err)
	}
	b, _ := json.Marshal(v) // it was decoded from JSON
	return string(b)
}

// checkTold checks that the events have the same content as the answer. The deltas of a part give its text, every call is
// reported once and complete, and the end is the last event.
func checkTold(t *testing.T, events []llm.Event, res *llm.Response) {
	t.Helper()
	deltas := map[int]*strings.Builder{}
	calls, usage := map[int]llm.Part{}, llm.Usage{}
	for i, e := range events {
		switch e.Kind {
		case llm.TextDelta, llm.ThinkingDelta, llm.CallDelta:
			if deltas[e.Index] == nil {
				deltas[e.Index] = new(strings.Builder)
			}
			deltas[e.Index].WriteString(e.Text)
			if e.Kind == llm.CallDelta && (e.Call.Name == "" || e.Call.CallID == "") {
				t.Errorf("a delta of a call without a name: %+v", e)
			}
		case llm.CallDone:
			if _, twice := calls[e.Index]; twice {
				t.Errorf("call %d is done twice", e.Index)
			}
			calls[e.Index] = e.Call
		case llm.UsageSaid:
			usage = e.Usage
		case llm.Stopped:
			if i != len(events)-1 || e.Reason != res.StopReason {
				t.Errorf("event %d of %d is the end: %q, of the answer %q", i, len(events), e.Reason, res.StopReason)
			}
		}
	}
	if len(events) == 0 || events[len(events)-1].Kind != llm.Stopped {
		t.Errorf("no end among %d events", len(events))
	}
	if !res.Usage.IsZero() && usage != res.Usage {
		t.Errorf("usage told %+v, of the answer %+v", usage, res.Usage)
	}
	for i, p := range res.Message.Parts {
		text := p.Text
		switch p.Kind {
		case llm.ToolCall:
			text = p.Args
			if !reflect.DeepEqual(calls[i], p) {
				t.Errorf("call %d told as %+v, is %+v", i, calls[i], p)
			}
		case llm.Opaque:
			continue
		}
		if d := deltas[i]; d == nil || d.String() != text {
			t.Errorf("part %d told as %v, is %q", i, d, text)
		}
	}
}

// conversation plays the script to its end. The model's answers are sent back with results, and thinking is sent back unchanged.
func conversation(t *testing.T, a Adapter) {
	a.play(t, nil, nil, func(t *testing.T, r *rig) {
		req := request()
		for turn := range script.Turns {
			res, _, err := r.stream(req)
			if err != nil {
				t.Fatal(err)
			}
			got := r.server.Requests()
			if last := got[len(got)-1]; last.Step != turn {
				t.Fatalf("turn %d was answered as %d: %s", turn, last.Step, last.Body)
			}
			req.Messages = append(req.Messages, res.Message)
			for _, p := range res.Message.Parts {
				if p.Kind == llm.ToolCall {
					req.Messages = append(req.Messages, llm.Message{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: p.CallID, Text: "one"}}})
				}
			}
			if turn == len(script.Turns)-1 && res.Stop() != llm.StopDone {
				t.Errorf("stop %v", res.Stop())
			}
		}
		second := r.server.Requests()[1].Decoded
		var sent, back []string
		for _, m := range req.Messages[:len(second.Messages)] {
			for _, p := range m.Parts {
				if p.Kind == llm.Thinking {
					sent = append(sent, p.Raw)
				}
			}
		}
		for _, m := range second.Messages {
			for _, p := range m.Parts {
				if p.Kind == llm.Thinking {
					back = append(back, p.Raw)
				}
			}
		}
		if len(sent) != 1 || a.Resent && !reflect.DeepEqual(sent, back) {
			t.Errorf("thinking came as %q and went back as %q", sent, back)
		}
	})
}

// opaque checks that parts that the client cannot read are sent back unchanged.
func opaque(t *testing.T, a Adapter) {
	if len(a.Opaque) == 0 {
		t.Skip("the format has none")
	}
	handler := func(req *llm.Request) (llm.Response, error) {
		if len(req.Messages) > 2 {
			return said(llm.Part{Text: "ok"}), nil
		}
		return said(append(slices.Clone(a.Opaque), llm.Part{Text: "last"})...), nil // thinking comes first
	}
	a.play(t, handler, nil, func(t *testing.T, r *rig) {
		whole, err := r.model.Complete(t.Context(), request())
		if err != nil {
			t.Fatal(err)
		}
		req := request()
		res, _, err := r.stream(req)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(plain(t, res).Message, plain(t, whole).Message) {
			t.Errorf("streamed %+v\nwhole %+v", res.Message, whole.Message)
		}
		req.Messages = append(req.Messages, res.Message, llm.Message{Role: llm.User, Parts: []llm.Part{{Text: "go on"}}})
		if _, _, err = r.stream(req); err != nil {
			t.Fatal(err)
		}
		got := r.server.Requests()[2].Decoded.Messages[2]
		for i, want := range a.Opaque {
			p := got.Parts[i]
			if strings.Contains(want.Raw, `thinking"`) { // the server has signed it
				want.Raw = res.Message.Parts[i].Raw
			}
			if p.Kind != want.Kind || compact(t, p.Raw) != compact(t, want.Raw) {
				t.Errorf("%s went back as %s", want.Raw, p.Raw)
			}
		}
	})
}

// usage compares the client's usage with the usage of the model, streamed and not, by the rules of each format.
func usage(t *testing.T, a Adapter) {
	used := llm.Usage{Input: 100, CacheRead: 2048, Output: 30, Reasoning: 12}
	handler := func(*llm.Request) (llm.Response, error) {
		res := said(llm.Part{Text: "ok"})
		res.Usage = used
		return res, nil
	}
	a.play(t, handler, nil, func(t *testing.T, r *rig) {
		req := request()
		req.Cache = &llm.Cache{}
		whole, err := r.model.Complete(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		res, events, err := r.stream(req)
		if err != nil {
			t.Fatal(err)
		}
		checkTold(t, events, res)
		for _, got := range []llm.Usage{whole.Usage, res.Usage} {
			if got.Prompt() != used.Prompt() || got.CacheRead != used.CacheRead || got.Output != used.Output {
				t.Errorf("counted %+v of %+v", got, used)
			}
			if a.Marks != (got.CacheWrite > 0) {
				t.Errorf("cache written: %d", got.CacheWrite)
			}
		}
	})
}

// onTheWire checks the request that the server received.
func onTheWire(t *testing.T, a Adapter) {
	a.play(t, says("ok"), func(c *endpoint.Config) {
		c.Extra = json.RawMessage(`{"temperature":0.5,"stream":null}`)
	}, func(t *testing.T, r *rig) {
		req := request()
		req.SessionKey = "0b1c"
		before := fmt.Sprintf("%+v", req)
		if _, err := r.model.Complete(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.stream(req); err != nil {
			t.Fatal(err)
		}
		if after := fmt.Sprintf("%+v", req); after != before {
			t.Errorf("the request was changed: %s", after)
		}
		got := r.server.Requests()[0]
		if !strings.Contains(fmt.Sprint(got.Header), key) {
			t.Errorf("header %v", got.Header)
		}
		var body map[string]any
		if err := json.Unmarshal(got.Body, &body); err != nil || body["temperature"] != 0.5 {
			t.Errorf("%v: %s", err, got.Body)
		}
		d := got.Decoded
		if d.Model != "scripted" || d.MaxTokens != 1000 || d.Stream || d.SessionKey != "0b1c" || len(d.Tools) != 1 || string(d.Tools[0].Schema) != string(req.Tools[0].Schema) {
			t.Errorf("%+v", d)
		}
	})
}

// notStreamed asks for a stream, and the endpoint sends a whole answer.
func notStreamed(t *testing.T, a Adapter) {
	a.play(t, nil, func(c *endpoint.Config) { c.Extra = json.RawMessage(`{"stream":false}`) }, func(t *testing.T, r *rig) {
		res, events, err := r.stream(request())
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range res.Message.Parts { // a call comes at once, without deltas
			if p.Kind == llm.ToolCall {
				events = append([]llm.Event{{Kind: llm.CallDelta, Index: i, Text: p.Args, Call: p}}, events...)
			}
		}
		checkTold(t, events, res)
		checkFirstTurn(t, res)
	})
}

// concurrent uses one client in several goroutines.
func concurrent(t *testing.T, a Adapter) {
	handler := func(req *llm.Request) (llm.Response, error) {
		return said(llm.Part{Text: req.Messages[1].Parts[0].Text}), nil
	}
	a.play(t, handler, nil, func(t *testing.T, r *rig) {
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				req := request()
				req.Messages[1].Parts[0].Text = fmt.Sprint("number ", i)
				res, err := r.model.Stream(t.Context(), req, nil)
				if err != nil || res.Message.Parts[0].Text != fmt.Sprint("number ", i) {
					t.Errorf("%d: %+v, %v", i, res, err)
				}
			})
		}
		all.Wait()
	})
}
