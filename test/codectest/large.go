package codectest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
)

const line = "    12\tif err := store.Append(ctx, \"event\"); err != nil {\n"

// conversation returns the body of a request with n rounds, whose results have size bytes each.
func conversation(t testing.TB, c llm.Codec, n, size int) []byte {
	req := &llm.Request{Model: "m", MaxTokens: 1000, Messages: []llm.Message{
		{Role: llm.System, Parts: []llm.Part{{Text: strings.Repeat("Be brief. ", 500)}}},
		{Role: llm.User, Parts: []llm.Part{{Text: "Go on."}}},
	}}
	for i := range 20 {
		req.AddTool(fmt.Sprint("tool", i), strings.Repeat("Reads a file and shows its lines. ", 20),
			[]byte(`{"type":"object","properties":{"path":{"type":"string"}}}`))
	}
	lines := strings.Repeat(line, 1+size/len(line))[:size]
	for i := range n {
		id := fmt.Sprintf("call_%d", i)
		req.Messages = append(req.Messages,
			llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Text: "I look at the next file."},
				{Kind: llm.ToolCall, CallID: id, Name: "read", Args: fmt.Sprintf(`{"file_path":"/home/me/project/f%d.go"}`, i%50)}}},
			llm.Message{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: id, Text: lines}}})
	}
	return encode(t, c, req)
}

func encode(t testing.TB, c llm.Codec, req *llm.Request) []byte {
	t.Helper()
	body, err := c.Encode(req)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// A long conversation can be decoded, and so can one large text.
func large(t *testing.T, f Format) {
	req, err := f.Codec.Decode(conversation(t, f.Codec, 5000, 10))
	if err != nil || len(req.Messages) != 10002 {
		t.Fatalf("%v", err)
	}
	text := strings.Repeat(line, 50<<20/len(line))
	huge := encode(t, f.Codec, &llm.Request{Messages: []llm.Message{
		{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: "c", Text: text}}}}})
	if req, err = f.Codec.Decode(huge); err != nil || req.Messages[0].Parts[0].Text != text {
		t.Fatalf("%v", err)
	}
	if _, err := f.Codec.Decode(huge[:len(huge)/2]); err == nil {
		t.Error("half a body passed")
	}
}
