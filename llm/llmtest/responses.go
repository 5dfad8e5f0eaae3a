package llmtest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/stet-dev/stet/llm"
)

// responsesUsage counts as OpenAI's Responses do: input_tokens includes tokens read from the cache.
func responsesUsage(u llm.Usage) object {
	return object{
		"input_tokens": u.Prompt(), "output_tokens": u.Output, "total_tokens": u.Total(),
		"input_tokens_details":  object{"cached_tokens": u.CacheRead},
		"output_tokens_details": object{"reasoning_tokens": u.Reasoning},
	}
}

func responsesEnvelope(a answer, status string, output []any) object {
	return object{
		"id": "resp_" + a.ID, "object": "response", "created_at": a.created, "status": status, "model": a.Model,
		"output": output, "usage": nil, "error": nil, "incomplete_details": nil, "instructions": nil, "metadata": object{},
		"parallel_tool_calls": true, "previous_response_id": nil, "temperature": 1, "top_p": 1, "tool_choice": "auto",
		"tools": []any{}, "text": object{"format": object{"type": "text"}}, "truncation": "disabled", "store": false,
		"reasoning": object{"effort": nil, "summary": nil},
	}
}

// customTools returns the names of the tools that take text instead of JSON.
func customTools(body []byte) map[string]bool {
	var req struct {
		Tools []struct{ Type, Name string }
	}
	_ = json.Unmarshal(body, &req)       // the body was already decoded once
	out := map[string]bool{"exec": true} // if an item of the conversation offers it
	for _, t := range req.Tools {
		out[t.Name] = t.Type == "custom"
	}
	return out
}

// responsesItem returns part i of the answer as an output item.
func responsesItem(a answer, i int, custom map[string]bool) object {
	p, id := a.Message.Parts[i], fmt.Sprintf("%s_%d", a.ID, i)
	switch {
	case p.Raw != "":
		return rawObject(p.Raw)
	case p.Kind == llm.Thinking:
		return object{
			"type": "reasoning", "id": "rs_" + id, "encrypted_content": "c2NyaXB0ZWQ=",
			"summary": []any{object{"type": "summary_text", "text": p.Text}},
		}
	case p.Kind == llm.ToolCall && custom[p.Name]:
		return object{
			"type": "custom_tool_call", "id": "ctc_" + id, "status": "completed",
			"call_id": p.CallID, "name": p.Name, "input": p.Args,
		}
	case p.Kind == llm.ToolCall:
		item := object{
			"type": "function_call", "id": "fc_" + id, "status": "completed",
			"call_id": p.CallID, "name": p.Name, "arguments": p.Args,
		}
		if space, name, ok := strings.Cut(p.Name, "/"); ok { // as Codex names the tools of MCP servers
			item["namespace"], item["name"] = space, name
		}
		return item
	}
	return object{
		"type": "message", "id": "msg_" + id, "status": "completed", "role": "assistant",
		"content": []any{outputText(p.Text)},
	}
}

func outputText(text string) object {
	return object{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": []any{}}
}

func responsesItems(a answer) []any {
	custom, out := customTools(a.body), []any{}
	for i := range a.Message.Parts {
		out = append(out, responsesItem(a, i, custom))
	}
	return out
}

func responsesWhole(a answer) []byte {
	_, out := responsesEnd(a, responsesItems(a))
	return []byte(encode(out))
}

// responsesEnd returns the whole response and its final status. A stop reason says why the response is incomplete.
func responsesEnd(a answer, items []any) (status string, out object) {
	status = "completed"
	if a.StopReason != "" && a.StopReason != status {
		status = "incomplete"
	}
	out = responsesEnvelope(a, status, items)
	out["usage"] = responsesUsage(a.Usage)
	if status == "incomplete" {
		out["incomplete_details"] = object{"reason": a.StopReason}
	}
	return status, out
}

// responsesStream numbers the events of one stream.
type responsesStream struct{ out []event }

func (s *responsesStream) send(name string, o object) {
	o["type"], o["sequence_number"] = name, len(s.out)
	s.out = append(s.out, event{name: name, data: encode(o)})
}

func responsesEvents(a answer) []event {
	var s responsesStream
	s.send("response.created", object{"response": responsesEnvelope(a, "in_progress", []any{})})
	s.send("response.in_progress", object{"response": responsesEnvelope(a, "in_progress", []any{})})
	items := responsesItems(a)
	for i, item := range items {
		s.item(i, item.(object), a.Message.Parts[i])
	}
	status, last := responsesEnd(a, items)
	s.send("response."+status, object{"response": last})
	return s.out
}

// item sends one output item: an empty item, its deltas, and the whole item.
func (s *responsesStream) item(i int, item object, p llm.Part) {
	empty := object{}
	for k, v := range item {
		empty[k] = v
	}
	if item["status"] != nil {
		empty["status"] = "in_progress"
	}
	at := func(o object) object {
		o["output_index"], o["item_id"] = i, item["id"]
		return o
	}
	switch item["type"] {
	case "reasoning":
		empty["summary"], empty["encrypted_content"] = []any{}, ""
		s.send("response.output_item.added", object{"output_index": i, "item": empty})
		summary := func(text string) object { return object{"type": "summary_text", "text": text} }
		s.send("response.reasoning_summary_part.added", at(object{"summary_index": 0, "part": summary("")}))
		for _, d := range pieces(p.Text, 24) {
			s.send("response.reasoning_summary_text.delta", at(object{"summary_index": 0, "delta": d}))
		}
		s.send("response.reasoning_summary_text.done", at(object{"summary_index": 0, "text": p.Text}))
		s.send("response.reasoning_summary_part.done", at(object{"summary_index": 0, "part": summary(p.Text)}))
	case "message":
		empty["content"] = []any{}
		s.send("response.output_item.added", object{"output_index": i, "item": empty})
		s.send("response.content_part.added", at(object{"content_index": 0, "part": outputText("")}))
		for _, d := range pieces(p.Text, 24) {
			s.send("response.output_text.delta", at(object{"content_index": 0, "delta": d, "logprobs": []any{}}))
		}
		s.send("response.output_text.done", at(object{"content_index": 0, "text": p.Text, "logprobs": []any{}}))
		s.send("response.content_part.done", at(object{"content_index": 0, "part": outputText(p.Text)}))
	case "function_call", "custom_tool_call":
		event, field := "response.function_call_arguments", "arguments"
		if item["type"] == "custom_tool_call" {
			event, field = "response.custom_tool_call_input", "input"
		}
		empty[field] = ""
		s.send("response.output_item.added", object{"output_index": i, "item": empty})
		for _, d := range pieces(p.Args, 24) {
			s.send(event+".delta", at(object{"delta": d}))
		}
		s.send(event+".done", at(object{field: p.Args, "name": p.Name}))
	default: // sent as a whole
		s.send("response.output_item.added", object{"output_index": i, "item": item})
	}
	s.send("response.output_item.done", object{"output_index": i, "item": item})
}

func responsesBroken(message string) event {
	return event{name: "error", data: encode(object{
		"type": "error", "sequence_number": 0, "code": "server_error", "message": message, "param": nil,
	})}
}
