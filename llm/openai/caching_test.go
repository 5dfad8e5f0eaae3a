package openai

import (
	"testing"

	"github.com/stet-dev/stet/llm"
)

// TRIM-16: what the provider leaves out of the prompt by itself is told.
func TestClears(t *testing.T) {
	const (
		user    = `{"role":"user","content":"go"}`
		call    = `{"type":"function_call","call_id":"a","name":"read","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":"text"}`
		summary = `{"type":"compaction","encrypted_content":"c2ln"}`
	)
	for _, tt := range []struct {
		management, items string
		want              bool
	}{
		{``, call, false},
		{`null`, call, false},
		{`[]`, call, false},
		{`[{"type":"compaction","compact_threshold":1000}]`, call, true},
		{``, call + `,` + summary, true},
		{``, call + `,{"type":"message","role":"assistant","content":"hm"},` + summary, true},
		{``, call + `,` + user + `,` + summary, true},
		{``, summary + `,` + call, false}, // what was before it is not sent any more
	} {
		prefix := `{"model":"m","input":[` + user + `,`
		suffix := `]}`
		if tt.management != "" {
			suffix = `],"context_management":` + tt.management + `}`
		}
		short, long := prefix+tt.items+`,`+user+suffix, prefix+tt.items+`,`+user+`,`+user+suffix
		before, err := Responses{}.Decode([]byte(short))
		if err != nil {
			t.Fatal(err)
		}
		after, err := Responses{}.DecodeAfter([]byte(long), before, []byte(short))
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
