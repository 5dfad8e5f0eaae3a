package openai

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/test/codectest"
)

func TestUsageOf(t *testing.T) { // CTX-1
	for raw, want := range map[string]llm.Usage{
		`{"prompt_tokens":2006,"completion_tokens":300,"total_tokens":2306,"prompt_tokens_details":{"cached_tokens":1920,"audio_tokens":0},
		  "completion_tokens_details":{"reasoning_tokens":120}}`: {Input: 86, CacheRead: 1920, Output: 300, Reasoning: 120},
		`{"input_tokens":2006,"input_tokens_details":{"cached_tokens":1900,"cache_write_tokens":100},"output_tokens":9,
		  "output_tokens_details":{"reasoning_tokens":4},"total_tokens":2015}`: {Input: 6, CacheRead: 1900, CacheWrite: 100, Output: 9, Reasoning: 4},
		`{"prompt_tokens":5,"completion_tokens":1,"prompt_tokens_details":null}`:                     {Input: 5, Output: 1},
		`{"prompt_tokens":5,"prompt_tokens_details":{"cached_tokens":9}}`:                            {CacheRead: 5},
		`{"completion_tokens":5,"completion_tokens_details":{"reasoning_tokens":9}}`:                 {Output: 5, Reasoning: 5},
		`{"prompt_tokens":10,"prompt_tokens_details":{"cached_tokens":null,"cache_write_tokens":3}}`: {Input: 7, CacheWrite: 3},
		`{}`: {},
		// BILL-2: Kimi, DeepSeek, a gateway in front of Claude, Codex; a server that does not count reasoning in the output.
		`{"prompt_tokens":100,"completion_tokens":1,"total_tokens":101,"cached_tokens":97}`:                                            {Input: 3, CacheRead: 97, Output: 1},
		`{"prompt_tokens":100,"prompt_cache_hit_tokens":97,"prompt_cache_miss_tokens":3,"prompt_tokens_details":{"cached_tokens":97}}`: {Input: 3, CacheRead: 97},
		`{"prompt_tokens":100,"cache_read_input_tokens":90,"cache_creation_input_tokens":7,"cached_tokens":null}`:                      {Input: 3, CacheRead: 90, CacheWrite: 7},
		`{"input_tokens":100,"cached_input_tokens":90,"cache_write_input_tokens":7,"output_tokens":5,"reasoning_output_tokens":4}`:     {Input: 3, CacheRead: 90, CacheWrite: 7, Output: 5, Reasoning: 4},
		`{"prompt_tokens":10,"completion_tokens":2,"total_tokens":19,"completion_tokens_details":{"reasoning_tokens":7}}`:              {Input: 10, Output: 9, Reasoning: 7},
		`{"prompt_tokens":10,"server_tool_use":{"web_search_requests":2}}`:                                                             {Input: 10, WebSearches: 2},
	} {
		for _, c := range []llm.Codec{Chat{}, Responses{}} {
			got, err := c.UsageOf([]byte(raw))
			if err != nil || got != want {
				t.Errorf("%s: %+v, %v", raw, got, err)
			}
		}
	}
	for _, raw := range []string{``, `[]`, `null`, `{"prompt_tokens":-1}`, `{"prompt_tokens":"5"}`, `{"prompt_tokens_details":{"cached_tokens":[]}}`, `{"x":1`} {
		if got, err := (Chat{}).UsageOf([]byte(raw)); err == nil {
			t.Errorf("%s: %+v", raw, got)
		}
	}
}

// BILL-2: the tier that answered and the searches that it ran are read; usage without an object's name is.
func TestMeterTerms(t *testing.T) {
	for body, want := range map[string]llm.Usage{
		`{"object":"response","service_tier":"flex","output":[{"type":"web_search_call","action":{"type":"search"}},{"type":"web_search_call","action":{"type":"open_page"}},
		  {"type":"web_search_call"},{"type":"message","content":[]}],"usage":{"input_tokens":1}}`: {Input: 1, Tier: "flex", WebSearches: 2},
		`{"service_tier":"default","output":[],"tool_usage":{"web_search":{"num_requests":3}},"usage":{"input_tokens":1}}`: {Input: 1, WebSearches: 3},
		`{"type":"response.output_item.done","item":{"usage":{"input_tokens":5}},"usage":{"input_tokens":5}}`:              {},
	} {
		m := Responses{}.NewMeter("application/json")
		_, _ = m.Write([]byte(body))
		if got := m.Reading().Usage; got != want {
			t.Errorf("%s: %+v", body, got)
		}
	}
	m := Chat{}.NewMeter("application/json")
	_, _ = m.Write([]byte(`{"choices":[],"usage":{"prompt_tokens":1},"service_tier":"priority"}`))
	if got := m.Reading().Usage; got.Tier != llm.TierPriority {
		t.Errorf("%+v", got)
	}
}

func chatEvents() string {
	var out strings.Builder
	for _, data := range []string{
		`{"id":"x","object":"chat.completion.chunk","model":"m-1","choices":[{"index":0,"delta":{"role":"assistant"},"finish_reason":null}],"usage":null}`,
		`{"id":"x","object":"chat.completion.chunk","model":"m-1","choices":[{"index":0,"delta":{"content":"usage"},"finish_reason":null}]}`,
		`{"id":"x","object":"chat.completion.chunk","model":"m-1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`,
		`{"id":"x","object":"chat.completion.chunk","model":"m-1","choices":[],"usage":{"prompt_tokens":100,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":64}}}`,
		`[DONE]`,
	} {
		fmt.Fprintf(&out, "data: %s\n\n", data)
	}
	return out.String()
}

func responsesEvents() string {
	var out strings.Builder
	for _, e := range [][2]string{
		{"response.created", `{"type":"response.created","response":{"id":"r","object":"response","model":"m-1","status":"in_progress","usage":null,"output":[]}}`},
		{"response.output_item.added", `{"type":"response.output_item.added","item":{"type":"message","status":"in_progress"}}`},
		{"response.output_text.delta", `{"type":"response.output_text.delta","delta":"usage"}`},
		{"response.completed", `{"type":"response.completed","response":{"id":"r","object":"response","model":"m-1","status":"completed","incomplete_details":null,"output":[],"usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":64},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":2}}}}`},
	} {
		fmt.Fprintf(&out, "event: %s\ndata: %s\n\n", e[0], e[1])
	}
	return out.String()
}

func TestMeter(t *testing.T) { // CTX-1
	for _, c := range []struct {
		codec             llm.Codec
		contentType, body string
		usage             llm.Usage
		stopReason        string
		missed            string
	}{
		{Chat{}, "text/event-stream; charset=utf-8", chatEvents(), llm.Usage{Input: 36, CacheRead: 64, Output: 7}, "tool_calls", ""},
		{Responses{}, "text/event-stream; charset=utf-8", responsesEvents(), llm.Usage{Input: 36, CacheRead: 64, Output: 7, Reasoning: 2}, "completed", ""},
		{Chat{}, "application/json", completion, llm.Usage{Input: 9, Output: 3}, "tool_calls", ""},
		{Responses{}, "application/json", response, llm.Usage{Input: 9, Output: 3}, "max_output_tokens", "input_changed"},
	} {
		want := llm.Reading{Missed: c.missed, Usage: c.usage, Counted: true, Model: "m-1", StopReason: c.stopReason}
		codectest.Meter(t, c.codec, c.contentType, c.body, want)
		for n := range len(c.body) { // cut at every position
			m := c.codec.NewMeter(c.contentType)
			m.Write([]byte(c.body[:n]))
			if r := m.Reading(); r.Counted && r.Usage != c.usage || !r.Counted && !r.Usage.IsZero() {
				t.Fatalf("%T cut at %d: %+v", c.codec, n, r)
			}
		}
	}
}

const completion = `{"id":"x","object":"chat.completion","model":"m-1","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,
 "tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{}"}}]}}],"usage":{"prompt_tokens":9,"completion_tokens":3}}`

const response = `{"id":"r","object":"response","model":"m-1","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},
 "instructions":"You help.","output":[{"type":"reasoning","summary":[]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hi."}]},
 {"type":"function_call","call_id":"c1","name":"read","arguments":"{}"}],"usage":{"input_tokens":9,"output_tokens":3},
 "prompt_cache_diagnostics":{"type":"cache_miss","reason":"input_changed","cache_missed_tokens":7}}`

func TestDecodeResponse(t *testing.T) {
	res, err := Chat{}.DecodeResponse([]byte(completion))
	if err != nil || res.ID != "x" || res.Model != "m-1" || res.StopReason != "tool_calls" || res.Usage.Output != 3 ||
		len(res.Message.Parts) != 1 || res.Message.Parts[0].Name != "read" {
		t.Errorf("%+v, %v", res, err)
	}
	res, err = Responses{}.DecodeResponse([]byte(response))
	if err != nil || res.ID != "r" || res.Model != "m-1" || res.StopReason != "max_output_tokens" || res.Usage.Output != 3 ||
		len(res.Message.Parts) != 3 || res.Message.Parts[1].Text != "Hi." || res.Message.Parts[2].CallID != "c1" {
		t.Errorf("%+v, %v", res, err)
	}
	for _, body := range []string{``, `{}`, `{"choices":[]}`, `{"choices":5}`, `{"choices":[{"message":5}]}`, `{"choices":[{"message":{"role":"assistant"}}]`} {
		if _, err := (Chat{}).DecodeResponse([]byte(body)); err == nil {
			t.Errorf("%s passed", body)
		}
	}
	for _, body := range []string{``, `{}`, `{"object":"response"}`, `{"object":"response","output":5}`, `{"object":"list","output":[]}`} {
		if _, err := (Responses{}).DecodeResponse([]byte(body)); err == nil {
			t.Errorf("%s passed", body)
		}
	}
}

func TestSession(t *testing.T) {
	for _, c := range []struct {
		headers             string
		key                 string
		conversation, agent string
	}{
		{"", "", "", ""},
		{"", "k1", "k1", ""},
		{"session-id=s1,thread-id=s1", "k1", "s1", ""},
		{"session-id=s1,thread-id=t2", "k1", "s1", "t2"},
		{"session_id=s1", "", "s1", ""},
		{"thread-id=t1", "t1", "t1", ""}, // the key in the body is the id of the session's own thread
		{"x-session-id=ses_1", "k1", "ses_1", ""},
		{"session-id=s1,thread-id=s1,x-openai-subagent=review", "", "s1", "review"},
		{"user-agent=codex_exec/1", "", "", ""},
	} {
		h := http.Header{}
		for _, pair := range strings.Split(c.headers, ",") {
			if name, value, ok := strings.Cut(pair, "="); ok {
				h.Set(name, value)
			}
		}
		for _, codec := range []llm.Codec{Chat{}, Responses{}} {
			conversation, agent := codec.Session(h.Get, &llm.Request{SessionKey: c.key})
			if conversation != c.conversation || agent != c.agent {
				t.Errorf("%s: %q, %q", c.headers, conversation, agent)
			}
		}
	}
}
