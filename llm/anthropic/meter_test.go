package anthropic

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/test/codectest"
)

func TestUsageOf(t *testing.T) { // CTX-1
	for raw, want := range map[string]llm.Usage{
		`{"input_tokens":5,"cache_creation_input_tokens":100,"cache_read_input_tokens":2000,"output_tokens":7,
		  "cache_creation":{"ephemeral_5m_input_tokens":60,"ephemeral_1h_input_tokens":40},"service_tier":"standard"}`: {
			Input: 5, CacheRead: 2000, CacheWrite: 100, CacheWrite1h: 40, Output: 7},
		`{"input_tokens":5,"output_tokens":7,"cache_read_input_tokens":null,"cache_creation":null}`: {Input: 5, Output: 7},
		`{"cache_creation":{"ephemeral_5m_input_tokens":1,"ephemeral_1h_input_tokens":2}}`:          {CacheWrite: 3, CacheWrite1h: 2},
		`{}`: {},
	} {
		got, err := Messages{}.UsageOf([]byte(raw))
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", raw, got, err)
		}
	}
	for _, raw := range []string{``, `[]`, `{"input_tokens":-1}`, `{"input_tokens":"5"}`, `{"output_tokens":1.5}`, `{"input_tokens":1`, `null`} {
		if got, err := (Messages{}).UsageOf([]byte(raw)); err == nil {
			t.Errorf("%s: %+v", raw, got)
		}
	}
}

func stream(named bool) string {
	var out strings.Builder
	add := func(name, data string) {
		if named {
			fmt.Fprintf(&out, "event: %s\n", name)
		}
		fmt.Fprintf(&out, "data: %s\n\n", data)
	}
	add("message_start", `{"type":"message_start","message":{"type":"message","id":"msg_1","model":"m-1","content":[],"stop_reason":null,"diagnostics":{"cache_miss_reason":{"type":"tools_changed","cache_missed_input_tokens":2000}},"usage":{"input_tokens":5,"cache_read_input_tokens":2000,"output_tokens":1}}}`)
	add("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
	add("ping", `{"type": "ping"}`)
	add("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"usage: {\"usage\":{\"output_tokens\":999}}"}}`)
	add("content_block_stop", `{"type":"content_block_stop","index":0}`)
	add("message_delta", `{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":42}}`)
	add("message_stop", `{"type":"message_stop"}`)
	return out.String()
}

func TestMeter(t *testing.T) { // CTX-1
	want := llm.Reading{Usage: llm.Usage{Input: 5, CacheRead: 2000, Output: 42}, Counted: true, Model: "m-1", StopReason: "tool_use", Missed: "tools_changed"}
	codectest.Meter(t, Messages{}, "text/event-stream", stream(true), want)
	codectest.Meter(t, Messages{}, "text/event-stream", stream(false), want)
	want.Usage, want.Missed = llm.Usage{Input: 3, CacheWrite: 4, Output: 9}, ""
	codectest.Meter(t, Messages{}, "application/json", answer, want)
}

func TestMeterCutStream(t *testing.T) {
	whole := stream(true)
	for n := range len(whole) {
		m := Messages{}.NewMeter("text/event-stream")
		m.Write([]byte(whole[:n]))
		r := m.Reading()
		if r.Counted != (r.Usage.Input == 5) || r.Usage.Output > 42 || r.Counted && r.Model != "m-1" {
			t.Fatalf("cut at %d: %+v", n, r)
		}
	}
}

const answer = `{"id":"msg_1","type":"message","role":"assistant","model":"m-1","content":[{"type":"text","text":"Hi."},{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"a"}}],
 "stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":3,"cache_creation_input_tokens":4,"output_tokens":9}}`

func TestDecodeResponse(t *testing.T) {
	res, err := Messages{}.DecodeResponse([]byte(answer))
	if err != nil {
		t.Fatal(err)
	}
	if res.ID != "msg_1" || res.Model != "m-1" || res.StopReason != "tool_use" || res.Usage.Output != 9 ||
		res.Message.Role != llm.Assistant || len(res.Message.Parts) != 2 || res.Message.Parts[1].Args != `{"file_path":"a"}` {
		t.Errorf("%+v", res)
	}
	for _, body := range []string{``, `{}`, `{"type":"error"}`, `{"type":"message","content":5}`, `{"type":"message","content":[]`} {
		if _, err := (Messages{}).DecodeResponse([]byte(body)); err == nil {
			t.Errorf("%s passed", body)
		}
	}
}

func TestSession(t *testing.T) {
	header := func(pairs ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			h.Set(pairs[i], pairs[i+1])
		}
		return h
	}
	user := func(id string) string {
		return fmt.Sprintf(`{"messages":[],"metadata":{"user_id":%q}}`, id)
	}
	for _, c := range []struct {
		h                   http.Header
		body                string
		conversation, agent string
	}{
		{header(), `{"messages":[]}`, "", ""},
		{header("x-claude-code-session-id", "s1", "x-claude-code-agent-id", "a1"), user("user_1_account__session_s2"), "s1", "a1"},
		{header("x-session-id", "ses_1", "x-session-affinity", "other"), `{"messages":[]}`, "ses_1", ""},
		{header(), user("user_1_account__session_s2"), "s2", ""},
		{header(), user(`{"device_id":"d","session_id":"s3"}`), "s3", ""},
		{header(), user("user-17"), "", ""},
		{header(), user(`{"device_id":"d"}`), "", ""},
		{header(), user(`{`), "", ""},
		{header(), `{"messages":[],"metadata":{"user_id":null}}`, "", ""},
		{header("user-agent", "claude-cli/1.0 (external, cli)"), `{"messages":[]}`, "", ""},
	} {
		req, err := Messages{}.Decode([]byte(c.body))
		if err != nil {
			t.Fatal(err)
		}
		if conversation, agent := (Messages{}).Session(c.h.Get, req); conversation != c.conversation || agent != c.agent {
			t.Errorf("%v %s: %q, %q", c.h, c.body, conversation, agent)
		}
	}
	if conversation, _ := (Messages{}).Session(header("x-session-id", "s").Get, nil); conversation != "s" {
		t.Error("without a request")
	}
}

// Signatures of thinking are read from the answer, each once, streamed or not (WIRE-2).
func TestMeterSignatures(t *testing.T) {
	for contentType, pieces := range map[string][]string{
		"text/event-stream": {
			"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"type\":\"message\",\"model\":\"m\",\"content\":[]}}\n\n",
			"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}}\n\n",
			"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"a \\\"signature\\\":\"}}\n\n",
			"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"one\\/\"}}\n\n",
			"data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"redacted_thinking\",\"data\":\"two\"}}\n\n",
			"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":2,\"content_block\":{\"type\":\"text\",\"text\":\"the thinking\\\" signature\"}}\n\n",
		},
		"application/json": {
			`{"type":"message","content":[{"type":"thinking","thinking":"x","signature":"one\/"}`,
			`,{"type":"redacted_thinking","data":"two"},{"type":"tool_use","id":"c","name":"n","input":{"signature":"none"}}]}`,
		},
	} {
		m := Messages{}.NewMeter(contentType)
		var got []string
		for _, piece := range pieces {
			m.Write([]byte(piece))
			got = append(got, m.Signatures()...)
		}
		if got = append(got, m.Signatures()...); !slices.Equal(got, []string{"one/", "two"}) {
			t.Errorf("%s: %q", contentType, got)
		}
	}
}

// BILL-2: what changes the price is read, and the summary that the provider made itself is charged. What is not known is named.
func TestUsageTerms(t *testing.T) {
	for raw, want := range map[string]llm.Usage{
		`{"input_tokens":1,"speed":"fast","inference_geo":"us","service_tier":"batch","server_tool_use":{"web_search_requests":50,"web_fetch_requests":2}}`: {
			Input: 1, Speed: llm.SpeedFast, Region: "us", Tier: llm.TierBatch, WebSearches: 50,
		},
		`{"input_tokens":1,"speed":"standard","inference_geo":"not_available","service_tier":"standard"}`: {Input: 1},
		`{"input_tokens":1,"inference_geo":"global","service_tier":"priority","speed":null}`:              {Input: 1},
		`{"input_tokens":23000,"output_tokens":1000,"output_tokens_details":{"thinking_tokens":9},"iterations":[{"type":"compaction","input_tokens":180000,"output_tokens":3500},
		  {"type":"message","input_tokens":23000,"output_tokens":1000}]}`: {Input: 203000, Output: 4500, Reasoning: 9},
	} {
		if got, err := (Messages{}).UsageOf([]byte(raw)); err != nil || got != want {
			t.Errorf("%s: %+v, %v", raw, got, err)
		}
		if unknown := UnknownUsage([]byte(raw)); unknown != nil {
			t.Errorf("%s: not known: %q", raw, unknown)
		}
	}
	const raw = `{"input_tokens":1,"new_tokens":5,"no_tokens":0,"cache_creation":{"ephemeral_1d_input_tokens":7},"iterations":[{"type":"advisor_message","model":"m","input_tokens":9}]}`
	if got := UnknownUsage([]byte(raw)); !slices.Equal(got, []string{"new_tokens", "cache_creation.ephemeral_1d_input_tokens", "iterations.advisor_message"}) {
		t.Errorf("%q", got)
	}
}
