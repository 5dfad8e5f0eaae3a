package transcript

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/stet-dev/stet/llm"
)

// opencode 2 keeps each message as one JSON object, and its type beside it. The members are those of the schema
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
	t := parseTimestamp(m.Time.Created)
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
				call := call(cmp.Or(c.CallID, c.ID), cmp.Or(c.Name, c.Tool), c.State.Input)
				answer.Parts = append(answer.Parts, call)
				switch words := strings.Join(texts(c.State.Content), "\n"); c.State.Status {
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
