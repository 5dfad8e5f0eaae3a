package transcript

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/stet-dev/stet/llm"
)

// A written session can be read again unchanged, except for data without a place in the format.
func TestWriteClaudeCode(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	opaque := llm.Part{Kind: llm.Opaque, Raw: `{"type":"image","source":{"data":"eA=="}}`}
	kept := []llm.Message{
		{Role: llm.User, Parts: []llm.Part{{Text: "look <b>here</b>\u2028"}, opaque}},
		{
			Role: llm.Assistant, ID: "msg_1", Model: "model-a", Time: at,
			Usage: &llm.Usage{Input: 1, CacheRead: 2, CacheWrite: 30, CacheWrite1h: 4, Output: 5},
			Parts: []llm.Part{
				{Kind: llm.Thinking, Text: "hm", Raw: `{"type":"thinking","thinking":"hm","signature":"x=="}`},
				{Text: "two calls"},
				{Kind: llm.ToolCall, CallID: "c1", Name: "read", Args: `{"path":"a.go"}`},
				{Kind: llm.ToolCall, CallID: "c2", Name: "patch", Args: `{"input":"*** Begin"}`},
			},
		},
		{Role: llm.Tool, Time: at.Add(time.Second), Parts: []llm.Part{
			{Kind: llm.ToolResult, CallID: "c1", Text: "package a"},
			{Kind: llm.ToolResult, CallID: "c2", Text: "no", IsError: true},
		}},
		{Role: llm.Assistant, ID: "msg_2", Time: at.Add(2 * time.Second), Parts: []llm.Part{{Text: "done"}}},
	}
	in := append([]llm.Message{
		{Role: llm.System, Parts: []llm.Part{{Text: "be brief"}}},
		{Role: llm.User, Local: true, Parts: []llm.Part{{Text: "a note"}}},
	}, kept...)
	in[3].Parts = append([]llm.Part{{Kind: llm.Thinking, Text: "another's", Raw: `{"type":"reasoning"}`}}, kept[1].Parts...)
	in[3].Parts[4].Args = "*** Begin"

	var first, second bytes.Buffer
	for _, w := range []*bytes.Buffer{&first, &second} {
		if err := WriteClaudeCode(w, &Session{ID: "s1", Dir: "/home/me/project", Messages: in}); err != nil {
			t.Fatal(err)
		}
	}
	if first.String() != second.String() {
		t.Error("the same session is written in two ways")
	}
	path := filepath.Join(t.TempDir(), "s.jsonl")
	if err := os.WriteFile(path, first.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Opener{}.Open(path)
	if err != nil || len(got) != 1 || got[0].Format != "claude-code-jsonl" || got[0].Dir != "/home/me/project" || len(got[0].Damaged) > 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	// The reader gives IDs to user messages, and times to all messages.
	for i := range got[0].Messages {
		if m := &got[0].Messages[i]; m.Role != llm.Assistant {
			m.ID = ""
		}
	}
	got[0].Messages[0].Time = time.Time{}
	if d := cmp.Diff(kept, got[0].Messages, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}
