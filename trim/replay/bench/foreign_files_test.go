package bench

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// formatWriter writes a story in an agent's format. It returns the texts of the files, by name.
type formatWriter func(s *story) map[string]string

// formats has a function for each format, under the name that package transcript uses. A format without summaries or sub-agents
// leaves them out.
var formats = map[string]formatWriter{
	"claude-code-jsonl":  writeClaude,
	"cline-messages":     writeCline,
	"codex-rollout":      writeCodex,
	"copilot-cli-events": writeCopilot,
	"gemini-cli-chat":    writeGemini,
	"opencode-export":    writeOpencode,
	"opencode-storage":   writeOpencodeStore,
	"pi-session":         writePi,
	"qwen-chat":          writeQwen,
}

func encoded(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (b *beat) clock() string {
	if b.at.IsZero() {
		return ""
	}
	return b.at.Format(time.RFC3339Nano)
}

// typed returns a value with a type and a text.
func typed(kind, words string) object { return object{"type": kind, "text": words} }

var png = object{"type": "image", "source": object{"type": "base64", "media_type": "image/png", "data": picture}}

var picture = strings.Repeat("QUJD", 500)

// blocks returns the content of an answer and of its results, in the form of the Messages API.
func (b *beat) blocks(h callForm) (answer, results []any) {
	if b.thought != "" {
		answer = append(answer, object{"type": "thinking", "thinking": b.thought, "signature": "c2lnbmVk"})
	}
	if b.words != "" {
		answer = append(answer, typed("text", b.words))
	}
	for i := range b.acts {
		a := &b.acts[i]
		tool, args, result := h(a)
		answer = append(answer, object{"type": "tool_use", "id": a.id, "name": tool, "input": args})
		var content any = result
		if a.image {
			content = []any{typed("text", result), png}
		}
		if !a.lost {
			results = append(results, object{"type": "tool_result", "tool_use_id": a.id, "content": content, "is_error": a.failed})
		}
	}
	return answer, results
}

func (b *beat) usage(o object) object {
	if b.used > 0 {
		o["usage"] = object{"input_tokens": b.used - b.read, "cache_read_input_tokens": b.read, "output_tokens": 9}
	}
	return o
}

func writeClaude(s *story) map[string]string {
	var lines []string
	n := 0
	write := func(beats []beat, side bool) {
		var parent any
		add := func(b *beat, kind string, more object) {
			n++
			id := fmt.Sprint("u", n)
			line := object{"uuid": id, "parentUuid": parent, "isSidechain": side, "sessionId": "s", "cwd": "/home/me/project", "type": kind, "timestamp": b.clock()}
			for k, v := range more {
				line[k] = v
			}
			parent, lines = id, append(lines, encoded(line))
		}
		for i := range beats {
			b := &beats[i]
			switch {
			case b.user != "":
				add(b, "user", object{"message": object{"role": "user", "content": b.user}})
			case b.summary != "":
				before := parent
				parent = nil
				add(b, "system", object{"subtype": "compact_boundary", "logicalParentUuid": before, "content": "Conversation compacted"})
				add(b, "user", object{"isCompactSummary": true, "message": object{"role": "user", "content": b.summary}})
			default:
				answer, results := b.blocks(claudeCalls)
				add(b, "assistant", object{"message": b.usage(object{"id": fmt.Sprint("msg_", n), "type": "message", "role": "assistant", "model": b.model, "content": answer})})
				if len(results) > 0 {
					add(b, "user", object{"message": object{"role": "user", "content": results}})
				}
			}
		}
	}
	write(s.beats, false)
	for _, side := range s.sides {
		write(side, true)
	}
	return map[string]string{"s.jsonl": strings.Join(lines, "\n")}
}

func writeCline(s *story) map[string]string {
	var messages []object
	for i := range s.beats {
		b := &s.beats[i]
		add := func(role string, content any) {
			m := object{"id": fmt.Sprint("m", len(messages)), "role": role, "content": content, "ts": b.at.UnixMilli(), "modelInfo": object{"id": b.model}}
			if b.used > 0 && role == "assistant" {
				m["metrics"] = object{"inputTokens": b.used, "cacheReadTokens": b.read, "outputTokens": 9}
			}
			messages = append(messages, m)
		}
		if !b.answers() {
			add("user", []any{typed("text", b.user+b.summary)})
			continue
		}
		answer, results := b.blocks(clineCalls)
		add("assistant", answer)
		if len(results) > 0 {
			add("user", results)
		}
	}
	return map[string]string{"s.json": encoded(object{"version": 1, "agent": "lead", "sessionId": "s", "messages": messages})}
}

func writeCodex(s *story) map[string]string {
	var lines []string
	model := ""
	for i := range s.beats {
		b := &s.beats[i]
		add := func(kind string, payload object) {
			lines = append(lines, encoded(object{"timestamp": b.clock(), "type": kind, "payload": payload}))
		}
		if i == 0 {
			add("session_meta", object{"id": "s", "cwd": "/home/me/project", "originator": "x", "cli_version": "0.140.0", "timestamp": b.clock()})
		}
		said := func(role, kind, words string) object {
			return object{"type": "message", "role": role, "content": []any{typed(kind, words)}}
		}
		switch {
		case b.user != "":
			add("response_item", said("user", "input_text", b.user))
		case b.summary != "":
			add("compacted", object{"message": "", "replacement_history": []any{said("user", "input_text", b.summary)}})
		default:
			if b.model != model {
				model = b.model
				add("turn_context", object{"cwd": "/home/me/project", "model": model})
			}
			if b.words != "" {
				add("response_item", said("assistant", "output_text", b.words))
			}
			var results []object
			for j := range b.acts {
				a := &b.acts[j]
				tool, args, result := codexCalls(a)
				kind, key := "function_call", "arguments"
				if tool == "apply_patch" {
					kind, key = "custom_tool_call", "input"
				}
				add("response_item", object{"type": kind, "name": tool, key: args, "call_id": a.id})
				if !a.lost {
					results = append(results, object{"type": kind + "_output", "call_id": a.id, "output": result})
				}
			}
			if b.used > 0 {
				used := object{"input_tokens": b.used, "cached_input_tokens": b.read, "output_tokens": 9, "total_tokens": b.used + 9 + i}
				add("event_msg", object{"type": "token_count", "info": object{"total_token_usage": used, "last_token_usage": used}})
			}
			for _, r := range results {
				add("response_item", r)
			}
		}
	}
	return map[string]string{"s.jsonl": strings.Join(lines, "\n")}
}

func writeCopilot(s *story) map[string]string {
	lines := []string{encoded(object{"type": "session.start", "data": object{"sessionId": "s", "version": 1, "context": object{"cwd": "/home/me/project"}}, "id": "0", "timestamp": s.beats[0].clock()})}
	model := ""
	write := func(beats []beat, side string) {
		for i := range beats {
			b := &beats[i]
			add := func(kind string, data object) {
				if side != "" {
					data["parentToolCallId"] = side
				}
				lines = append(lines, encoded(object{"type": kind, "data": data, "id": fmt.Sprint(len(lines)), "timestamp": b.clock()}))
			}
			if !b.answers() {
				add("user.message", object{"content": b.user + b.summary})
				continue
			}
			if b.model != model {
				model = b.model
				add("session.model_change", object{"newModel": model})
			}
			calls := []object{}
			for j := range b.acts {
				tool, args, _ := copilotCalls(&b.acts[j])
				calls = append(calls, object{"toolCallId": b.acts[j].id, "name": tool, "arguments": args, "type": "function"})
			}
			add("assistant.message", object{"messageId": fmt.Sprint("m", len(lines)), "content": b.words, "toolRequests": calls})
			for j := range b.acts {
				if a := &b.acts[j]; !a.lost {
					_, _, result := copilotCalls(a)
					add("tool.execution_complete", object{"toolCallId": a.id, "success": !a.failed, "result": object{"content": result}, "error": object{"message": result}})
				}
			}
		}
	}
	write(s.beats, "")
	for i, side := range s.sides {
		write(side, fmt.Sprint("side_", i))
	}
	return map[string]string{"events.jsonl": strings.Join(lines, "\n")}
}

// response returns a result in the form of generateContent.
func response(a *act, tool, result string) object {
	key := "output"
	if a.failed {
		key = "error"
	}
	return object{"functionResponse": object{"id": a.id, "name": tool, "response": object{key: result}}}
}

func writeGemini(s *story) map[string]string {
	var messages []object
	for i := range s.beats {
		b := &s.beats[i]
		m := object{"id": fmt.Sprint(i), "timestamp": b.clock(), "type": "user", "content": b.user + b.summary}
		if b.answers() {
			m["type"], m["content"], m["model"] = "gemini", b.words, b.model
			if b.used > 0 {
				m["tokens"] = object{"input": b.used, "cached": b.read, "output": 9, "total": b.used + 9}
			}
			var calls []object
			for j := range b.acts {
				a := &b.acts[j]
				tool, args, result := geminiCalls(a)
				call := object{"id": a.id, "name": tool, "args": args, "status": "success"}
				if !a.lost {
					call["result"] = []any{response(a, tool, result)}
				}
				calls = append(calls, call)
			}
			m["toolCalls"] = calls
		}
		messages = append(messages, m)
	}
	return map[string]string{"s.json": encoded(object{"sessionId": "s", "projectHash": "abc", "messages": messages})}
}

func writeQwen(s *story) map[string]string {
	var lines []string
	var parent any
	for i := range s.beats {
		b := &s.beats[i]
		add := func(kind string, more object) {
			id := fmt.Sprint(len(lines) + 1)
			line := object{"uuid": id, "parentUuid": parent, "sessionId": "s", "timestamp": b.clock(), "type": kind, "cwd": "/home/me/project", "version": "0.15.0"}
			for k, v := range more {
				line[k] = v
			}
			parent, lines = id, append(lines, encoded(line))
		}
		says := func(role string, parts ...any) object { return object{"role": role, "parts": parts} }
		switch {
		case b.user != "":
			add("user", object{"message": says("user", object{"text": b.user})})
		case b.summary != "":
			add("system", object{"subtype": "chat_compression", "systemPayload": object{"info": object{}, "compressedHistory": []any{says("user", object{"text": b.summary}), says("model", object{"text": "Got it."})}}})
		default:
			var parts, results []any
			if b.words != "" {
				parts = append(parts, object{"text": b.words})
			}
			for j := range b.acts {
				a := &b.acts[j]
				tool, args, result := geminiCalls(a)
				parts = append(parts, object{"functionCall": object{"id": a.id, "name": tool, "args": args}})
				if !a.lost {
					results = append(results, response(a, tool, result))
				}
			}
			line := object{"model": b.model, "message": says("model", parts...)}
			if b.used > 0 {
				line["usageMetadata"] = object{"promptTokenCount": b.used, "cachedContentTokenCount": b.read, "candidatesTokenCount": 9, "totalTokenCount": b.used + 9}
			}
			add("assistant", line)
			for _, r := range results {
				add("tool_result", object{"message": says("user", r)})
			}
		}
	}
	return map[string]string{"s.jsonl": strings.Join(lines, "\n")}
}
