package formats

import (
	"encoding/json"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/stet-dev/stet/internal/sse"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
	"github.com/stet-dev/stet/trim/transcript"
)

// claude-trace records the requests of the Messages API, one per line: only the body, or {request: {body}, response: {body
// | body_raw}}. Every request of a conversation repeats the earlier ones. So the longest request is the conversation. The
// others only add their usage.

func isTrace(s transcript.Shape) bool {
	return s.Has("messages[].role", "max_tokens") ||
		s.Has("request.body") && s.Has("request.url") || s.Has("request.body.messages")
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

func readTrace(file *transcript.File) ([]*transcript.Session, error) {
	all := map[uint64]*conversation{}
	err := values(file, func(l *traceLine) {
		body := &l.traceBody
		if l.Request.Body != nil {
			body = l.Request.Body
		}
		if len(body.Messages) == 0 {
			return
		}
		key := firstWords(body)
		c := all[key]
		if c == nil {
			c = &conversation{answers: map[int]*llm.Message{}, order: len(all)}
			all[key] = c
		}
		var answer *llm.Message
		if l.Response != nil {
			answer = traceAnswer(l.Response.Body, l.Response.Raw)
		}
		if answer != nil {
			answer.Time = transcript.Timestamp(l.Request.Timestamp)
			c.answers[len(body.Messages)] = answer
			c.all = append(c.all, answer)
		}
		if c.longest == nil || len(body.Messages) >= len(c.longest.Messages) {
			c.longest, c.answer = body, answer
		}
	}, nil)
	sessions := make([]*transcript.Session, len(all))
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
func (c *conversation) session() *transcript.Session {
	s := &transcript.Session{}
	c.conversation(s)
	for _, a := range c.all {
		if a != c.answer && !slices.ContainsFunc(s.Messages, func(m llm.Message) bool { return m.Usage == a.Usage }) {
			charge(s, transcript.Left, *a)
		}
	}
	return s
}

func (c *conversation) conversation(s *transcript.Session) {
	b := c.longest
	if len(b.Messages) == 1 && c.answer == nil && len(b.Tools) == 0 {
		return
	}
	if parts, _ := transcript.Blocks(b.System); len(parts) > 0 {
		add(s, llm.Message{Role: llm.System, Parts: parts})
	}
	for i := range b.Messages {
		m := &b.Messages[i]
		parts, results := transcript.Blocks(m.Content)
		if m.Role == "assistant" {
			answer := llm.Message{Role: llm.Assistant, Model: b.Model, Parts: parts}
			if a := c.answers[i]; a != nil {
				answer.ID, answer.Usage, answer.Time = a.ID, a.Usage, a.Time
			}
			add(s, answer)
			continue
		}
		role := llm.User
		if m.Role == "system" {
			role = llm.System
		}
		add(s, llm.Message{Role: llm.Tool, Parts: results})
		add(s, llm.Message{Role: role, Parts: parts})
	}
	if c.answer != nil {
		add(s, *c.answer)
	}
}

// traceAnswer reads an answer, which is a message or the events of a stream. It returns nil if there is none.
func traceAnswer(body json.RawMessage, stream string) *llm.Message {
	if len(body) > 0 && body[0] == '"' {
		stream = stringOf(body)
	}
	var answer *llm.Response
	if stream != "" {
		body = []byte(stream + "\n\n")
		r := anthropic.API.Reader(func(llm.Event) {})
		events := sse.Parser{Event: func(name, data []byte) { _ = r.Event(name, data) }} // an event that cannot be read is skipped
		_, _ = events.Write(body)                                                        // a Parser returns no error
		answer = r.Response()
	} else if answer, _ = (anthropic.Messages{}).DecodeResponse(body); answer == nil {
		return nil
	}
	m := answer.Message
	m.ID, m.Model = answer.ID, answer.Model
	if !answer.Usage.IsZero() {
		m.Usage = &answer.Usage
	}
	if len(m.Parts) == 0 && m.Usage == nil {
		return nil
	}
	return &m
}
