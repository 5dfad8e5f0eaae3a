package transcript

import (
	"bytes"
	"encoding/json"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/stet-dev/stet/llm"
)

// claude-trace records the requests of the Messages API, one per line: only the body, or {request: {body}, response: {body
// | body_raw}}. Every request of a conversation repeats the earlier ones. So the longest request is the conversation. The
// others only add their usage.

func isTrace(s shape) bool {
	return s.has("messages[].role", "max_tokens") ||
		s.has("request.body") && s.has("request.url") || s.has("request.body.messages")
}

type traceLine struct {
	traceBody
	Request struct {
		Body      *traceBody      `json:"body"`
		Timestamp json.RawMessage `json:"timestamp"`
	} `json:"request"`
	Response *struct {
		Body json.RawMessage `json:"body"`
		Raw  string          `json:"body_raw"` // server-sent events
	} `json:"response"`
}

type traceBody struct {
	Model    string            `json:"model"`
	System   json.RawMessage   `json:"system"`
	Messages []chatMessage     `json:"messages"`
	Tools    []json.RawMessage `json:"tools"`
}

// conversation is the requests that begin with the same text.
type conversation struct {
	longest *traceBody
	answer  *llm.Message         // the answer to the longest request
	answers map[int]*llm.Message // by the number of messages in the request
	all     []*llm.Message       // every answer
	order   int
}

func readTrace(src *source) ([]*Session, error) {
	all := map[uint64]*conversation{}
	err := src.lines(traceLine{}, func(line []byte) error {
		var l traceLine
		if err := decode(line, &l); err != nil {
			return err
		}
		body := &l.traceBody
		if l.Request.Body != nil {
			body = l.Request.Body
		}
		if len(body.Messages) == 0 {
			return nil
		}
		key := firstWords(body)
		c := all[key]
		if c == nil {
			c = &conversation{answers: map[int]*llm.Message{}, order: len(all)}
			all[key] = c
		}
		var answer *llm.Message
		if l.Response != nil {
			answer = traceAnswer(src, l.Response.Body, l.Response.Raw)
		}
		if answer != nil {
			answer.Time = parseTimestamp(l.Request.Timestamp)
			c.answers[len(body.Messages)] = answer
			c.all = append(c.all, answer)
		}
		if c.longest == nil || len(body.Messages) >= len(c.longest.Messages) {
			c.longest, c.answer = body, answer
		}
		return nil
	})
	sessions := make([]*Session, len(all))
	for _, c := range all {
		sessions[c.order] = c.session()
	}
	return sessions, err
}

// firstWords returns a hash that identifies a conversation: of the model and the user's first text. It leaves out cache
// markers and reminders, because they change between requests.
func firstWords(b *traceBody) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(b.Model)) // a hash never returns an error
	for _, p := range b.Messages[0].words() {
		if !strings.HasPrefix(p.Text, "<system-reminder>") {
			_, _ = h.Write([]byte(p.Text))
			break
		}
	}
	return h.Sum64()
}

// session makes the conversation. A single request without an answer and without tools is left empty, because it is one of
// the agent's own requests (a quota check, a title). The other answers are billed.
func (c *conversation) session() *Session {
	s := &Session{}
	c.conversation(s)
	for _, a := range c.all {
		if a != c.answer && !slices.ContainsFunc(s.Messages, func(m llm.Message) bool { return m.Usage == a.Usage }) {
			s.charge(Left, *a)
		}
	}
	return s
}

func (c *conversation) conversation(s *Session) {
	b := c.longest
	if len(b.Messages) == 1 && c.answer == nil && len(b.Tools) == 0 {
		return
	}
	if parts, _ := blocks(b.System); len(parts) > 0 {
		s.add(llm.Message{Role: llm.System, Parts: parts})
	}
	for i := range b.Messages {
		m := &b.Messages[i]
		parts, results := blocks(m.Content)
		if m.Role == "assistant" {
			answer := llm.Message{Role: llm.Assistant, Model: b.Model, Parts: parts}
			if a := c.answers[i]; a != nil {
				answer.ID, answer.Usage, answer.Time = a.ID, a.Usage, a.Time
			}
			s.add(answer)
			continue
		}
		role := llm.User
		if m.Role == "system" {
			role = llm.System
		}
		s.add(llm.Message{Role: llm.Tool, Parts: results})
		s.add(llm.Message{Role: role, Parts: parts})
	}
	if c.answer != nil {
		s.add(*c.answer)
	}
}

// traceAnswer reads an answer, which is a message or the events of a stream. It returns nil if there is none.
func traceAnswer(src *source, body json.RawMessage, raw string) *llm.Message {
	var m struct {
		ID      string          `json:"id"`
		Model   string          `json:"model"`
		Content json.RawMessage `json:"content"`
		Usage   json.RawMessage `json:"usage"`
	}
	if len(body) > 0 && body[0] == '"' {
		raw = str(body)
	}
	if raw != "" {
		return streamAnswer(src, []byte(raw))
	}
	if len(body) == 0 || decode(body, &m) != nil {
		return nil
	}
	parts, _ := blocks(m.Content)
	answer := &llm.Message{Role: llm.Assistant, ID: m.ID, Model: m.Model, Parts: parts}
	var u messagesUsage
	if src.usage(m.Usage, &u) {
		answer.Usage = u.usage()
	}
	if len(parts) == 0 && answer.Usage == nil {
		return nil
	}
	return answer
}

// streamEvent is an event of a streamed answer.
type streamEvent struct {
	Type    string `json:"type"`
	Message struct {
		ID    string          `json:"id"`
		Model string          `json:"model"`
		Usage json.RawMessage `json:"usage"`
	} `json:"message"`
	Block json.RawMessage `json:"content_block"`
	Delta struct {
		Text      string `json:"text"`
		Thinking  string `json:"thinking"`
		JSON      string `json:"partial_json"`
		Signature string `json:"signature"`
	} `json:"delta"`
	Usage json.RawMessage `json:"usage"`
}

// streamAnswer makes the message of a streamed answer. It returns nil if there is none.
func streamAnswer(src *source, stream []byte) *llm.Message {
	m := &llm.Message{Role: llm.Assistant}
	var usage messagesUsage
	var input []byte
	for line := range bytes.Lines(stream) {
		data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:"))
		var e streamEvent
		if !ok || decode(bytes.TrimSpace(data), &e) != nil {
			continue
		}
		switch e.Type {
		case "message_start":
			m.ID, m.Model = e.Message.ID, e.Message.Model
			src.usage(e.Message.Usage, &usage)
		case "content_block_start":
			parts, _ := blocks(append(append([]byte{'['}, e.Block...), ']'))
			var b block
			if len(parts) == 0 && len(e.Block) > 0 && decode(e.Block, &b) == nil && b.Type == "text" {
				parts = []llm.Part{{}} // its text follows in other events
			}
			m.Parts = append(m.Parts, parts...)
			input = input[:0]
		case "content_block_delta":
			if len(m.Parts) == 0 {
				continue
			}
			p := &m.Parts[len(m.Parts)-1]
			p.Text += e.Delta.Text + e.Delta.Thinking
			if e.Delta.JSON != "" {
				input = append(input, e.Delta.JSON...)
				p.Args = string(input)
			}
			if p.Kind == llm.Thinking && e.Delta.Signature != "" {
				p.Raw = thinkingRaw(p.Text, e.Delta.Signature)
			}
		case "message_delta":
			last := usage // the event has only some of the numbers
			if src.usage(e.Usage, &last) && last.Output > 0 {
				usage = last
			}
		}
	}
	if m.Usage = usage.usage(); len(m.Parts) == 0 && m.Usage == nil {
		return nil
	}
	return m
}

func thinkingRaw(text, signature string) string {
	raw, _ := json.Marshal(map[string]string{"type": "thinking", "thinking": text, "signature": signature})
	return string(raw)
}
