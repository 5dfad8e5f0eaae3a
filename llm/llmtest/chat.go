package llmtest

import "github.com/stet-dev/stet/llm"

// chatUsage counts as OpenAI's Chat Completions do: prompt_tokens includes tokens read from the cache.
func chatUsage(u llm.Usage) object {
	return object{
		"prompt_tokens": u.Prompt(), "completion_tokens": u.Output, "total_tokens": u.Total(),
		"prompt_tokens_details":     object{"cached_tokens": u.CacheRead, "audio_tokens": 0},
		"completion_tokens_details": object{"reasoning_tokens": u.Reasoning, "audio_tokens": 0},
	}
}

func chatEnvelope(a answer, kind string) object {
	return object{
		"id": "chatcmpl-" + a.ID, "object": kind, "created": a.created, "model": a.Model,
		"system_fingerprint": "fp_scripted",
	}
}

func chatCall(p llm.Part) object {
	return object{"id": p.CallID, "type": "function", "function": object{"name": p.Name, "arguments": p.Args}}
}

func chatWhole(a answer) []byte {
	text, thought, calls := "", "", []any{}
	for _, p := range a.Message.Parts {
		switch p.Kind {
		case llm.Text:
			text += p.Text
		case llm.Thinking:
			thought += p.Text
		case llm.ToolCall:
			calls = append(calls, chatCall(p))
		}
	}
	msg := object{"role": "assistant", "content": text, "refusal": nil}
	if len(calls) > 0 {
		msg["tool_calls"] = calls
	}
	if text == "" {
		msg["content"] = nil
	}
	if a.thinks && thought != "" {
		msg["reasoning_content"] = thought
	}
	a.ruled.Begin(msg, a.Message.Parts)
	out := chatEnvelope(a, "chat.completion")
	out["choices"] = []any{object{"index": 0, "message": msg, "logprobs": nil, "finish_reason": a.stop("tool_calls", "stop")}}
	out["usage"] = chatUsage(a.Usage)
	return []byte(encode(out))
}

func chatEvents(a answer) []event {
	var out []event
	withUsage := a.flag("stream_options", "include_usage")
	send := func(choices []any, usage any) {
		o := chatEnvelope(a, "chat.completion.chunk")
		o["choices"] = choices
		if withUsage {
			o["usage"] = usage
		}
		out = append(out, event{data: encode(o)})
	}
	delta := func(d object) {
		send([]any{object{"index": 0, "delta": d, "logprobs": nil, "finish_reason": nil}}, nil)
	}
	delta(object{"role": "assistant", "content": ""})
	first := object{}
	if a.ruled.Begin(first, a.Message.Parts); len(first) > 0 {
		delta(first)
	}
	calls := 0
	for _, p := range a.Message.Parts {
		switch p.Kind {
		case llm.Text:
			for _, s := range pieces(p.Text, 24) {
				delta(object{"content": s})
			}
		case llm.Thinking:
			for _, s := range pieces(p.Text, 24) {
				if a.thinks {
					delta(object{"reasoning_content": s})
				}
			}
		case llm.ToolCall:
			head := chatCall(p)
			head["index"], head["function"] = calls, object{"name": p.Name, "arguments": ""}
			delta(object{"tool_calls": []any{head}})
			for _, s := range pieces(p.Args, 24) {
				delta(object{"tool_calls": []any{object{"index": calls, "function": object{"arguments": s}}}})
			}
			calls++
		}
	}
	send([]any{object{"index": 0, "delta": object{}, "logprobs": nil, "finish_reason": a.stop("tool_calls", "stop")}}, nil)
	if withUsage {
		send([]any{}, chatUsage(a.Usage))
	}
	return append(out, event{data: "[DONE]"})
}
