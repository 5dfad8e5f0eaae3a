package tokens

import (
	"reflect"
	"testing"

	"github.com/stet-dev/stet/llm"
)

// CTX-1: the shares by role and kind add up to the whole count.
func TestShares(t *testing.T) {
	messages := []llm.Message{
		{Role: llm.User, Parts: []llm.Part{{Text: "go"}}},
		{Role: llm.Assistant, Parts: []llm.Part{{Text: "yes"}, {Kind: llm.ToolCall, Name: "read", Args: "{}"}}},
		{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, Text: "text"}, {Kind: llm.ToolResult, Text: "more"}}},
		{Role: llm.System, Parts: []llm.Part{{Text: "note"}}},
		{Role: llm.User, Parts: []llm.Part{{Text: "never sent"}}, Local: true},
		{Role: llm.User},
	}
	want := []Share{
		{llm.System, llm.Text, 1, 4 + 4},
		{llm.User, llm.Text, 1, 4 + 2 + 4},
		{llm.Assistant, llm.Text, 1, 4 + 3},
		{llm.Assistant, llm.ToolCall, 1, 8 + 4 + 2},
		{llm.Tool, llm.ToolResult, 2, 4 + 6 + 4 + 6 + 4},
	}
	got := Shares(messages, perByte{})
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	sum := 0
	for _, s := range got {
		sum += s.Tokens
	}
	if n := CountMessages(messages, perByte{}); sum != n {
		t.Errorf("the shares are %d tokens, all is %d", sum, n)
	}
}
