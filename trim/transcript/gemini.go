package transcript

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/stet-dev/stet/llm"
)

// Gemini CLI writes a conversation as one JSON object, or since 0.40 as JSON lines. The lines are the session's data, the
// messages, {"$set": …} and {"$rewindTo": id}. A message replaces an earlier one with the same id. The calls of an answer
// and their results are in the answer's "toolCalls".

func isGemini(s Shape) bool {
	return s.Has("sessionId", "projectHash")
}

type geminiHead struct {
	SessionID   string          `json:"sessionId"`
	Directories []string        `json:"directories"`
	Messages    json.RawMessage `json:"messages"`
}

type geminiMessage struct {
	ID        string          `json:"id"`
	Timestamp string          `json:"timestamp"`
	Type      string          `json:"type"`
	Content   json.RawMessage `json:"content"`
	Model     string          `json:"model"`
	Thoughts  []struct {
		Subject     string `json:"subject"`
		Description string `json:"description"`
	} `json:"thoughts"`
	Tokens json.RawMessage `json:"tokens"`
	Calls  []geminiCall    `json:"toolCalls"`

	usage *llm.Usage
}

type geminiTokens struct {
	Input    int     `json:"input"`
	Output   int     `json:"output"`
	Cached   int     `json:"cached"`
	Thoughts int     `json:"thoughts"`
	Tool     int     `json:"tool"`
	Total    skipped `json:"total"`
}

func (k geminiTokens) usage() *llm.Usage {
	return orNil(llm.Usage{
		Input: uncached(k.Input, k.Cached) + k.Tool, CacheRead: k.Cached,
		Output: k.Output + k.Thoughts, Reasoning: k.Thoughts,
	})
}

type geminiCall struct {
	ID     string          `json:"id"`
	Name   string          `json:"name"`
	Args   json.RawMessage `json:"args"`
	Status string          `json:"status"`
	Result json.RawMessage `json:"result"`
}

// geminiLine is a line of the newer form, or the whole object of the older form.
type geminiLine struct {
	geminiMessage
	geminiHead
	Set      *geminiHead `json:"$set"`
	RewindTo string      `json:"$rewindTo"`
}

func readGemini(src *File) ([]*Session, error) {
	s := &Session{}
	var order []string
	messages := map[string]geminiMessage{}
	put := func(m geminiMessage) {
		m.usage = usageIn[geminiTokens](src, m.Tokens)
		old, seen := messages[m.ID]
		if !seen {
			order = append(order, m.ID)
		}
		if old.usage != nil && (m.usage == nil || Fuller(*old.usage, *m.usage)) {
			m.usage = old.usage
		}
		messages[m.ID] = m
	}
	err := src.values(geminiLine{}, decoded(func(l *geminiLine) error {
		if l.Set != nil {
			l.geminiHead = *l.Set
		}
		switch {
		case l.RewindTo != "":
			if i := slices.Index(order, l.RewindTo); i >= 0 {
				for _, gone := range order[i:] {
					left := &Session{}
					m := messages[gone]
					left.geminiMessage(&m)
					for _, m := range left.Messages {
						s.charge(Left, m)
					}
					s.Answers = append(s.Answers, left.Answers...)
					delete(messages, gone)
				}
				order = order[:i]
			}
		case l.ID != "":
			put(l.geminiMessage)
		}
		if l.SessionID != "" {
			s.ID = l.SessionID
		}
		if len(l.Directories) > 0 {
			s.Dir = l.Directories[0]
		}
		for _, raw := range list(l.Messages) {
			var m geminiMessage
			if decode(raw, &m) == nil {
				put(m)
			}
		}
		return nil
	}))
	for _, id := range order {
		m := messages[id]
		s.geminiMessage(&m)
	}
	return []*Session{s}, err
}

func (s *Session) geminiMessage(g *geminiMessage) {
	t := parseTime(g.Timestamp)
	words := strings.Join(Texts(g.Content), "\n")
	switch g.Type {
	case "user":
		s.addUser(words, g.ID, t)
		return
	case "gemini":
	default: // info, warning and error are only shown to the user
		s.add(llm.Message{Role: llm.User, Local: true, ID: g.ID, Time: t, Parts: text(words)})
		return
	}
	m := llm.Message{Role: llm.Assistant, ID: g.ID, Time: t, Model: g.Model}
	for _, th := range g.Thoughts {
		raw, _ := json.Marshal(th)
		m.Parts = append(m.Parts, thinking(strings.TrimSpace(th.Subject+"\n"+th.Description), raw))
	}
	m.Parts = append(m.Parts, text(words)...)
	results := llm.Message{Role: llm.Tool, ID: g.ID, Time: t}
	for _, c := range g.Calls {
		m.Parts = append(m.Parts, Call(c.ID, c.Name, c.Args))
		if text, failed, ok := functionResponse(c.Result); ok {
			results.Parts = append(results.Parts, result(c.ID, text, failed || c.Status == "error"))
		}
	}
	m.Usage = g.usage
	s.add(m)
	s.add(results)
}

// functionResponse returns the text of a result in the form of generateContent: a functionResponse with "output" or
// "error", alone or in a list. Other parts may follow it. ok is false if there is no result.
func functionResponse(raw json.RawMessage) (text string, failed, ok bool) {
	parts := list(raw)
	if len(raw) > 0 && raw[0] == '{' {
		parts = []json.RawMessage{raw}
	}
	if s := str(raw); s != "" {
		return s, false, true
	}
	var all []string
	for _, p := range parts {
		var v struct {
			Text     string `json:"text"`
			Response *struct {
				Response json.RawMessage `json:"response"`
			} `json:"functionResponse"`
		}
		if decode(p, &v) != nil {
			continue
		}
		if v.Text != "" {
			all = append(all, v.Text)
		}
		if v.Response == nil {
			continue
		}
		ok = true
		var body struct {
			Output json.RawMessage `json:"output"`
			Error  json.RawMessage `json:"error"`
		}
		_ = decode(v.Response.Response, &body)
		switch {
		case len(body.Error) > 0 && string(body.Error) != "null":
			failed = true
			all = append(all, plain(body.Error))
		case len(body.Output) > 0:
			all = append(all, plain(body.Output))
		default:
			all = append(all, compact(v.Response.Response))
		}
	}
	return strings.Join(all, "\n"), failed, ok || len(all) > 0
}

// plain returns the text of a JSON string, and any other value as JSON.
func plain(raw json.RawMessage) string {
	if len(raw) > 0 && raw[0] == '"' {
		return str(raw)
	}
	return compact(raw)
}
