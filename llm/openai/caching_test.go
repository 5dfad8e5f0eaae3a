package openai

import (
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
)

// TRIM-16: Clears is set if the provider may leave out parts of the prompt.
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
		{``, summary + `,` + call, false}, // the messages before the summary are not in the request
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
		after, err := Responses{}.DecodeAfter([]byte(long), before, []byte(short), 0)
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

// A request says how long its prompt should be cached.
func TestRetention(t *testing.T) {
	for options, want := range map[string]time.Duration{
		`"prompt_cache_retention":"24h"`:                                           24 * time.Hour,
		`"prompt_cache_options":{"mode":"explicit","ttl":"12h"}`:                   12 * time.Hour,
		`"prompt_cache_options":{"ttl":"30m"}`:                                     0,
		`"prompt_cache_options":{"mode":"implicit"}`:                               0,
		`"prompt_cache_options":null`:                                              0,
		`"prompt_cache_options":{"ttl":"9h"},"prompt_cache_retention":"in_memory"`: 0,
	} {
		for _, c := range []struct {
			codec llm.Codec
			body  string
		}{
			{Responses{}, `{"model":"m","input":"hi",` + options + `}`},
			{Chat{}, `{"model":"m","messages":[{"role":"user","content":"hi"}],` + options + `}`},
		} {
			req, err := c.codec.Decode([]byte(c.body))
			if err != nil || req.Caching.Lifetime != want {
				t.Errorf("%s: %v %v", c.body, req, err)
			}
		}
	}
}
