package modeltest

import (
	"reflect"
	"regexp"
	"testing"

	"github.com/stet-dev/stet/llm"
)

// invalidNames sends back calls with invalid names and ids from a model. Each call is sent back with a valid name and a unique id, and
// its result has the same id.
func invalidNames(t *testing.T, a Adapter) {
	call := func(id, name string) llm.Part {
		return llm.Part{Kind: llm.ToolCall, CallID: id, Name: name, Args: `{"row":"41"}`}
	}
	handler := func(req *llm.Request) (llm.Response, error) {
		if len(req.Messages) > 2 {
			return said(llm.Part{Text: "ok"}), nil
		}
		res := said(call("functions.lookup:0", "functions.look up!"), call("same", "lookup"), call("same", "lookup"), call("same", ""))
		res.ID = "1" // the same id for both answers
		return res, nil
	}
	a.play(t, handler, nil, func(t *testing.T, r *rig) {
		whole, err := r.model.Complete(t.Context(), request())
		if err != nil {
			t.Fatal(err)
		}
		req := request()
		res, events, err := r.stream(req)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(partTexts(res.Message), partTexts(whole.Message)) {
			t.Errorf("streamed %+v\nwhole %+v", res.Message, whole.Message)
		}
		checkCalls(t, res.Message.Parts, regexp.MustCompile(`.`))
		for _, e := range events {
			if e.Kind == llm.CallDone && !reflect.DeepEqual(e.Call, res.Message.Parts[e.Index]) {
				t.Errorf("told %+v of %+v", e.Call, res.Message.Parts[e.Index])
			}
		}
		req.Messages = append(req.Messages, res.Message)
		for _, p := range res.Message.Parts {
			req.Messages = append(req.Messages, llm.Message{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: p.CallID, Text: p.Name}}})
		}
		if _, _, err := r.stream(req); err != nil {
			t.Fatal(err)
		}
		var calls, results []llm.Part
		for _, m := range r.server.Requests()[2].Decoded.Messages[2:] {
			if m.Role == llm.Tool {
				results = append(results, m.Parts...)
			} else {
				calls = append(calls, m.Parts...)
			}
		}
		checkCalls(t, calls, a.IDs)
		if len(results) != len(calls) {
			t.Fatalf("%d results of %d calls", len(results), len(calls))
		}
		for i, p := range results {
			if p.CallID != calls[i].CallID || p.Text != calls[i].Name {
				t.Errorf("the result %+v of %+v", p, calls[i])
			}
		}
	})
}

var names = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// checkCalls checks that the four calls have valid names, and unique ids that match ids.
func checkCalls(t *testing.T, calls []llm.Part, ids *regexp.Regexp) {
	t.Helper()
	seen := map[string]bool{}
	for _, p := range calls {
		if p.Kind != llm.ToolCall || !names.MatchString(p.Name) || !ids.MatchString(p.CallID) || seen[p.CallID] {
			t.Errorf("a call %+v among %+v", p, calls)
		}
		seen[p.CallID] = true
	}
	if len(calls) != 4 || calls[0].Name != "unknown__functions_look_up_" || calls[1].Name != "lookup" {
		t.Errorf("calls %+v", calls)
	}
}
