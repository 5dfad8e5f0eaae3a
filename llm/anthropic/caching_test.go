package anthropic

import (
	"testing"

	"github.com/stet-dev/stet/llm"
)

// TRIM-16: Clears is set for every way in which the provider may leave out parts of the prompt. No pointer may name content that
// could be missing.
func TestClears(t *testing.T) {
	const (
		call    = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"Read","input":{"file_path":"a.go"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"text"}]}`
		summary = `{"role":"assistant","content":[{"type":"compaction","content":"a.go was read."},{"type":"text","text":"On."}]}`
		end     = `,{"role":"user","content":"go"}`
	)
	for _, tt := range []struct {
		management, messages string
		want                 bool
	}{
		{``, call, false},
		{`{}`, call, false},
		{`{"edits":[]}`, call, false},
		{`{"edits":[{"type":"clear_thinking_20251015"}]}`, call, false},
		{`{"edits":[{"type":"clear_tool_uses_20250919"}]}`, call, true},
		{`{"edits":[{"type":"clear_thinking_20251015"},{"type":"compact_20260112"}]}`, call, true},
		{`{"edits":[{"type":"of_tomorrow"}]}`, call, true},
		{``, call + `,` + summary, true},
		{``, summary + end + `,` + call, false},
	} {
		prefix := `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"go"},`
		suffix := `]}`
		if tt.management != "" {
			suffix = `],"context_management":` + tt.management + `}`
		}
		short, long := prefix+tt.messages+suffix, prefix+tt.messages+end+suffix
		before, err := Messages{}.Decode([]byte(short))
		if err != nil {
			t.Fatal(err)
		}
		after, err := Messages{}.DecodeAfter([]byte(long), before, []byte(short), 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, req := range []*llm.Request{before, after} {
			if req.Caching.Clears != tt.want {
				t.Errorf("%s, %d messages: %v", short, len(req.Messages), req.Caching.Clears)
			}
		}
	}
}
