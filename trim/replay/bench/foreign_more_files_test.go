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
