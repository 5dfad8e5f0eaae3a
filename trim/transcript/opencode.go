package transcript

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/stet-dev/stet/llm"
)

// opencode keeps a session as messages, and a message as parts. One assistant message may hold several answers of the
// model. A "step-finish" part ends each answer. A call and its result are one part.

func isOpencodeExport(s Shape) bool { return strings.HasPrefix(s["info.id"], "ses_") }

type opencodeInfo struct {
	ID      string `json:"id"`
	Parent  string `json:"parentID"`
	Dir     string `json:"directory"`
	Version string `json:"version"`
}

type opencodeMessage struct {
	ID      string          `json:"id"`
	Role    string          `json:"role"`
	Model   string          `json:"modelID"`
	Summary json.RawMessage `json:"summary"` // true: the answer is a compaction
	System  json.RawMessage `json:"system"`
	Tokens  json.RawMessage `json:"tokens"`
	Error   json.RawMessage `json:"error"`
	Time    struct {
		Created json.RawMessage `json:"created"`
	} `json:"time"`
}

type opencodeTokens struct {
	Input     int     `json:"input"`
	Output    int     `json:"output"`
	Reasoning int     `json:"reasoning"`
	Total     skipped `json:"total"`
	Cache     struct {
		Read  int `json:"read"`
		Write int `json:"write"`
	} `json:"cache"`
}

// usage implements agentUsage. Input does not include cached tokens, and output does not include the reasoning.
func (t opencodeTokens) usage() *llm.Usage {
	return orNil(llm.Usage{
		Input: t.Input, CacheRead: t.Cache.Read, CacheWrite: t.Cache.Write,
		Output: t.Output + t.Reasoning, Reasoning: t.Reasoning,
	})
}

type opencodePart struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Ignored bool            `json:"ignored"`
	Tool    string          `json:"tool"`
	CallID  string          `json:"callID"`
	Tokens  json.RawMessage `json:"tokens"`
	State   struct {
		Status      string            `json:"status"`
		Input       json.RawMessage   `json:"input"`
		Output      string            `json:"output"`
		Error       string            `json:"error"`
		Attachments []json.RawMessage `json:"attachments"`
	} `json:"state"`
}

func readOpencodeExport(src *File) ([]*Session, error) {
	r := newOpencode(src)
	err := src.Document(func(key string, raw []byte) error {
		switch key {
		case "info":
			var info opencodeInfo
			err := decode(raw, &info)
			r.info(info)
			return err
		case "messages":
			type message struct {
				Info  opencodeMessage   `json:"info"`
				Parts []json.RawMessage `json:"parts"`
			}
			elementsOf(src, raw, func(m *message) error {
				r.message(m.Info, m.Parts)
				return nil
			})
		}
		return nil
	}, nil)
	return []*Session{r.s}, err
}

// opencodeReader makes messages from opencode's messages.
type opencodeReader struct {
	src *File
	s   *Session
}

func newOpencode(src *File) *opencodeReader {
	return &opencodeReader{src: src, s: &Session{newIDs: true}}
}

func (r *opencodeReader) info(i opencodeInfo) {
	r.s.ID, r.s.Parent, r.s.Dir, r.s.Agent = i.ID, i.Parent, i.Dir, i.Version
}

func (r *opencodeReader) message(info opencodeMessage, raw []json.RawMessage) {
	t := Timestamp(info.Time.Created)
	parts := make([]opencodePart, len(raw))
	for i := range raw {
		_ = decode(raw[i], &parts[i]) // a part that cannot be decoded has no type
	}
	switch info.Role {
	case "user":
		r.user(info, parts, raw, t)
	case "assistant":
		r.answers(info, parts, raw, t)
		if string(info.Summary) == "true" {
			r.compacted(parts, t)
		}
	}
}

func (r *opencodeReader) user(info opencodeMessage, parts []opencodePart, raw []json.RawMessage, t time.Time) {
	m := llm.Message{Role: llm.User, ID: info.ID, Time: t}
	for i, p := range parts {
		switch p.Type {
		case "text":
			if p.Text != "" && !p.Ignored {
				m.Parts = append(m.Parts, llm.Part{Text: p.Text})
			}
		case "file":
			m.Parts = append(m.Parts, opaque(raw[i]))
		}
	}
	r.s.add(m)
}

// answers adds the answers in an assistant message, and after each answer the results of its calls.
func (r *opencodeReader) answers(info opencodeMessage, parts []opencodePart, raw []json.RawMessage, t time.Time) {
	fresh := func() (llm.Message, llm.Message) {
		return llm.Message{Role: llm.Assistant, ID: info.ID, Time: t, Model: info.Model},
			llm.Message{Role: llm.Tool, ID: info.ID, Time: t}
	}
	m, results := fresh()
	end := func(u *llm.Usage) {
		m.Usage = u
		r.s.add(m)
		r.s.add(results)
		m, results = fresh()
	}
	steps := 0
	for i, p := range parts {
		switch p.Type {
		case "step-start":
			if len(m.Parts) > 0 { // the previous step was cut off
				end(nil)
			}
		case "text":
			m.Parts = append(m.Parts, text(p.Text)...)
		case "reasoning":
			m.Parts = append(m.Parts, thinking(p.Text, raw[i]))
		case "tool":
			m.Parts = append(m.Parts, Call(p.CallID, p.Tool, p.State.Input))
			results.Parts = append(results.Parts, p.result()...)
		case "step-finish":
			end(usageIn[opencodeTokens](r.src, p.Tokens))
			steps++
		}
	}
	var rest *llm.Usage
	if steps == 0 {
		rest = usageIn[opencodeTokens](r.src, info.Tokens)
	}
	end(rest)
}

// result returns the result of a call. There is none if the call was cut off.
func (p *opencodePart) result() []llm.Part {
	result := llm.Part{Kind: llm.ToolResult, CallID: p.CallID}
	switch p.State.Status {
	case "completed":
		result.Text = p.State.Output
	case "error":
		result.Text, result.IsError = p.State.Error, true
	default:
		return nil
	}
	all := []llm.Part{result}
	for _, a := range p.State.Attachments {
		all = append(all, opaque(a))
	}
	return all
}

// compacted begins a new context with the summary in the last answer.
func (r *opencodeReader) compacted(parts []opencodePart, t time.Time) {
	var summary []string
	for _, p := range parts {
		if p.Type == "text" && p.Text != "" {
			summary = append(summary, p.Text)
		}
	}
	if len(summary) > 0 {
		r.s.start()
		r.s.addUser(strings.Join(summary, "\n"), "", t)
	}
}

// opencode 2 keeps each message as one JSON object, and its type next to it. The members are those of the schema
// "Session.Message" in opencode 1.18.34.

type opencodeMessage2 struct {
	Text    string            `json:"text"`
	Files   []json.RawMessage `json:"files"`
	Status  string            `json:"status"`  // of a compaction: running, completed, failed
	Summary string            `json:"summary"` // of the older messages
	Recent  string            `json:"recent"`  // the newer messages as text
	Command string            `json:"command"`
	Output  string            `json:"output"`
	Content []json.RawMessage `json:"content"`
	Tokens  json.RawMessage   `json:"tokens"`
	Model   struct {
		ID string `json:"id"`
	} `json:"model"`
	Time struct {
		Created json.RawMessage `json:"created"`
	} `json:"time"`
}

type opencodeContent2 struct {
	Type   string `json:"type"`
	Text   string `json:"text"`
	ID     string `json:"id"`
	CallID string `json:"callID"`
	Name   string `json:"name"`
	Tool   string `json:"tool"`
	State  struct {
		Status  string          `json:"status"`
		Input   json.RawMessage `json:"input"`
		Output  string          `json:"output"`
		Content json.RawMessage `json:"content"`
		Error   json.RawMessage `json:"error"`
	} `json:"state"`
}

func (r *opencodeReader) message2(id, kind string, data []byte) error {
	var m opencodeMessage2
	if err := decode(data, &m); err != nil {
		return err
	}
	t := Timestamp(m.Time.Created)
	used := usageIn[opencodeTokens](r.src, m.Tokens)
	user := llm.Message{Role: llm.User, ID: id, Time: t, Parts: text(m.Text)}
	switch kind {
	case "user", "synthetic":
		for _, f := range m.Files {
			user.Parts = append(user.Parts, opaque(f))
		}
		r.s.add(user)
	case "system":
		user.Role = llm.System
		r.s.add(user)
	case "shell":
		r.s.addUser(strings.TrimSpace(m.Command+"\n"+m.Output), id, t)
	case "compaction":
		words := strings.TrimSpace(cmp.Or(m.Summary, m.Text) + "\n" + m.Recent)
		if words != "" && (m.Status == "" || m.Status == "completed") {
			r.s.start()
			r.s.addUser(words, id, t)
		}
		r.s.charge(Compaction, llm.Message{Role: llm.Assistant, ID: id, Time: t, Model: m.Model.ID, Usage: used})
	default: // assistant; any other type counts if it has usage
		answer := llm.Message{Role: llm.Assistant, ID: id, Time: t, Model: m.Model.ID, Usage: used}
		results := llm.Message{Role: llm.Tool, ID: id, Time: t}
		for _, raw := range m.Content {
			var c opencodeContent2
			if decode(raw, &c) != nil {
				continue
			}
			switch c.Type {
			case "text":
				answer.Parts = append(answer.Parts, text(c.Text)...)
			case "reasoning":
				answer.Parts = append(answer.Parts, thinking(c.Text, raw))
			case "tool":
				call := Call(cmp.Or(c.CallID, c.ID), cmp.Or(c.Name, c.Tool), c.State.Input)
				answer.Parts = append(answer.Parts, call)
				switch words := strings.Join(Texts(c.State.Content), "\n"); c.State.Status {
				case "completed":
					results.Parts = append(results.Parts, result(call.CallID, cmp.Or(words, c.State.Output), false))
				case "error":
					results.Parts = append(results.Parts, result(call.CallID, cmp.Or(words, plain(c.State.Error)), true))
				}
			}
		}
		r.s.add(answer)
		r.s.add(results)
	}
	return nil
}
