package proxy_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/stet-dev/stet/server/proxy"
	"github.com/stet-dev/stet/trim"
)

// BILL-2: 97 % of a prompt was in the cache. The proxy reads that in every place where a server says it, also in a compressed
// answer. The model's name changed, so the proxy took the cache for cold: what the answer says shows that it was not.
func TestCachedWhereverItIsSaid(t *testing.T) {
	const all, cached = 20000, 19400
	message := `"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"hi"}}]`
	chat := func(usage string) string {
		return fmt.Sprintf(`{"id":"c","model":"m","object":"chat.completion",%s,"usage":{"prompt_tokens":%d,"completion_tokens":44,%s}}`, message, all, usage)
	}
	details := fmt.Sprintf(`"prompt_tokens_details":{"cached_tokens":%d}`, cached)
	usage := fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":44,%s}`, all, details)
	response := fmt.Sprintf(`"status":"completed","output":[],"usage":{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d},"output_tokens":44}}`, all, cached)
	anthropic := fmt.Sprintf(`"usage":{"input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":44}}`, all-cached, cached)
	pack := func(w io.WriteCloser, packed *bytes.Buffer, text string) string {
		_, _ = io.WriteString(w, text)
		_ = w.Close()
		return packed.String()
	}
	var zipped, packed bytes.Buffer
	z, err := zstd.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	events := "text/event-stream"
	for name, c := range map[string]struct{ path, kind, answer, coding string }{
		"details":            {"chat/completions", "application/json", chat(details), ""},
		"Kimi":               {"chat/completions", "application/json", chat(fmt.Sprintf(`"cached_tokens":%d`, cached)), ""},
		"DeepSeek":           {"chat/completions", "application/json", chat(fmt.Sprintf(`"prompt_cache_hit_tokens":%d,"prompt_cache_miss_tokens":%d`, cached, all-cached)), ""},
		"a gateway":          {"chat/completions", "application/json", chat(fmt.Sprintf(`"cache_read_input_tokens":%d,"prompt_tokens_details":null`, cached)), ""},
		"Groq":               {"chat/completions", events, `data: {"id":"c","model":"m","choices":[],"x_groq":{"id":"r","usage":` + usage + "}}\n\ndata: [DONE]\n\n", ""},
		"in the choice":      {"chat/completions", events, `data: {"id":"c","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":` + usage + "}]}\n\ndata: [DONE]\n\n", ""},
		"zeros behind it":    {"chat/completions", events, `data: {"choices":[],"usage":` + usage + "}\n\n" + `data: {"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0}}` + "\n\n", ""},
		"gzip":               {"chat/completions", "application/json", pack(gzip.NewWriter(&zipped), &zipped, chat(details)), "gzip"},
		"zstd":               {"chat/completions", "application/json", pack(z, &packed, chat(details)), "zstd"},
		"response":           {"responses", "application/json", `{"id":"r","object":"response",` + response, ""},
		"response, no kind":  {"responses", "application/json", `{"id":"r",` + response, ""},
		"event without name": {"responses", events, `data: {"type":"response.completed","response":{"id":"r",` + response + "}\n\n", ""},
		"other event's name": {"responses", events, `event: completed` + "\n" + `data: {"response":{"id":"r",` + response + "}\n\n", ""},
		"message, no type":   {"messages", "application/json", `{"id":"m","role":"assistant","model":"m","content":[],"stop_reason":"end_turn",` + anthropic, ""},
		"events, no type":    {"messages", events, "event: message_start\n" + `data: {"message":{"id":"m","model":"m","content":[],` + anthropic + "}\n\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", c.kind)
				if c.coding != "" {
					w.Header().Set("Content-Encoding", c.coding)
				}
				_, _ = io.WriteString(w, c.answer)
			}), func(c *proxy.Config) { c.History = trim.Config{Policy: trim.Adaptive} })
			for _, model := range []string{"one-model", "other-model"} {
				status, header, answer := r.do(http.MethodPost, "/v1/"+c.path, strings.NewReader(longChat(c.path, model)))
				if status != 200 || header.Get("Content-Encoding") != "" || c.coding != "" && answer != chat(details) {
					t.Fatalf("%d, %v: %q", status, header, answer)
				}
			}
			rows := r.rows()
			if u := rows[1].Usage; u.CacheRead != cached || u.Input != all-cached || u.Output != 44 {
				t.Errorf("usage %+v", u)
			}
			if k := rows[1].Cache; k.Moment != string(trim.Model) || !k.Alive {
				t.Errorf("the cache was alive: %+v", k)
			}
		})
	}
}

// longChat is a request with ten long results, over one of the APIs.
func longChat(path, model string) string {
	var b strings.Builder
	list := "messages"
	if path == "responses" {
		list = "input"
	}
	fmt.Fprintf(&b, `{"model":%q,"max_tokens":9,%q:[{"role":"user","content":"go on"}`, model, list)
	for i := range 10 {
		text := strings.Repeat(fmt.Sprintf("ok %d: one more of the targets is built\n", i), 100)
		switch path {
		case "responses":
			fmt.Fprintf(&b, `,{"type":"function_call","call_id":"c%d","name":"Bash","arguments":"{}"},{"type":"function_call_output","call_id":"c%d","output":%q}`, i, i, text)
		case "messages":
			fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"tool_use","id":"c%d","name":"Bash","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c%d","content":%q}]}`, i, i, text)
		default:
			fmt.Fprintf(&b, `,{"role":"assistant","content":null,"tool_calls":[{"id":"c%d","type":"function","function":{"name":"Bash","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c%d","content":%q}`, i, i, text)
		}
	}
	return b.String() + "]}"
}

// BILL-2: what the provider counts and no codec knows is counted with its name. A long word of the provider is stored in part.
func TestUnknownUsage(t *testing.T) {
	r := newRig(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"id":"c","choices":[],"usage":{"prompt_tokens":1,"prompt_tokens_details":{"cached_tokens":0,"video_tokens":9},"extra_units":3,"zero_units":0},"service_tier":"`+strings.Repeat("t", 1<<20)+`"}`)
	}))
	for range 2 {
		r.post("/v1/chat/completions", apis[1].body)
	}
	if tier := r.rows()[0].Usage.Tier; len(tier) != 256 {
		t.Errorf("the tier has %d bytes", len(tier))
	}
	if got := r.proxy.Totals().Unknown; len(got) != 2 || got["extra_units"] != 2 || got["prompt_tokens_details.video_tokens"] != 2 {
		t.Error(got)
	}
}
