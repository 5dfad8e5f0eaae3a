package llmtest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/llmtest"
)

// A strict server takes a conversation that only grows, refuses what the provider
// refuses (WIRE-1, WIRE-8), and drops blocks where it is asked to.
func TestBoundThinking(t *testing.T) {
	server, err := llmtest.Start(llmtest.Config{Strict: true, Handler: func(req *llm.Request) (llm.Response, error) {
		return llm.Response{Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{
			{Kind: llm.Thinking, Text: "hm"}, {Kind: llm.Opaque, Raw: `{"type":"redacted_thinking","data":"x"}`}, {Text: "well"},
		}}}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	post := func(path, body string, h ...string) (int, map[string]any) {
		t.Helper()
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, strings.NewReader(body))
		for i := 0; i+1 < len(h); i += 2 {
			r.Header.Set(h[i], h[i+1])
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		var out map[string]any
		if err := json.Unmarshal(text, &out); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return resp.StatusCode, out
	}
	contentOf := func(answer map[string]any) string {
		text, _ := json.Marshal(answer["content"])
		return string(text)
	}
	const head = `{"model":"m","max_tokens":9,"system":"Help.","tools":[{"name":"b","input_schema":{}},{"name":"a","input_schema":{}}],"messages":[{"role":"user","content":"one"}`
	status, first := post("/v1/messages", head+`]}`)
	if status != 200 {
		t.Fatal(status, first)
	}
	a1 := `,{"role":"assistant","content":` + contentOf(first) + `},{"role":"user","content":"two"}`
	status, second := post("/v1/messages", head+a1+`]}`)
	if status != 200 {
		t.Fatal(status, second)
	}
	a2 := `,{"role":"assistant","content":` + contentOf(second) + `},{"role":"user","content":"three"}`
	without := func(answer map[string]any) string { return `{"role":"assistant","content":` + contentOf(answer) + `}` }
	bare := `{"role":"assistant","content":[{"type":"text","text":"well"}]}`
	whole := head + a1 + a2 + `]}`
	edit := func(old, new string) string {
		if !strings.Contains(whole, old) {
			t.Fatalf("%s is not in %s", old, whole)
		}
		return strings.Replace(whole, old, new, 1)
	}
	for name, c := range map[string]struct {
		body string
		at   string // the block that is refused; "": none
	}{
		"grown":                     {whole, ""},
		"a marker":                  {edit(`"content":"one"`, `"content":[{"type":"text","text":"one","cache_control":{"type":"ephemeral"}}]`), ""},
		"tools in another order":    {edit(`{"name":"b","input_schema":{}},{"name":"a","input_schema":{}}`, `{"name":"a","input_schema":{}},{"name":"b","input_schema":{}}`), ""},
		"a deferred tool":           {edit(`"tools":[`, `"tools":[{"name":"c","defer_loading":true},`), ""},
		"another parameter":         {edit(`"max_tokens":9`, `"max_tokens":10,"tool_choice":{"type":"auto"}`), ""},
		"no thinking at the start":  {edit(without(first), bare), ""},
		"no thinking at the end":    {edit(without(second), bare), ""},
		"system":                    {edit("Help.", "Help!"), "messages.1.content.0"},
		"a tool more":               {edit(`"tools":[`, `"tools":[{"name":"c"},`), "messages.1.content.0"},
		"an earlier message":        {edit(`"two"`, `"2"`), "messages.3.content.0"},
		"a text between":            {edit(`{"data"`, `{"type":"text","text":"so"},{"data"`), "messages.1.content.2"},
		"thinking in other words":   {edit(`"hm"`, `"hmm"`), "messages.1.content.0"},
		"no first block of several": {edit(contentOf(second), `[`+strings.SplitN(contentOf(second), "},", 2)[1]), "messages.3.content.0"},
	} {
		for _, path := range []string{"/v1/messages", "/v1/messages/count_tokens"} {
			status, answer := post(path, c.body)
			if c.at == "" {
				if status != 200 {
					t.Errorf("%s, %s: %d %v", name, path, status, answer)
				}
				continue
			}
			text, _ := json.Marshal(answer)
			if status != 400 || !strings.Contains(string(text), c.at+": Invalid `signature` in `thinking` block. The block is bound to a different conversation.") {
				t.Errorf("%s, %s: %d %s", name, path, status, text)
			}
		}
	}
	dropping := strings.Replace(edit(`"two"`, `"2"`), `"max_tokens":9`, `"max_tokens":9,"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}}`, 1)
	if status, answer := post("/v1/messages", dropping); status != 400 {
		t.Errorf("without the beta header: %d %v", status, answer)
	}
	status, answer := post("/v1/messages", dropping, "Anthropic-Beta", llmtest.BindingBeta)
	text, _ := json.Marshal(answer["input_transformations"])
	const want = `[{"path":"messages.3.content.0","reason":"prefix_binding_mismatch","type":"thinking_dropped"},{"path":"messages.3.content.1","reason":"prefix_binding_mismatch","type":"thinking_dropped"}]`
	if status != 200 || string(text) != want {
		t.Errorf("drop_block: %d %s", status, text)
	}
}
