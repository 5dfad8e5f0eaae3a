package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stet-dev/stet/server/proxy"
	"github.com/stet-dev/stet/trim"
)

// Members and blocks that stet does not change pass byte for byte, in any position. A repeated read beside them is still left
// out, except where the content it would point to may be gone. The provider's answers pass too, with their members about the
// cache (WIRE-7).
func TestMembersPass(t *testing.T) {
	read := func(n int) string {
		return fmt.Sprintf(`{"role":"assistant","content":[{"type":"tool_use","id":"c%d","name":"Read","input":{"file_path":"/home/me/project/a.go"}}]},`+
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c%d","content":%q}]}`, n, n, content(20))
	}
	messages := func(members, between string) string {
		return `{"model":"claude-sonnet-4-5","max_tokens":9,` + members + `"system":"` + rules + `","tools":[{"name":"Read","input_schema":{"type":"object"}}],` +
			`"messages":[{"role":"user","content":"look"},` + read(1) + between + `,` + read(2) + `]}`
	}
	item := func(n int) string {
		return fmt.Sprintf(`{"type":"function_call","call_id":"c%d","name":"Read","arguments":"{\"file_path\":\"/home/me/project/a.go\"}"},`+
			`{"type":"function_call_output","call_id":"c%d","output":%q}`, n, n, content(20))
	}
	responses := func(members, between string) string {
		return `{"model":"gpt-5.6",` + members + `"instructions":"` + rules + `","tools":[{"type":"function","name":"Read","parameters":{"type":"object"}}],` +
			`"input":[{"role":"user","content":"look"},` + item(1) + between + `,` + item(2) + `]}`
	}
	for _, tt := range []struct {
		name, path, body string
		whole            bool // nothing is left out
	}{
		{name: "diagnostics", path: "/v1/messages", body: messages(`"diagnostics":{"previous_message_id":"msg_1"},`, "")},
		{name: "keep old results", path: "/v1/messages", body: messages(`"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]},`, ""), whole: true},
		{name: "drop thinking", path: "/v1/messages", body: messages(`"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},`, "")},
		{name: "output_config", path: "/v1/messages", body: messages(`"output_config":{ "effort" : "low" },`, "")},
		{name: "a message's output_config", path: "/v1/messages", body: messages("", `,{"role":"user","content":"go on","output_config":{"effort":"low"}},{"role":"assistant","content":"Yes."}`)},
		{name: "clear_at", path: "/v1/messages", body: messages("", `,{"role":"system","clear_at":"next_user_message","content":"be brief"},{"role":"assistant","content":"Yes."}`)},
		{name: "tool_addition", path: "/v1/messages", body: messages("", `,{"role":"system","content":[{"type":"tool_addition","tools":[{"name":"Late","input_schema":{}}]}]},{"role":"assistant","content":"Yes."}`)},
		{name: "tool_removal", path: "/v1/messages", body: messages("", `,{"role":"system","content":[{"type":"tool_removal","names":["Late"]}]},{"role":"assistant","content":"Yes."}`)},
		{name: "compaction block", path: "/v1/messages", body: messages("", `,{"role":"assistant","content":[{"type":"compaction","content":"so far\u0020so good"}]}`), whole: true},
		{name: "unknown members", path: "/v1/messages", body: messages(`"speed":"fast","x":1e3,"y":[ {"z" : null} ],`, "")},

		{name: "prompt_cache_options", path: "/v1/responses", body: responses(`"prompt_cache_options":{"mode":"explicit","ttl":"30m","comparison_response_id":"resp_1"},`, "")},
		{name: "prompt_cache_breakpoint", path: "/v1/responses", body: responses("", `,{"role":"user","content":[{"type":"input_text","text":"go on","prompt_cache_breakpoint":{"mode":"explicit"}}]}`)},
		{name: "encrypted reasoning", path: "/v1/responses", body: responses("", `,{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA\/="}`)},
		{name: "compaction item", path: "/v1/responses", body: responses("", `,{"type":"compaction","encrypted_content":"gAAA="}`), whole: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const answer = `{"id":"m","type":"message","role":"assistant","content":[],"usage":{"input_tokens":9,"output_tokens":1},"diagnostics":{"cache_miss_reason":{"type":"messages_changed","cache_missed_input_tokens":7}}}`
			var got string
			r := newRig(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				got = string(b)
				_, _ = io.WriteString(w, answer)
			}), func(c *proxy.Config) { c.History = trim.Config{Policy: trim.Lossless} })
			status, said := r.post(tt.path, tt.body, "Content-Type", "application/json", "Anthropic-Beta", "context-management-2025-06-27")
			if status != http.StatusOK || said != answer {
				t.Errorf("the answer is %d %s", status, said)
			}
			// The body differs only in the second read.
			second := strings.LastIndex(tt.body, strconv.Quote(content(20)))
			before, after := tt.body[:second], tt.body[second+len(strconv.Quote(content(20))):]
			switch {
			case tt.whole && got != tt.body:
				t.Errorf("something was left out: %s", got[len(got)-400:])
			case !tt.whole && (!strings.HasPrefix(got, before) || !strings.HasSuffix(got, after)):
				t.Errorf("the body is another: %s", got)
			case !tt.whole && len(got) >= len(tt.body):
				t.Error("the second read is whole")
			}
		})
	}
}

// TRIM-17: a message of a role that is not known does not end what was left out before.
func TestUnknownRole(t *testing.T) {
	read := func(form string) string {
		var all []string
		for i := range 3 {
			all = append(all, fmt.Sprintf(form, i, `"{\"command\":\"cat a.go\"}"`, i, strings.ReplaceAll(content(40), "\t", " ")))
		}
		return strings.Join(all, ",")
	}
	for path, body := range map[string]string{
		"/v1/chat/completions": `{"model":"gpt-5.1","messages":[{"role":"system","content":%q},{"role":"user","content":"go on"},` +
			read(`{"role":"assistant","tool_calls":[{"id":"c%d","type":"function","function":{"name":"shell","arguments":%s}}]},{"role":"tool","tool_call_id":"c%d","content":%q}`) + `%s]}`,
		"/v1/responses": `{"model":"gpt-5.1","store":false,"instructions":%q,"input":[{"role":"user","content":"go on"},` +
			read(`{"type":"function_call","call_id":"c%d","name":"shell","arguments":%s},{"type":"function_call_output","call_id":"c%d","output":%q}`) + `%s]}`,
	} {
		up := &recorder{}
		r := newRig(t, up, func(c *proxy.Config) { c.History = trim.Config{Policy: trim.Lossless} })
		const more = `,{"role":"harness","content":"Be brief."}`
		r.post(path, fmt.Sprintf(body, rules, ""))
		want := strings.TrimSuffix(string(up.last(t).body), "]}") + more + "]}"
		r.post(path, fmt.Sprintf(body, rules, more))
		if got := string(up.last(t).body); got != want || !strings.Contains(got, "shown above") {
			t.Errorf("%s: %s", path, got)
		}
	}
}
