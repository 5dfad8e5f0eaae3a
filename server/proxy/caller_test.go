package proxy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stet-dev/stet/server/proxy"
	"github.com/stet-dev/stet/trim"
)

// WIRE-7: the model does not see a result that code asked for. Such a result is not shortened, and is not counted as shown.
func TestCaller(t *testing.T) {
	const code, direct = `,"caller":{"type":"code_execution_20260120","tool_id":"srvtoolu_1"}`, `,"caller":{"type":"direct"}`
	for name, c := range map[string]struct {
		callers [2]string
		lines   int
	}{
		"direct":          {[2]string{"", direct}, 1},
		"code sees first": {[2]string{code, ""}, 0},
		"code sees again": {[2]string{"", code}, 0},
		"code sees both":  {[2]string{code, code}, 0},
	} {
		for policy, line := range map[trim.Policy]string{trim.Lossless: "unchanged: shown above", trim.KeepLatest: "an older read, left out"} {
			up := &recorder{}
			r := newRig(t, up, func(c *proxy.Config) { c.History = trim.Config{Policy: policy, KeepReads: 1} })
			var b strings.Builder
			fmt.Fprintf(&b, `{"model":"claude-opus-5-5","max_tokens":9,"system":%q,"messages":[{"role":"user","content":"hello"}`, rules)
			for i, caller := range c.callers {
				fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"tool_use","id":"call_%d","name":"Read","input":{"file_path":"/home/me/project/a.go"}%s}]}`, i, caller)
				fmt.Fprintf(&b, `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_%d","content":%q}]}`, i, content(20))
			}
			if status, answer := r.post("/v1/messages", b.String()+"]}"); status != 200 {
				t.Fatal(status, answer)
			}
			if n := strings.Count(string(up.last(t).body), line); n != c.lines {
				t.Errorf("%s, %s: %d results shortened, want %d", name, policy, n, c.lines)
			}
		}
	}
}

// WIRE-7: the same holds for a program that the Responses API runs.
func TestProgramCaller(t *testing.T) {
	const program, direct = `,"caller":{"type":"program","caller_id":"prog_1"}`, `,"caller":{"type":"direct"}`
	for name, c := range map[string]struct {
		callers [2]string
		lines   int
	}{
		"direct": {[2]string{"", direct}, 1}, "program sees first": {[2]string{program, ""}, 0},
		"program sees again": {[2]string{"", program}, 0}, "program sees both": {[2]string{program, program}, 0},
	} {
		up := &recorder{}
		r := newRig(t, up, func(c *proxy.Config) { c.History = trim.Config{Policy: trim.Lossless} })
		var b strings.Builder
		fmt.Fprintf(&b, `{"model":"gpt-5.5","instructions":%q,"input":[{"role":"user","content":"hello"}`, rules)
		for i, caller := range c.callers {
			fmt.Fprintf(&b, `,{"type":"function_call","call_id":"call_%d","name":"Read","arguments":"{\"file_path\":\"/home/me/project/a.go\"}"%s}`, i, caller)
			fmt.Fprintf(&b, `,{"type":"function_call_output","call_id":"call_%d","output":%q}`, i, content(20))
		}
		if status, answer := r.post("/v1/responses", b.String()+"]}"); status != 200 {
			t.Fatal(status, answer)
		}
		if n := strings.Count(string(up.last(t).body), "unchanged: shown above"); n != c.lines {
			t.Errorf("%s: %d results shortened, want %d", name, n, c.lines)
		}
	}
}

// TRIM-10: which reads are the newest depends on the times that the agent gives in the body.
func TestTimestamps(t *testing.T) {
	up := &recorder{}
	r := newRig(t, up)
	var b strings.Builder
	fmt.Fprintf(&b, `{"model":"model-a","messages":[{"role":"user","content":"hello"}`)
	for i, at := range []string{"2026-03-01T12:00:09Z", "2026-03-01T12:00:01Z"} {
		fmt.Fprintf(&b, `,{"role":"assistant","tool_calls":[{"id":"call_%d","type":"function","function":{"name":"Read","arguments":"{\"file_path\":\"a.go\"}"}}]}`, i)
		fmt.Fprintf(&b, `,{"role":"tool","tool_call_id":"call_%d","timestamp":%q,"content":%q}`, i, at, content(20))
	}
	if status, answer := r.post("/v1/chat/completions", b.String()+"]}"); status != 200 {
		t.Fatal(status, answer)
	}
	body := string(up.last(t).body)
	if line := strings.Index(body, "an older read, left out"); line < strings.Index(body, "12:00:01Z") {
		t.Errorf("not the older one was left out: %s", body)
	}
}
