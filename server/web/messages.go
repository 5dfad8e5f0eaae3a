package web

import (
	"maps"
	"slices"
	"strings"

	"github.com/stet-dev/stet/llm"
)

// kinds are the names of the kinds of parts.
var kinds = map[llm.Kind]string{llm.Text: "text", llm.Thinking: "thinking", llm.ToolCall: "call", llm.ToolResult: "result"}

func message(seq uint64, m llm.Message) Message {
	out := Message{Seq: seq, Role: string(m.Role), Time: m.Time, Model: m.Model, Local: m.Local, Parts: []Part{}}
	if m.Usage != nil {
		t := Tokens{}.plus(*m.Usage)
		out.Used = &t
	}
	for _, p := range m.Parts {
		kind, text := kinds[p.Kind], p.Text
		switch p.Kind {
		case llm.ToolCall:
			text = p.Args
		case llm.Opaque:
			kind, text = "other", ""
		}
		out.Parts = append(out.Parts, Part{kind, p.Name, p.CallID, cut(text), max(len(text), len(p.Raw)), p.IsError})
	}
	return out
}

// cut returns the beginning of a text that is too long.
func cut(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "")
}

// shares returns the parts of messages by bytes.
func shares(all []llm.Message) []Share {
	bytes, tools := map[string]int{}, map[string]string{}
	for _, m := range all {
		if m.Local {
			continue
		}
		for _, p := range m.Parts {
			switch p.Kind {
			case llm.Text:
				bytes[string(m.Role)] += len(p.Text)
			case llm.Thinking:
				bytes["thinking"] += max(len(p.Text), len(p.Raw))
			case llm.ToolCall:
				tools[p.CallID] = p.Name
				bytes["calls"] += len(p.Name) + len(p.Args)
			case llm.ToolResult:
				bytes["results of "+tools[p.CallID]] += len(p.Text)
			case llm.Opaque:
				bytes["other"] += len(p.Raw)
			}
		}
	}
	out := []Share{}
	for _, name := range slices.Sorted(maps.Keys(bytes)) {
		out = append(out, Share{name, bytes[name]})
	}
	slices.SortStableFunc(out, func(a, b Share) int { return b.Bytes - a.Bytes })
	return out
}
