package modeltest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/llmtest"
)

// randomAnswers streams answers with any texts and calls, in pieces of any size. The client must return what was sent.
func randomAnswers(t *testing.T, a Adapter) {
	rapid.Check(t, func(rt *rapid.T) {
		want, chunk := randomAnswer(rt), rapid.IntRange(0, 400).Draw(rt, "chunk")
		handler := func(*llm.Request) (llm.Response, error) { return want, nil }
		var got *llm.Response
		var err error
		a.play(t, handler, nil, func(t *testing.T, r *rig) {
			r.server.Fail(llmtest.Fault{Chunk: chunk})
			var told []llm.Event
			if got, told, err = r.stream(request()); err == nil {
				checkTold(t, told, got)
			}
		})
		if err != nil {
			rt.Fatal(err)
		}
		if got, want := partTexts(got.Message), partTexts(want.Message); !reflect.DeepEqual(got, want) {
			rt.Fatalf("got  %q\nwant %q", got, want)
		}
	})
}

func randomAnswer(t *rapid.T) llm.Response {
	text := func(label string) string { return rapid.StringN(1, 60, -1).Draw(t, label) }
	var parts []llm.Part
	if rapid.Bool().Draw(t, "thinks") {
		parts = append(parts, llm.Part{Kind: llm.Thinking, Text: text("thought")})
	}
	if rapid.Bool().Draw(t, "says") {
		parts = append(parts, llm.Part{Text: text("words")})
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "calls") {
		args, err := json.Marshal(map[string]string{text("key"): text("value")})
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, llm.Part{Kind: llm.ToolCall, CallID: fmt.Sprint("call_", i), Name: "lookup", Args: string(args)})
	}
	return said(parts...)
}

func partTexts(m llm.Message) []string {
	var out []string
	for _, p := range m.Parts {
		out = append(out, fmt.Sprint(p.Kind, " ", p.CallID, p.Name, p.Args, p.Text))
	}
	return out
}
