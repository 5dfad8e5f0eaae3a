package transcript

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/llm"
)

// Codex writes a line for each item of the Responses API, {timestamp, type, payload}, and lines with its own events. Its
// first versions wrote only the item on a line, after a line with the session's data.

func isCodex(s Shape) bool {
	switch s["type"] {
	case "session_meta", "response_item", "event_msg", "turn_context", "compacted":
		return s.Has("payload")
	case "function_call", "function_call_output", "local_shell_call":
		return s.Has("call_id")
	case "":
		return s["record_type"] == "state" ||
			s.Has("id", "timestamp") && s.Has("instructions") && !s.Has("messages")
	}
	return false
}

type codexLine struct {
	Type      string          `json:"type"`
	Timestamp string          `json:"timestamp"`
	Payload   json.RawMessage `json:"payload"`
}

// codexItem is an item of the Responses API, or the data of a session.
type codexItem struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Role      string          `json:"role"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Input     string          `json:"input"`
	CallID    string          `json:"call_id"`
	Output    json.RawMessage `json:"output"`
	Action    json.RawMessage `json:"action"`
	Content   json.RawMessage `json:"content"`
	Summary   json.RawMessage `json:"summary"`

	Dir          string          `json:"cwd"`
	Version      string          `json:"cli_version"`
	Model        string          `json:"model"`
	Instructions json.RawMessage `json:"instructions"`
	Base         json.RawMessage `json:"base_instructions"`
	Source       json.RawMessage `json:"source"`
	Message      string          `json:"message"`
	Replacement  json.RawMessage `json:"replacement_history"`

	Payload skipped `json:"payload"` // codexLine has these two
	Time    skipped `json:"timestamp"`

	Parent   string          `json:"forked_from_id"`
	Info     json.RawMessage `json:"info"`
	Settings struct {
		Tier string `json:"service_tier"`
	} `json:"thread_settings"`
}

type codexTokens struct {
	Total  codexUsage  `json:"total_token_usage"`
	Last   *codexUsage `json:"last_token_usage"`
	Window skipped     `json:"model_context_window"`
}

type codexUsage struct {
	Input     int     `json:"input_tokens"` // all, also what was read from the cache or written to it
	Cached    int     `json:"cached_input_tokens"`
	Written   int     `json:"cache_write_input_tokens"`
	Older     int     `json:"cache_creation_input_tokens"` // the same
	Output    int     `json:"output_tokens"`
	Reasoning int     `json:"reasoning_output_tokens"`
	Sum       skipped `json:"total_tokens"`
}

func (u codexUsage) minus(v codexUsage) codexUsage {
	return codexUsage{
		Input: u.Input - v.Input, Cached: u.Cached - v.Cached, Written: u.Written - v.Written, Older: u.Older - v.Older,
		Output: u.Output - v.Output, Reasoning: u.Reasoning - v.Reasoning,
	}
}

func (u codexUsage) usage() *llm.Usage {
	written := max(u.Written, u.Older)
	return orNil(llm.Usage{
		Input: uncached(u.Input, u.Cached, written), CacheRead: max(u.Cached, 0), CacheWrite: max(written, 0),
		Output: max(u.Output, 0), Reasoning: max(u.Reasoning, 0),
	})
}

// codexReader makes messages from items.
type codexReader struct {
	s     *Session
	model string
	tier  string // of later requests: llm.Usage.Tier
	total codexUsage
	base  int  // number of messages at the head that are the system prompt: 0 or 1
	open  bool // the newest message is an answer to which items may be added
	early bool // the newest line was usage without an answer. It is the usage of an answer that follows at once.
	short bool // the agent asked for a summary after the newest answer. Its usage may be before or after the summary.
}

func readCodex(src *File) ([]*Session, error) {
	r := &codexReader{s: &Session{byFamily: true}}
	err := src.lines(codexItem{}, func(line []byte) error {
		var l codexLine
		if err := decode(line, &l); err != nil {
			return err
		}
		raw := []byte(l.Payload)
		if len(raw) == 0 {
			raw = line // the format of the first versions
		}
		var it codexItem
		if err := decode(raw, &it); err != nil {
			return err
		}
		var info codexTokens
		if l.Type == "event_msg" && it.Type == "token_count" {
			if src.usage(it.Info, &info) || decode(raw, &info.Last) == nil && *info.Last != (codexUsage{}) { // the second: up to 0.30
				r.usage(&info, parseTime(l.Timestamp))
			}
			return nil
		}
		if l.Type == "event_msg" && it.Type == "thread_settings_applied" {
			if r.tier = llm.Unusual(it.Settings.Tier); r.tier == llm.SpeedFast { // Codex's own word
				r.tier = llm.TierPriority
			}
			return nil
		}
		r.line(l.Type, parseTime(l.Timestamp), &it, raw)
		return nil
	})
	return []*Session{r.s}, err
}

func (r *codexReader) line(kind string, t time.Time, it *codexItem, raw json.RawMessage) {
	s := r.s
	switch kind {
	case "session_meta", "": // "" is the head line of the first versions
		if s.ID == "" && it.ID != "" {
			s.ID, s.Dir, s.Agent = it.ID, it.Dir, it.Version
			r.instructions(it, t)
		}
		for _, id := range []string{it.ID, it.Parent} { // a fork repeats the lines of its parent, the head too
			if id != "" && id != s.ID && !slices.Contains(s.Forks, id) {
				s.Forks = append(s.Forks, id)
			}
		}
	case "turn_context":
		r.model, r.open, r.early = it.Model, false, false
		s.Dir = cmp.Or(s.Dir, it.Dir)
	case "compacted":
		r.compacted(it, t)
	case "event_msg":
	default: // response_item, or the type of an item
		r.item(it, t, raw)
	}
}

// instructions adds the system prompt in the session's head. It does not read "instructions": in some versions this member
// has the system prompt, in others the user's own instructions, which are also sent as a message.
func (r *codexReader) instructions(it *codexItem, t time.Time) {
	var base struct {
		Text string `json:"text"`
	}
	_ = decode(it.Base, &base)
	base.Text = cmp.Or(base.Text, str(it.Base))
	if base.Text != "" {
		r.s.add(llm.Message{Role: llm.System, Time: t, Parts: text(base.Text)})
		r.base = 1
	}
}

func (r *codexReader) item(it *codexItem, t time.Time, raw json.RawMessage) {
	m, ok := r.message(it, raw)
	if !ok {
		return
	}
	m.Time = t
	early := r.early
	r.early = false
	if m.Role != llm.Assistant {
		r.open = false
		r.s.add(m)
		return
	}
	if r.open {
		last := &r.s.Messages[len(r.s.Messages)-1]
		last.Parts = append(last.Parts, m.Parts...)
		return
	}
	m.Model = r.model
	r.s.add(m)
	r.open, r.short = len(m.Parts) > 0, false
	if n := len(r.s.Answers); r.open && early && n > 0 {
		last, a := &r.s.Messages[len(r.s.Messages)-1], r.s.Answers[n-1]
		last.Usage, last.Request = &a.Usage, a.Request
		r.s.Answers = r.s.Answers[:n-1]
	}
}

// message makes a message of one item. It returns false for an item that was not sent.
func (r *codexReader) message(it *codexItem, raw json.RawMessage) (llm.Message, bool) {
	part := llm.Part{CallID: it.CallID}
	role := llm.Assistant
	switch it.Type {
	case "message":
		return codexWords(it)
	case "reasoning":
		part = llm.Part{Kind: llm.Thinking, Raw: string(raw)}
		part.Text = strings.Join(append(Texts(it.Summary), Texts(it.Content)...), "\n")
	case "function_call":
		part.Kind, part.Name, part.Args = llm.ToolCall, it.Name, it.Arguments
	case "custom_tool_call":
		part.Kind, part.Name, part.Args = llm.ToolCall, it.Name, it.Input
	case "local_shell_call":
		part.Kind, part.Name, part.Args = llm.ToolCall, "local_shell", arguments(it.Action)
		part.CallID = cmp.Or(part.CallID, it.ID)
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output":
		role = llm.Tool
		part.Kind = llm.ToolResult
		part.Text, part.IsError = codexOutput(it.Output)
	case "", "ghost_snapshot", "other":
		return llm.Message{}, false
	default: // for example web_search_call
		part = opaque(raw)
	}
	return llm.Message{Role: role, Parts: []llm.Part{part}}, true
}

// codexWords makes a message of a "message" item.
func codexWords(it *codexItem) (llm.Message, bool) {
	m := llm.Message{ID: it.ID, Role: llm.Role(it.Role)}
	switch it.Role {
	case "developer", "system":
		m.Role = llm.System
	case "user", "assistant":
	default:
		return m, false
	}
	m.Parts = text(str(it.Content))
	for _, raw := range list(it.Content) {
		var b block
		if decode(raw, &b) != nil {
			continue
		}
		switch b.Type {
		case "input_text", "output_text", "text":
			m.Parts = append(m.Parts, llm.Part{Text: b.Text})
		default:
			m.Parts = append(m.Parts, opaque(raw))
		}
	}
	return m, true
}

// codexOutput reads an output: a string, a list of blocks, or the object {content, success} of some versions.
func codexOutput(raw json.RawMessage) (text string, failed bool) {
	if len(raw) == 0 || raw[0] == '"' {
		return str(raw), false
	}
	var o struct {
		Content json.RawMessage `json:"content"`
		Success *bool           `json:"success"`
	}
	if raw[0] == '{' && decode(raw, &o) == nil {
		return strings.Join(Texts(o.Content), "\n"), o.Success != nil && !*o.Success
	}
	return strings.Join(Texts(raw), "\n"), false
}

// usage sets the usage of the newest answer. The event comes after the answer, before or after the results of its calls. It
// may be repeated. If there is no new answer, it was aborted, or it was the summary of a compaction.
func (r *codexReader) usage(info *codexTokens, t time.Time) {
	if info.Total == r.total && (info.Total != codexUsage{} || info.Last == nil) {
		return
	}
	last := info.Total.minus(r.total)
	if info.Total.Input < r.total.Input { // the sums began anew
		last = info.Total
	}
	if info.Last != nil {
		last = *info.Last
	}
	used := last.usage()
	if used != nil {
		used.Tier = r.tier
	}
	r.total, r.open = info.Total, false
	kind, request := Empty, ""
	if info.Total != (codexUsage{}) {
		request = fmt.Sprint(info.Total)
	}
	if r.short {
		kind, r.short = Compaction, false
	} else if m := r.s.lastAssistant(); m != nil && m.Usage == nil {
		m.Usage, m.Request = used, request
		return
	}
	r.early = kind == Empty && used != nil
	r.s.charge(kind, llm.Message{Role: llm.Assistant, Time: t, Model: r.model, Usage: used, Request: request})
}

// compacted begins a new context with the history that replaced the old one.
func (r *codexReader) compacted(it *codexItem, t time.Time) {
	r.open, r.short, r.early = false, true, false
	r.s.start()
	var kept []llm.Message
	repeated := false // the history repeats the system messages
	for _, raw := range list(it.Replacement) {
		var old codexItem
		if decode(raw, &old) != nil {
			continue
		}
		if m, ok := r.message(&old, raw); ok {
			m.Time = t
			kept = append(kept, m)
			repeated = repeated || m.Role == llm.System
		}
	}
	if n := len(r.s.Starts); repeated && n > 0 {
		r.s.Messages = r.s.Messages[:min(r.s.Starts[n-1]+r.base, len(r.s.Messages))]
	}
	for _, m := range kept {
		r.s.carry(m)
	}
	if it.Message != "" && len(it.Replacement) == 0 {
		r.s.addUser(it.Message, "", t)
	}
}
