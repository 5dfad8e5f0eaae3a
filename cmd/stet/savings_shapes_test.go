package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recording writes the lines of a recorded session, one a minute.
type recording struct {
	b       strings.Builder
	minutes int
	session string
}

func (r *recording) line(format string, a ...any) *recording {
	r.minutes++
	at := fmt.Sprintf("2026-11-20T%02d:%02d:00.000Z", 10+r.minutes/60, r.minutes%60)
	fmt.Fprintln(&r.b, strings.ReplaceAll(fmt.Sprintf(format, a...), "$TIME", at))
	return r
}

// claude begins a session of Claude Code.
func claude(session string) *recording {
	r := &recording{session: session}
	return r.line(`{"type":"user","uuid":"%s-u","parentUuid":null,"sessionId":"%s","timestamp":"$TIME","cwd":"/w","version":"2.1.300","message":{"role":"user","content":"go on"}}`, session, session)
}

// answer adds a line of an answer. more are members of the line.
func (r *recording) answer(id, model, usage string, more ...string) *recording {
	return r.line(`{"type":"assistant","uuid":"%s-%d","parentUuid":"%s-u","sessionId":"%s","timestamp":"$TIME","cwd":"/w","version":"2.1.300",%s"requestId":"req_%s","message":{"id":"msg_%s","role":"assistant","model":"%s","content":[{"type":"text","text":"%s"}],"usage":{%s}}}`,
		r.session, r.minutes, r.session, r.session, strings.Join(append(more, ""), ","), id, id, model, id, usage)
}

// codex begins a session of Codex.
func codexSession(id, model string, more ...string) *recording {
	r := &recording{session: id}
	return r.line(`{"timestamp":"$TIME","type":"session_meta","payload":{%s"id":"%s","timestamp":"$TIME","cwd":"/w","cli_version":"0.150.0"}}`, strings.Join(append(more, ""), ","), id).model(model)
}

func (r *recording) model(name string) *recording {
	return r.line(`{"timestamp":"$TIME","type":"turn_context","payload":{"cwd":"/w","model":"%s"}}`, name)
}

func (r *recording) asks(text string) *recording {
	return r.line(`{"timestamp":"$TIME","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"%s"}]}}`, text)
}

func (r *recording) says(text string) *recording {
	return r.line(`{"timestamp":"$TIME","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"%s"}]}}`, text)
}

// counts adds what Codex was told of usage: the sum so far, and that of the newest answer; "": it is not there.
func (r *recording) counts(total, last string) *recording {
	info := `"total_token_usage":{` + total + `}`
	if last != "" {
		info += `,"last_token_usage":{` + last + `}`
	}
	return r.line(`{"timestamp":"$TIME","type":"event_msg","payload":{"type":"token_count","info":{%s,"model_context_window":400000}}}`, info)
}

func tokensOf(input, cached, output int) string {
	return fmt.Sprintf(`"input_tokens":%d,"cached_input_tokens":%d,"output_tokens":%d,"reasoning_output_tokens":0,"total_tokens":%d`, input, cached, output, input+output)
}

func qwenSession() *recording {
	r := &recording{session: "qwen"}
	return r.line(`{"uuid":"q0","parentUuid":null,"sessionId":"qwen","timestamp":"$TIME","cwd":"/w","version":"0.24.4","type":"user","message":{"role":"user","parts":[{"text":"go on"}]}}`)
}

func (r *recording) qwen(id, parent, model, usage string) *recording {
	return r.line(`{"uuid":"%s","parentUuid":"%s","sessionId":"qwen","timestamp":"$TIME","cwd":"/w","version":"0.24.4","type":"assistant","model":"%s","message":{"role":"model","parts":[{"text":"%s"}]},"usageMetadata":{%s}}`, id, parent, model, id, usage)
}

func geminiSession() *recording {
	r := &recording{session: "gemini"}
	return r.line(`{"sessionId":"gemini","projectHash":"ab","startTime":"$TIME","lastUpdated":"$TIME","directories":["/w"]}`).
		line(`{"id":"g0","timestamp":"$TIME","type":"user","content":"go on"}`)
}

func (r *recording) gemini(id, model, tokens string) *recording {
	return r.line(`{"id":"%s","timestamp":"$TIME","type":"gemini","content":"%s","model":"%s","tokens":{%s}}`, id, id, model, tokens)
}

func piSession() *recording {
	r := &recording{session: "pi"}
	return r.line(`{"type":"session","version":3,"id":"pi","timestamp":"$TIME","cwd":"/w"}`).
		line(`{"type":"message","id":"p0","parentId":null,"timestamp":"$TIME","message":{"role":"user","content":[{"type":"text","text":"go on"}]}}`)
}

func (r *recording) pi(id, parent, model, stop, usage string) *recording {
	return r.line(`{"type":"message","id":"%s","parentId":"%s","timestamp":"$TIME","message":{"role":"assistant","content":[{"type":"text","text":"%s"}],"model":"%s","provider":"p","stopReason":"%s","usage":{%s}}}`, id, parent, id, model, stop, usage)
}

func copilotSession() *recording {
	r := &recording{session: "copilot"}
	return r.line(`{"type":"session.start","data":{"sessionId":"copilot","copilotVersion":"1.0.68","selectedModel":"claude-sonnet-4.5","context":{"cwd":"/w"}},"id":"c0","timestamp":"$TIME","parentId":null}`)
}

func (r *recording) copilot(id, kind, data string) *recording {
	return r.line(`{"type":"%s","data":{%s},"id":"%s","timestamp":"$TIME","parentId":null}`, kind, data, id)
}

func (r *recording) String() string { return r.b.String() }

// BILL-1, BILL-2, BILL-3: kinds of recorded sessions, each with its sum at list prices by hand. What stet adds for output that a recording shows
// beyond its usage is not in these sums.
func TestSavingsShapes(t *testing.T) {
	const (
		opus, sonnet, haiku = "claude-opus-4-6", "claude-sonnet-4-5", "claude-haiku-4-5" // 5 and 25 dollars a million; 3 and 15; 1 and 5
		gpt, pro            = "gpt-5.5", "gemini-2.5-pro"                                // 5 and 30; 1.25 and 10
		mil                 = `"input_tokens":100000,"output_tokens":1000`
	)
	type files map[string]fmt.Stringer
	for _, c := range []struct {
		name     string
		files    files
		requests int
		usd      float64 // at list prices, by hand
	}{
		// 0.1 × 5 + 0.001 × 25
		{"an answer on three lines with its usage repeated", files{"s.jsonl": claude("s").answer("1", opus, mil).answer("1", opus, mil).answer("1", opus, mil)}, 1, 0.525},
		// the last line alone: 0.1 × 5 + 0.001 × 25
		{"a stream whose first line has the usage of its begin", files{"s.jsonl": claude("s").answer("1", opus, `"input_tokens":100000,"output_tokens":2`).answer("1", opus, mil)}, 1, 0.525},
		// 0.1 × 5 + 3 × 0.01; the tokens of both lines are alike
		{"searches that only the last line has", files{"s.jsonl": claude("s").answer("1", opus, `"input_tokens":100000,"output_tokens":0`).
			answer("1", opus, `"input_tokens":100000,"output_tokens":0,"server_tool_use":{"web_search_requests":3,"web_fetch_requests":9}`)}, 1, 0.53},
		// 0.1 × 5 + 2 × 0.01, and 0.1 × 5 + 0.001 × 25
		{"searches of one answer of two", files{"s.jsonl": claude("s").answer("1", opus, `"input_tokens":100000,"output_tokens":0,"server_tool_use":{"web_search_requests":2}`).answer("2", opus, mil)}, 2, 1.045},
		// 0.1 × 6.25 + 0.1 × 10 + 1 × 0.5 + 0.01 × 25
		{"written for five minutes and for an hour in one request", files{"s.jsonl": claude("s").answer("1", opus, `"input_tokens":0,"cache_creation_input_tokens":200000,"cache_read_input_tokens":1000000,"output_tokens":10000,"cache_creation":{"ephemeral_5m_input_tokens":100000,"ephemeral_1h_input_tokens":100000}`)}, 1, 2.375},
		// 0.1 × 10
		{"written for an hour, where only the parts say how much", files{"s.jsonl": claude("s").answer("1", opus, `"input_tokens":0,"output_tokens":0,"cache_creation":{"ephemeral_1h_input_tokens":100000}`)}, 1, 1},
		// 0.1 × 6.25
		{"written, without parts", files{"s.jsonl": claude("s").answer("1", opus, `"input_tokens":0,"cache_creation_input_tokens":100000,"output_tokens":0,"cache_creation":null`)}, 1, 0.625},
		// half of 0.525
		{"a batch", files{"s.jsonl": claude("s").answer("1", opus, mil+`,"service_tier":"batch"`)}, 1, 0.2625},
		// capacity that was bought before counts by the usual prices
		{"the priority tier of Anthropic", files{"s.jsonl": claude("s").answer("1", opus, mil+`,"service_tier":"priority"`)}, 1, 0.525},
		// 6 × 0.525
		{"the fast mode", files{"s.jsonl": claude("s").answer("1", opus, mil+`,"speed":"fast"`)}, 1, 3.15},
		// 6 × 1.1 × 0.525 + 0.01: a search costs the same
		{"the fast mode in one region, with a search", files{"s.jsonl": claude("s").answer("1", opus, mil+`,"speed":"fast","inference_geo":"us","server_tool_use":{"web_search_requests":1}`)}, 1, 3.475},
		// 1.1 × 0.525
		{"one region", files{"s.jsonl": claude("s").answer("1", opus, mil+`,"inference_geo":"us"`)}, 1, 0.5775},
		// words for the usual
		{"usual terms", files{"s.jsonl": claude("s").answer("1", opus, mil+`,"speed":"standard","inference_geo":"not_available","service_tier":"standard"`)}, 1, 0.525},
		// more than 200,000: 0.05 × 6 + 0.2 × 0.6 + 0.01 × 22.5
		{"a long context, cached and not", files{"s.jsonl": claude("s").answer("1", sonnet, `"input_tokens":50000,"cache_read_input_tokens":200000,"output_tokens":10000`)}, 1, 0.645},
		// not more: 0.2 × 3 + 0.01 × 15
		{"a context that is just not long", files{"s.jsonl": claude("s").answer("1", sonnet, `"input_tokens":200000,"output_tokens":10000`)}, 1, 0.75},
		// 0.525 + (0.1 × 3 + 0.001 × 15) + (0.1 × 1 + 0.001 × 5)
		{"three models in one session", files{"s.jsonl": claude("s").answer("1", opus, mil).answer("2", sonnet, mil).answer("3", haiku, mil)}, 3, 0.945},
		// the agent's own message costs nothing
		{"a synthetic message and an error of the API", files{"s.jsonl": claude("s").answer("1", opus, mil).answer("2", "<synthetic>", `"input_tokens":0,"output_tokens":0`).
			answer("3", opus, `"input_tokens":0,"output_tokens":0`, `"isApiErrorMessage":true`)}, 1, 0.525},
		// 0.525 + 0.105
		{"a side chain in the file", files{"s.jsonl": claude("s").answer("1", opus, mil).answer("2", haiku, mil, `"isSidechain":true`, `"agentId":"a"`)}, 2, 0.63},
		// 0.525 + 2 × 0.105: each sub-agent has a file of its own, and the main file repeats a line of one
		{"sub-agents with files of their own", files{
			"s.jsonl":                   claude("s").answer("1", opus, mil).answer("2", haiku, mil, `"isSidechain":true`, `"agentId":"a"`),
			"s/subagents/agent-a.jsonl": claude("s").answer("2", haiku, mil, `"isSidechain":true`, `"agentId":"a"`),
			"s/subagents/agent-b.jsonl": claude("s").answer("3", haiku, mil, `"isSidechain":true`, `"agentId":"b"`),
		}, 3, 0.735},
		// 0.525 + 0.525: the compaction's answer is a request, too
		{"a compaction", files{"s.jsonl": claude("s").answer("1", opus, mil).
			line(`{"type":"system","subtype":"compact_boundary","uuid":"b","parentUuid":null,"logicalParentUuid":"s-1","sessionId":"s","timestamp":"$TIME","content":"compacted"}`).
			line(`{"type":"user","uuid":"c","parentUuid":"b","sessionId":"s","timestamp":"$TIME","isCompactSummary":true,"message":{"role":"user","content":"the summary"}}`).
			answer("2", opus, mil)}, 2, 1.05},
		// 2 × (0.1 × 5 + 0.001 × 25): the compaction in the provider is a request beside the answer
		{"a compaction by the provider", files{"s.jsonl": claude("s").answer("1", opus, mil+`,"iterations":[{"type":"compaction","input_tokens":100000,"output_tokens":1000},{"type":"message","input_tokens":100000,"output_tokens":1000}]`)}, 1, 1.05},
		// 0.525 + 0.5: what came after the interruption is not known, and what was read is charged
		{"an interrupted stream", files{"s.jsonl": claude("s").answer("1", opus, mil).answer("2", opus, `"input_tokens":100000,"output_tokens":0`).
			line(`{"type":"user","uuid":"i","parentUuid":"s-2","sessionId":"s","timestamp":"$TIME","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user]"}]}}`)}, 2, 1.025},
		// 3 × 0.525: a resumed and a forked session repeat the first answer with its ids
		{"resumed and forked", files{"1.jsonl": claude("s").answer("1", opus, mil), "2.jsonl": claude("t").answer("1", opus, mil).answer("2", opus, mil), "3.jsonl": claude("v").answer("1", opus, mil).answer("3", opus, mil)}, 3, 1.575},
		// 0.525 + 0.3 + 0.025: two lines are of one answer, and one id of the provider with another size is another answer
		{"no ids of requests", files{"s.jsonl": text(strings.NewReplacer(`"requestId":"req_1",`, "", `"uuid":"s-2","parentUuid":"s-u"`, `"uuid":"s-2","parentUuid":"s-1"`).
			Replace(claude("s").answer("1", opus, mil).answer("1", opus, mil).answer("1", opus, `"input_tokens":60000,"output_tokens":1000`).String()))}, 2, 0.85},
		// the price of a model that is not known is no sum, that of the others is
		{"a model whose price is not known", files{"s.jsonl": claude("s").answer("1", opus, mil).answer("2", "my-own-model", mil)}, 2, 0.525},

		// 0.06 × 5 + 0.04 × 0.5 + 0.001 × 30
		{"Codex, cached", files{"rollout-a.jsonl": codexSession("a", gpt).asks("go").says("1").counts(tokensOf(100000, 40000, 1000), tokensOf(100000, 40000, 1000))}, 1, 0.35},
		// the second time it says the same: 0.5 + 0.03
		{"Codex, usage repeated", files{"rollout-a.jsonl": codexSession("a", gpt).asks("go").says("1").counts(tokensOf(100000, 0, 1000), tokensOf(100000, 0, 1000)).counts(tokensOf(100000, 0, 1000), tokensOf(100000, 0, 1000))}, 1, 0.53},
		// 2 × 0.53
		{"Codex, sums alone", files{"rollout-a.jsonl": codexSession("a", gpt).asks("go").says("1").counts(tokensOf(100000, 0, 1000), "").asks("go").says("2").counts(tokensOf(200000, 0, 2000), "")}, 2, 1.06},
		// 0.53, and 0.06 × 5 + 0.0005 × 30
		{"Codex, sums that begin anew", files{"rollout-a.jsonl": codexSession("a", gpt).asks("go").says("1").counts(tokensOf(100000, 0, 1000), "").asks("go").says("2").counts(tokensOf(60000, 0, 500), "")}, 2, 0.845},
		// 0.53 + (0.1 × 1.25 + 0.001 × 10)
		{"Codex, another model", files{"rollout-a.jsonl": codexSession("a", gpt).asks("go").says("1").counts(tokensOf(100000, 0, 1000), tokensOf(100000, 0, 1000)).
			model("gpt-5").asks("go").says("2").counts(tokensOf(200000, 0, 2000), tokensOf(100000, 0, 1000))}, 2, 0.665},
		// more than 271,999: 0.3 × 10 + 0.01 × 45
		{"Codex, a long context", files{"rollout-a.jsonl": codexSession("a", gpt).asks("go").says("1").counts(tokensOf(300000, 0, 10000), tokensOf(300000, 0, 10000))}, 1, 3.45},
		// 2.5 × 0.53, then 0.53
		{"Codex, fast and then not", files{"rollout-a.jsonl": codexSession("a", gpt).
			line(`{"timestamp":"$TIME","type":"event_msg","payload":{"type":"thread_settings_applied","thread_settings":{"service_tier":"fast"}}}`).
			asks("go").says("1").counts(tokensOf(100000, 0, 1000), tokensOf(100000, 0, 1000)).
			line(`{"timestamp":"$TIME","type":"event_msg","payload":{"type":"thread_settings_applied","thread_settings":{"service_tier":null}}}`).
			asks("go").says("2").counts(tokensOf(200000, 0, 2000), tokensOf(100000, 0, 1000))}, 2, 1.855},
		// half of 0.53
		{"Codex, flex", files{"rollout-a.jsonl": codexSession("a", gpt).
			line(`{"timestamp":"$TIME","type":"event_msg","payload":{"type":"thread_settings_applied","thread_settings":{"service_tier":"flex"}}}`).
			asks("go").says("1").counts(tokensOf(100000, 0, 1000), tokensOf(100000, 0, 1000))}, 1, 0.265},
		// 2 × 0.53: the sub-agent begins with its parent's lines
		{"Codex, a sub-agent that begins with its parent's turns", files{
			"rollout-a.jsonl": codexSession("a", gpt).asks("go").says("1").counts(tokensOf(100000, 0, 1000), tokensOf(100000, 0, 1000)),
			"rollout-b.jsonl": codexSession("b", gpt, `"forked_from_id":"a"`, `"source":{"subagent":{"thread_spawn":{"parent_thread_id":"a","depth":1}}}`).
				asks("go").says("1").counts(tokensOf(100000, 0, 1000), tokensOf(100000, 0, 1000)).asks("more").says("2").counts(tokensOf(200000, 0, 2000), tokensOf(100000, 0, 1000)),
		}, 2, 1.06},
		// 2 × 0.53: a resumed session has a second file with the same id and the lines of the first
		{"Codex, two files of one session", files{
			"rollout-a.jsonl": codexSession("a", gpt).asks("go").says("1").counts(tokensOf(100000, 0, 1000), tokensOf(100000, 0, 1000)),
			"rollout-c.jsonl": codexSession("a", gpt).asks("go").says("1").counts(tokensOf(100000, 0, 1000), tokensOf(100000, 0, 1000)).asks("more").says("2").counts(tokensOf(200000, 0, 2000), tokensOf(100000, 0, 1000)),
		}, 2, 1.06},

		// 0.06 × 1.25 + 0.04 × 0.125 + 0.003 × 10: thoughts are output, and what tools gave is input
		{"Gemini, thoughts and tools", files{"session-1.jsonl": geminiSession().gemini("1", pro, `"input":90000,"cached":40000,"output":1000,"thoughts":2000,"tool":10000,"total":103000`)}, 1, 0.11},
		// more than 200,000: 0.3 × 2.5 + 0.01 × 15
		{"Gemini, a long context", files{"session-1.jsonl": geminiSession().gemini("1", pro, `"input":300000,"cached":0,"output":10000,"thoughts":0,"tool":0,"total":310000`)}, 1, 0.9},
		// 0.1 × 1.25 + 0.001 × 10: a message that is written again replaces the first
		{"Gemini, a message written again", files{"session-1.jsonl": geminiSession().gemini("1", pro, `"input":100000,"cached":0,"output":0,"thoughts":0,"tool":0,"total":100000`).gemini("1", pro, `"input":100000,"cached":0,"output":1000,"thoughts":0,"tool":0,"total":101000`)}, 1, 0.135},
		// 2 × 0.135: what was left was charged
		{"Gemini, rewound", files{"session-1.jsonl": geminiSession().gemini("1", pro, `"input":100000,"cached":0,"output":1000,"total":101000`).
			line(`{"$rewindTo":"1"}`).gemini("2", pro, `"input":100000,"cached":0,"output":1000,"total":101000`)}, 2, 0.27},

		// 0.06 × 1.25 + 0.04 × 0.125 + 0.003 × 10: the sum says that thoughts are beside the output
		{"Qwen, thoughts beside the output", files{"q.jsonl": qwenSession().qwen("q1", "q0", pro, `"promptTokenCount":100000,"cachedContentTokenCount":40000,"candidatesTokenCount":1000,"thoughtsTokenCount":2000,"totalTokenCount":103000`)}, 1, 0.11},
		// 0.06 × 1.25 + 0.04 × 0.125 + 0.003 × 10: and here that they are in it
		{"Qwen, thoughts in the output", files{"q.jsonl": qwenSession().qwen("q1", "q0", pro, `"promptTokenCount":100000,"cachedContentTokenCount":40000,"candidatesTokenCount":3000,"thoughtsTokenCount":2000,"totalTokenCount":103000`)}, 1, 0.11},
		// 2 × 0.135
		{"Qwen, a turn that was taken back", files{"q.jsonl": qwenSession().qwen("q1", "q0", pro, `"promptTokenCount":100000,"candidatesTokenCount":1000,"totalTokenCount":101000`).
			qwen("q2", "q0", pro, `"promptTokenCount":100000,"candidatesTokenCount":1000,"totalTokenCount":101000`)}, 2, 0.27},

		// 0.525, and what was aborted: 0.5
		{"pi, aborted and in error", files{"p.jsonl": piSession().pi("p1", "p0", opus, "stop", `"input":100000,"output":1000,"cacheRead":0,"cacheWrite":0`).
			pi("p2", "p1", opus, "aborted", `"input":100000,"output":0,"cacheRead":0,"cacheWrite":0`).pi("p3", "p2", opus, "error", `"input":0,"output":0,"cacheRead":0,"cacheWrite":0`)}, 2, 1.025},
		// 0.525 + 0.53
		{"pi, two providers", files{"p.jsonl": piSession().pi("p1", "p0", opus, "stop", `"input":100000,"output":1000,"cacheRead":0,"cacheWrite":0`).
			pi("p2", "p1", gpt, "stop", `"input":100000,"output":1000,"cacheRead":0,"cacheWrite":0`)}, 2, 1.055},
		// 0.525: a copy under other ids, as pi makes it for a fork
		{"pi, forked", files{"p.jsonl": piSession().pi("p1", "p0", opus, "stop", `"input":100000,"output":1000,"cacheRead":0,"cacheWrite":0`),
			"r.jsonl": text(strings.ReplaceAll(piSession().pi("p1", "p0", opus, "stop", `"input":100000,"output":1000,"cacheRead":0,"cacheWrite":0`).String(), `"id":"p`, `"id":"r`))}, 1, 0.525},

		// 0.05 × 3 + 0.05 × 3.75 + 0.1 × 0.3 + 0.01 × 15
		{"Cline", files{"c.json": text(`{"sessionId":"c","messages":[{"id":"1","role":"user","content":"go on","ts":1795000000000},{"id":"2","role":"assistant","content":"1","ts":1795000001000,"modelInfo":{"id":"claude-sonnet-4-5"},"metrics":{"inputTokens":200000,"outputTokens":10000,"cacheReadTokens":100000,"cacheWriteTokens":50000,"cost":0.5}}]}`)}, 1, 0.5175},

		// 0.1 × 3 + 0.1 × 0.3 + 0.003 × 15: one of the answers is a sub-agent's
		{"Copilot, a sub-agent", files{"events.jsonl": copilotSession().copilot("c1", "user.message", `"content":"go on"`).
			copilot("c2", "assistant.message", `"messageId":"m1","content":"1","outputTokens":1000,"toolRequests":[{"toolCallId":"t","name":"task","arguments":{}}]`).
			copilot("c3", "assistant.message", `"messageId":"m2","content":"2","outputTokens":1000,"parentToolCallId":"t","toolRequests":[]`).
			copilot("c4", "assistant.message", `"messageId":"m3","content":"3","outputTokens":1000,"toolRequests":[]`).
			copilot("c5", "session.shutdown", `"sessionStartTime":1,"modelMetrics":{"claude-sonnet-4.5":{"usage":{"inputTokens":200000,"outputTokens":3000,"cacheReadTokens":100000,"cacheWriteTokens":0}}}`)}, 3, 0.375},
		// 0.1 × 3 + 0.001 × 15, and after the resume the same: the sums begin anew with another start
		{"Copilot, resumed", files{"events.jsonl": copilotSession().copilot("c1", "assistant.message", `"messageId":"m1","content":"1","outputTokens":1000,"toolRequests":[]`).
			copilot("c2", "session.shutdown", `"sessionStartTime":1,"modelMetrics":{"claude-sonnet-4.5":{"usage":{"inputTokens":100000,"outputTokens":1000,"cacheReadTokens":0,"cacheWriteTokens":0}}}`).
			copilot("c3", "session.resume", `"sessionId":"copilot"`).copilot("c4", "assistant.message", `"messageId":"m2","content":"2","outputTokens":1000,"toolRequests":[]`).
			copilot("c5", "session.shutdown", `"sessionStartTime":2,"modelMetrics":{"claude-sonnet-4.5":{"usage":{"inputTokens":100000,"outputTokens":1000,"cacheReadTokens":0,"cacheWriteTokens":0}}}`)}, 2, 0.63},

		// 0.05 × 3 + 0.05 × 3.75 + 0.1 × 0.3 + 0.01 × 15; reasoning is beside the output, and the message's own sum repeats the steps
		{"opencode", files{"o.json": text(`{"info":{"id":"ses_1","directory":"/w","version":"1.2.0"},"messages":[{"info":{"id":"msg_1","role":"user","time":{"created":1795000000000}},"parts":[{"type":"text","text":"go on"}]},` +
			`{"info":{"id":"msg_2","role":"assistant","modelID":"claude-sonnet-4-5","time":{"created":1795000001000},"tokens":{"input":50000,"output":6000,"reasoning":4000,"cache":{"read":100000,"write":50000}}},` +
			`"parts":[{"type":"step-start"},{"type":"text","text":"1"},{"type":"step-finish","tokens":{"input":50000,"output":6000,"reasoning":4000,"cache":{"read":100000,"write":50000}}}]}]}`)}, 1, 0.5175},
		// 2 × (0.1 × 3 + 0.001 × 15): two steps of one message, and one that was cut off without usage
		{"opencode, two steps and one that was cut off", files{"o.json": text(`{"info":{"id":"ses_1","directory":"/w","version":"1.2.0"},"messages":[{"info":{"id":"msg_1","role":"user","time":{"created":1795000000000}},"parts":[{"type":"text","text":"go on"}]},` +
			`{"info":{"id":"msg_2","role":"assistant","modelID":"claude-sonnet-4-5","time":{"created":1795000001000},"tokens":{"input":100000,"output":1000,"reasoning":0,"cache":{"read":0,"write":0}}},` +
			`"parts":[{"type":"step-start"},{"type":"text","text":"1"},{"type":"step-finish","tokens":{"input":100000,"output":1000,"reasoning":0,"cache":{"read":0,"write":0}}},` +
			`{"type":"step-start"},{"type":"text","text":"2"},{"type":"step-finish","tokens":{"input":100000,"output":1000,"reasoning":0,"cache":{"read":0,"write":0}}}]}]}`)}, 2, 0.63},
	} {
		dir := t.TempDir()
		for name, content := range c.files {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content.String()), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		rep, said := savingsOf(t, dir)
		if usd := rep.Totals.USD; usd == nil || rep.Totals.Requests != c.requests || math.Abs(usd.Reported-c.usd) > 1e-9 {
			t.Errorf("%s: %d requests, %+v; want %d, $%v %s", c.name, rep.Totals.Requests, usd, c.requests, c.usd, said)
		}
	}
}

// text is a file as it is.
type text string

func (s text) String() string { return string(s) }
