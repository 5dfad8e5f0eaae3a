package proxy_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/server/proxy"
	"github.com/stet-dev/stet/trim"
)

// TRIM-12: an agent asks for a compaction. The provider gets the conversation as it was sent before. Whole, it is larger than the usage in
// the answers told the agent, and may be larger than the model's window.
func TestCompact(t *testing.T) {
	for _, path := range []string{"/v1/responses/compact", "/responses/compact", "/openai/v1/responses/compact"} {
		up := &recorder{answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"id":"r","object":"response.compaction","output":[],"usage":{"input_tokens":100,"output_tokens":7}}`)
		}}
		r := newRig(t, up, func(c *proxy.Config) {
			c.History = trim.Config{Policy: trim.Adaptive}
			c.Upstreams[llm.Azure] = c.Upstreams[llm.Gemini]
		})
		asked := strings.TrimSuffix(path, "/compact")
		var items []string
		add := func(format string, args ...any) { items = append(items, fmt.Sprintf(format, args...)) }
		add(`{"role":"user","content":[{"type":"input_text","text":"look at it"}]}`)
		for i := range 20 {
			command, output := fmt.Sprintf("make %d", i), strings.Repeat(fmt.Sprintf("built one more target of %d\n", i), 30)
			if i%5 == 0 {
				command, output = "cat a.go", strings.ReplaceAll(content(40), "\t", " ")
			}
			add(`{"type":"function_call","call_id":"call_%d","name":"shell","arguments":%q}`, i, fmt.Sprintf(`{"command":%q}`, command))
			add(`{"type":"function_call_output","call_id":"call_%d","output":%q}`, i, output)
			r.post(asked, fmt.Sprintf(`{"model":"gpt-5.1","store":false,"instructions":%q,"tools":[{"type":"function","name":"shell"}],"input":[%s]}`, rules, strings.Join(items, ",")))
		}
		sent := up.last(t).body
		r.post(path, fmt.Sprintf(`{"model":"gpt-5.1","instructions":%q,"input":[%s]}`, rules, strings.Join(items, ",")))
		last := up.last(t)
		if !strings.HasSuffix(last.uri, "/responses/compact") {
			t.Errorf("%s went to %s", path, last.uri)
		}
		input := func(body []byte) string {
			var b struct{ Input json.RawMessage }
			if err := json.Unmarshal(body, &b); err != nil {
				t.Fatal(err)
			}
			return string(b.Input)
		}
		if !strings.Contains(input(sent), "shown above") || input(last.body) != input(sent) {
			t.Errorf("%s: the conversation is not the one that was sent:\n%s\n%s", path, input(sent), input(last.body))
		}
		rows := r.rows()
		if row := rows[len(rows)-1]; row.API != llm.Responses || row.Trimmed == 0 || row.Usage.Output != 7 {
			t.Errorf("row %+v", row)
		}
	}
}

// TRIM-17: a request that asks for a compaction is no request in the middle of work, in which something may leave that the provider's cache holds: it
// would be written again for a conversation that ends here.
func TestCompactionBreaksNothing(t *testing.T) {
	up := &recorder{}
	r := newRig(t, up, func(c *proxy.Config) { c.History = trim.Config{Policy: trim.Bold} })
	items, breaks := []string{`{"role":"user","content":"look at it"}`}, 0
	post := func(path string, items ...string) (input string) {
		r.post(path, fmt.Sprintf(`{"model":"gpt-5.1","store":false,"instructions":%q,"input":[%s]}`, rules, strings.Join(items, ",")))
		var sent struct{ Input json.RawMessage }
		if err := json.Unmarshal(up.last(t).body, &sent); err != nil {
			t.Fatal(err)
		}
		return strings.TrimSuffix(string(sent.Input), "]")
	}
	before := ""
	for i := range 120 {
		output := new(strings.Builder)
		for line := range 120 {
			fmt.Fprintf(output, "%d: built target %d\n", i, line)
		}
		items = append(items, fmt.Sprintf(`{"type":"function_call","call_id":"call_%d","name":"shell","arguments":"{\"command\":\"make %d\"}"}`, i, i),
			fmt.Sprintf(`{"type":"function_call_output","call_id":"call_%d","output":%q}`, i, output))
		sent := post("/v1/responses", items...)
		if !strings.HasPrefix(sent, before) {
			breaks++
		}
		before = sent
		more := func(item string) []string { return append(items[:len(items):len(items)], item) }
		for path, asked := range map[string][]string{
			"/v1/responses":         more(`{"type":"compaction_trigger"}`),
			"/v1/responses/compact": more(`{"role":"assistant","content":"It is done."}`),
		} {
			if got := post(path, asked...); !strings.HasPrefix(got, sent) {
				t.Fatalf("after %d calls, %s: not as it was sent", i+1, path)
			}
		}
	}
	if breaks == 0 {
		t.Error("nothing leaves in the middle of work")
	}
}

// TRIM-12: a request for a compaction may end with an answer that a request before it ended with too.
func TestCompactionBehindAnswer(t *testing.T) {
	up := &recorder{}
	r := newRig(t, up, func(c *proxy.Config) { c.History = trim.Config{Policy: trim.Adaptive} })
	items := []string{`{"role":"user","content":"look at it"}`}
	for i := range 3 {
		items = append(items, fmt.Sprintf(`{"type":"function_call","call_id":"call_%d","name":"shell","arguments":"{\"command\":\"cat a.go\"}"}`, i),
			fmt.Sprintf(`{"type":"function_call_output","call_id":"call_%d","output":%q}`, i, strings.ReplaceAll(content(40), "\t", " ")))
	}
	items = append(items, `{"role":"assistant","content":"It is done."}`)
	for _, path := range []string{"/v1/responses", "/v1/responses/compact", "/v1/responses"} {
		r.post(path, fmt.Sprintf(`{"model":"gpt-5.1","store":false,"instructions":%q,"input":[%s]}`, rules, strings.Join(items, ",")))
		if !strings.Contains(string(up.last(t).body), "shown above") {
			t.Errorf("%s: the conversation went out whole", path)
		}
	}
	for i, row := range r.rows() {
		if row.Passed != "" {
			t.Errorf("request %d went untouched: %s", i, row.Passed)
		}
	}
}
