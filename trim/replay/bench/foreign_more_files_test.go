package bench

import (
	"fmt"
	"path"
	"strings"
)

func writePi(s *story) map[string]string {
	lines := []string{encoded(object{"type": "session", "version": 3, "id": "s", "timestamp": s.beats[0].clock(), "cwd": "/home/me/project"})}
	var parent any
	for i := range s.beats {
		b := &s.beats[i]
		add := func(kind string, more object) {
			id := fmt.Sprint("e", len(lines))
			line := object{"type": kind, "id": id, "parentId": parent, "timestamp": b.clock()}
			for k, v := range more {
				line[k] = v
			}
			parent, lines = id, append(lines, encoded(line))
		}
		switch {
		case b.user != "":
			add("message", object{"message": object{"role": "user", "content": b.user}})
		case b.summary != "":
			add("compaction", object{"summary": b.summary, "firstKeptEntryId": parent, "tokensBefore": 9})
		default:
			content := []any{}
			if b.words != "" {
				content = append(content, typed("text", b.words))
			}
			for j := range b.acts {
				tool, args, _ := piCalls(&b.acts[j])
				content = append(content, object{"type": "toolCall", "id": b.acts[j].id, "name": tool, "arguments": args})
			}
			m := object{"role": "assistant", "content": content, "model": b.model}
			if b.used > 0 {
				m["usage"] = object{"input": b.used - b.read, "cacheRead": b.read, "output": 9}
			}
			add("message", object{"message": m})
			for j := range b.acts {
				a := &b.acts[j]
				tool, _, result := piCalls(a)
				content := []any{typed("text", result)}
				if a.image {
					content = append(content, object{"type": "image", "data": "AA==", "mimeType": "image/png"})
				}
				if !a.lost {
					add("message", object{"message": object{"role": "toolResult", "toolCallId": a.id, "toolName": tool, "content": content, "isError": a.failed}})
				}
			}
		}
	}
	return map[string]string{"s.jsonl": strings.Join(lines, "\n")}
}

// called returns the calls in the form of Chat Completions.
func (b *beat) called(h callForm) []object {
	var calls []object
	for i := range b.acts {
		tool, args, _ := h(&b.acts[i])
		calls = append(calls, object{"id": b.acts[i].id, "type": "function", "function": object{"name": tool, "arguments": encoded(args)}})
	}
	return calls
}

func writeMini(s *story) map[string]string {
	messages := []object{{"role": "system", "content": "You can use a shell."}}
	for i := range s.beats {
		b := &s.beats[i]
		if !b.answers() {
			messages = append(messages, object{"role": "user", "content": b.user + b.summary})
			continue
		}
		messages = append(messages, object{"role": "assistant", "content": b.words, "tool_calls": b.called(shellCalls)})
		for j := range b.acts {
			if a := &b.acts[j]; !a.lost {
				_, _, result := shellCalls(a)
				messages = append(messages, object{"role": "tool", "tool_call_id": a.id, "content": result, "extra": object{"timestamp": b.at.Unix()}})
			}
		}
	}
	return map[string]string{"s.traj.json": encoded(object{
		"info": object{"mini_version": "2.0.0", "config": object{"model": object{"model_name": s.model}}}, "messages": messages, "trajectory_format": "mini-swe-agent-1.1",
	})}
}

func writeSWE(s *story) map[string]string {
	calls := editorCalls("bash")
	messages := []object{{"role": "system", "content": "You are an agent.", "agent": "main", "message_type": "system_prompt"}}
	for i := range s.beats {
		b := &s.beats[i]
		if !b.answers() {
			messages = append(messages, object{"role": "user", "content": []any{typed("text", b.user+b.summary)}, "agent": "main", "message_type": "observation"})
			continue
		}
		messages = append(messages, object{"role": "assistant", "content": b.words, "thought": b.words, "agent": "main", "tool_calls": b.called(calls), "message_type": "action"})
		for j := range b.acts {
			if a := &b.acts[j]; !a.lost {
				_, _, result := calls(a)
				messages = append(messages, object{"role": "tool", "content": []any{typed("text", "OBSERVATION:\n"+result)}, "agent": "main", "message_type": "observation", "tool_call_ids": []string{a.id}})
			}
		}
	}
	return map[string]string{"s.traj": encoded(object{
		"trajectory": []any{}, "history": messages, "info": object{"swe_agent_version": "1.0.1"}, "environment": "task",
		"replay_config": encoded(object{"agent": object{"model": object{"name": s.model}}}),
	})}
}

func writeOpenHands(s *story) map[string]string {
	calls := editorCalls("execute_bash")
	var events []object
	for i := range s.beats {
		b := &s.beats[i]
		add := func(source string, more object) {
			event := object{"id": len(events), "source": source}
			if !b.at.IsZero() {
				event["timestamp"] = b.at.Format("2006-01-02T15:04:05.000000")
			}
			for k, v := range more {
				event[k] = v
			}
			events = append(events, event)
		}
		switch {
		case b.user != "":
			add("user", object{"action": "message", "args": object{"content": b.user}})
			continue
		case b.summary != "":
			add("agent", object{"action": "condensation", "args": object{"summary": b.summary}})
			continue
		case len(b.acts) == 0:
			add("agent", object{"action": "message", "args": object{"content": b.words}})
			continue
		}
		answer := object{"id": fmt.Sprint("gen-", i), "model": b.model, "choices": []any{object{"message": object{"role": "assistant", "content": b.words, "tool_calls": b.called(calls)}}}}
		if b.used > 0 {
			answer["usage"] = object{"prompt_tokens": b.used, "completion_tokens": 9}
		}
		for j := range b.acts {
			a := &b.acts[j]
			tool, _, result := calls(a)
			at := len(events)
			add("agent", object{"action": a.op, "args": object{}, "tool_call_metadata": object{"function_name": tool, "tool_call_id": a.id, "model_response": answer}})
			if !a.lost {
				add("agent", object{"cause": at, "observation": a.op, "content": result, "tool_call_metadata": object{"function_name": tool, "tool_call_id": a.id}})
			}
		}
	}
	return map[string]string{"output.jsonl": encoded(object{"instance_id": "s", "test_result": object{}, "metadata": object{"agent_class": "CodeActAgent", "llm_config": object{"model": s.model}}, "history": events})}
}

// opencodeMessage is the record of a message, and the records of its parts.
type opencodeMessage struct {
	info  object
	parts []object
}

func (s *story) opencode() []opencodeMessage {
	var messages []opencodeMessage
	for i := range s.beats {
		b := &s.beats[i]
		info := object{"id": fmt.Sprintf("msg_%06d", i), "sessionID": "ses_1", "role": "assistant", "modelID": b.model}
		if !b.at.IsZero() {
			info["time"] = object{"created": b.at.UnixMilli()}
		}
		var parts []object
		switch {
		case b.user != "":
			info["role"], parts = "user", []object{typed("text", b.user)}
		case b.summary != "":
			info["summary"], parts = true, []object{typed("text", b.summary)}
		default:
			if b.words != "" {
				parts = append(parts, typed("text", b.words))
			}
			for j := range b.acts {
				a := &b.acts[j]
				tool, args, result := opencodeCalls(a)
				state := object{"status": "completed", "input": args, "output": result}
				if a.failed {
					state = object{"status": "error", "input": args, "error": result}
				}
				if a.lost {
					state = object{"status": "running", "input": args}
				}
				parts = append(parts, object{"type": "tool", "tool": tool, "callID": a.id, "state": state})
			}
			finish := object{"type": "step-finish"}
			if b.used > 0 {
				finish["tokens"] = object{"input": b.used - b.read, "output": 9, "reasoning": 0, "cache": object{"read": b.read, "write": 0}}
			}
			parts = append([]object{{"type": "step-start"}}, append(parts, finish)...)
		}
		messages = append(messages, opencodeMessage{info, parts})
	}
	return messages
}

func writeOpencode(s *story) map[string]string {
	var messages []object
	for _, m := range s.opencode() {
		messages = append(messages, object{"info": m.info, "parts": m.parts})
	}
	return map[string]string{"s.json": encoded(object{"info": object{"id": "ses_1", "projectID": "p", "directory": "/home/me/project", "version": "1.14.0"}, "messages": messages})}
}

func writeOpencodeStore(s *story) map[string]string {
	files := map[string]string{"storage/session/p/ses_1.json": encoded(object{"id": "ses_1", "version": "1.0.1", "projectID": "p", "directory": "/home/me/project", "time": object{"created": 1767322800000}})}
	for _, m := range s.opencode() {
		id := m.info["id"].(string)
		files[path.Join("storage/message/ses_1", id+".json")] = encoded(m.info)
		for n, part := range m.parts {
			part["id"], part["messageID"] = fmt.Sprintf("prt_%03d", n), id
			files[path.Join("storage/part", id, fmt.Sprintf("prt_%03d.json", n))] = encoded(part)
		}
	}
	return files
}
