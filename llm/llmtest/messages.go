package llmtest

import (
	"bytes"
	"encoding/json"
	"maps"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
)

// messagesUsage splits the prompt as Anthropic does: input_tokens excludes tokens that the cache read and wrote. Nothing is cached
// without a cache marker.
func messagesUsage(a answer) object {
	u := a.Usage
	if bytes.Contains(a.body, []byte(`"cache_control"`)) {
		u.CacheWrite += u.Input - min(u.Input, 4)
		u.Input = min(u.Input, 4)
	} else {
		u.Input, u.CacheRead, u.CacheWrite = u.Prompt(), 0, 0
	}
	return object{
		"input_tokens": u.Input, "cache_creation_input_tokens": u.CacheWrite, "cache_read_input_tokens": u.CacheRead,
		"cache_creation": object{"ephemeral_5m_input_tokens": u.CacheWrite, "ephemeral_1h_input_tokens": 0},
		"output_tokens":  u.Output, "service_tier": "standard",
	}
}

// MessagesBlock returns a part of an answer in the format of the Messages API.
func MessagesBlock(p llm.Part) object {
	if p.Raw != "" {
		return rawObject(p.Raw)
	}
	switch p.Kind {
	case llm.Thinking:
		return object{"type": "thinking", "thinking": p.Text, "signature": "c2NyaXB0ZWQ="}
	case llm.ToolCall:
		return object{"type": "tool_use", "id": p.CallID, "name": p.Name, "input": json.RawMessage(p.Args)}
	}
	return object{"type": "text", "text": p.Text}
}

func messagesEnvelope(a answer) object {
	out := object{
		"id": "msg_" + a.ID, "type": "message", "role": "assistant", "model": a.Model,
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil,
	}
	a.ruled.Begin(out, a.Message.Parts)
	return out
}

func messagesWhole(a answer) []byte {
	out := messagesEnvelope(a)
	if blocks := a.ruled.Blocks(a.Message.Parts); len(blocks) > 0 {
		out["content"] = blocks
	}
	out["stop_reason"], out["usage"] = a.stop("tool_use", "end_turn"), messagesUsage(a)
	a.ruled.End(out)
	return []byte(encode(out))
}

func messagesEvents(a answer) []event {
	var out []event
	send := func(name string, o object) {
		o["type"] = name
		out = append(out, event{name: name, data: encode(o)})
	}
	usage := messagesUsage(a)
	first := messagesEnvelope(a)
	started := object{}
	maps.Copy(started, usage)
	started["output_tokens"] = 1
	first["usage"] = started
	send("message_start", object{"message": first})
	blocks := a.ruled.Blocks(a.Message.Parts)
	for i, p := range a.Message.Parts {
		block := blocks[i]
		delta := func(d object) { send("content_block_delta", object{"index": i, "delta": d}) }
		switch p.Kind {
		case llm.ToolCall:
			block["input"] = object{}
			send("content_block_start", object{"index": i, "content_block": block})
			delta(object{"type": "input_json_delta", "partial_json": ""})
			for _, s := range pieces(p.Args, 24) {
				delta(object{"type": "input_json_delta", "partial_json": s})
			}
		case llm.Thinking:
			if block["type"] != "thinking" { // redacted thinking is sent as a whole
				send("content_block_start", object{"index": i, "content_block": block})
				break
			}
			send("content_block_start", object{"index": i, "content_block": object{"type": "thinking", "thinking": "", "signature": ""}})
			for _, s := range pieces(p.Text, 24) {
				delta(object{"type": "thinking_delta", "thinking": s})
			}
			delta(object{"type": "signature_delta", "signature": block["signature"]})
		case llm.Opaque:
			send("content_block_start", object{"index": i, "content_block": block})
		default:
			send("content_block_start", object{"index": i, "content_block": object{"type": "text", "text": ""}})
			for _, s := range pieces(p.Text, 24) {
				delta(object{"type": "text_delta", "text": s})
			}
		}
		send("content_block_stop", object{"index": i})
		if i == 0 {
			send("ping", object{})
		}
	}
	end := object{
		"delta": object{"stop_reason": a.stop("tool_use", "end_turn"), "stop_sequence": nil},
		"usage": object{"output_tokens": usage["output_tokens"]},
	}
	a.ruled.End(end)
	send("message_delta", end)
	send("message_stop", object{})
	return out
}

func messagesBroken(message string) event {
	return event{name: "error", data: encode(anthropic.API.Error(llm.ErrorBody{Status: 529, Message: message}))}
}
