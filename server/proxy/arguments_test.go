package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/trim"
)

// edits returns a conversation in which n files are written and edited. Each file has much text.
func edits(n int) *llm.Request {
	req := &llm.Request{Model: "m", MaxTokens: 9, Messages: []llm.Message{
		{Role: llm.System, Parts: []llm.Part{{Text: "You work in /home/me/project."}}},
		{Role: llm.User, Parts: []llm.Part{{Text: "go on"}}},
	}}
	req.AddTool("Edit", "edits", []byte(`{"type":"object"}`))
	for i := range n {
		id := fmt.Sprint("call_", i)
		var text strings.Builder
		for line := range 60 {
			fmt.Fprintf(&text, "a \"line\" of file %d, number %d\n", i, line)
		}
		was, _ := json.Marshal(text.String()) // as a JSON string
		is, _ := json.Marshal(text.String() + "and one more\n")
		args := fmt.Sprintf(`{"file_path":"/home/me/project/%d.go","old_string":%s,"new_string":%s}`, i, was, is)
		req.Messages = append(req.Messages,
			llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Text: "I edit."}, {Kind: llm.ToolCall, CallID: id, Name: "Edit", Args: args}}},
			llm.Message{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: id, Text: "The file has been updated."}}})
	}
	return req
}

// At a cold point the arguments of old edits leave a request, in every wire format. What stays are valid arguments (TRIM-13).
func TestArguments(t *testing.T) {
	for i := range 3 {
		p := newProxy(t)
		to := []endpoint{p.endpoints.messages, p.endpoints.chat, p.endpoints.responses}[i]
		first, err := to.codec.Encode(edits(20))
		if err != nil {
			t.Fatal(err)
		}
		send(t, p, to, first, noon, record.Usage{})
		body, err := to.codec.Encode(edits(21))
		if err != nil {
			t.Fatal(err)
		}
		sent, row := send(t, p, to, body, noon.Add(2*time.Hour), record.Usage{})
		if row.Cache.Moment != string(trim.Gap) || row.Tokens >= row.TokensOff || len(sent) >= len(body) || !json.Valid(sent) {
			t.Fatalf("%s: %+v, %d of %d bytes", to.api, row, len(sent), len(body))
		}
		req, err := to.codec.Decode(sent)
		if err != nil {
			t.Fatal(err)
		}
		changed := 0
		for i, m := range req.Messages {
			for j, part := range m.Parts {
				was := edits(21).Messages[i].Parts[j]
				if part.Span = was.Span; part == was {
					continue
				}
				var args struct {
					Path string `json:"file_path"`
				}
				if err := json.Unmarshal([]byte(part.Args), &args); err != nil || args.Path == "" || part.Kind != llm.ToolCall {
					t.Errorf("%s: message %d: %s, %v", to.api, i, part.Args, err)
				}
				changed++
			}
		}
		if changed == 0 {
			t.Errorf("%s: no arguments changed", to.api)
		}
	}
}

// verify accepts only the object that was meant.
func TestVerifyArguments(t *testing.T) {
	body := []byte(`{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"Edit","input":{"a":"long"}}]}]}`)
	c := newProxy(t).endpoints.messages.codec
	req, err := c.Decode(body)
	if err != nil {
		t.Fatal(err)
	}
	change := []llm.Edit{{Text: `{"a":"b"}`}}
	patched, err := c.Patch(nil, body, req, change)
	if err != nil || verify(body, patched, req, change) != nil {
		t.Fatalf("%s, %v", patched, err)
	}
	for _, other := range []string{`{"a":"c"}`, `{"a":"b"} `, `{}`, `"{\"a\":\"b\"}"`, ``, `{"a":"b"}}`} {
		wrong := bytes.Replace(patched, []byte(`{"a":"b"}`), []byte(other), 1)
		if verify(body, wrong, req, change) == nil {
			t.Errorf("%s passed", wrong)
		}
	}
	short := patched[:bytes.Index(patched, []byte(`{"a"`))+3]
	if verify(body, short, req, change) == nil {
		t.Errorf("%s passed", short)
	}
}
