package report

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/llm"
)

// RunJSON writes what a run of the agent does, a JSON object a line. The help of
// stet run has the format.
type RunJSON struct {
	Out  io.Writer
	Talk *agent.Conversation
}

// write writes a line, its type first.
func (r *RunJSON) write(kind string, f fields) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(f); err != nil {
		return // the fields always marshal
	}
	line := append([]byte(`{"type":"`+kind+`",`), b.Bytes()[1:]...)
	_, _ = r.Out.Write(line) // if the reader has gone, the work is still stored
}

// fields are a line of the report.
type fields map[string]any

// Note writes a message for a person.
func (r *RunJSON) Note(text string) { r.write("note", fields{"text": text}) }

// Tell writes an event.
func (r *RunJSON) Tell(e agent.Event) {
	switch e.Kind {
	case agent.Asking:
		r.write("asking", fields{"session": r.Talk.ID(), "used": e.Fill.Used, "window": e.Fill.Window})
	case agent.Piece:
		r.piece(e.Piece)
	case agent.Answered:
		r.write("answer", fields{"text": textIn(e.Message), "usage": jsonUsageOf(e.Usage)})
	case agent.CallBegins:
		r.write("call", fields{"id": e.Call.CallID, "name": e.Call.Name, "arguments": arguments(e.Call.Args)})
	case agent.CallEnds:
		o := fields{
			"id": e.Call.CallID, "name": e.Call.Name, "ok": !e.Result.Failed() && e.Err == nil, "text": e.Result.Text,
			"ms": e.Took.Milliseconds(),
		}
		if e.Result.Failed() {
			o["code"] = e.Result.Code
		}
		if e.Err != nil {
			o["error"] = e.Err.Error()
		}
		r.write("result", o)
	case agent.Changed:
		r.write("changed", fields{"paths": e.Paths})
	case agent.Compacted:
		r.write("compacted", fields{"session": e.To})
	case agent.Warned:
		r.write("note", fields{"text": "the window is nearly full", "used": e.Fill.Used, "window": e.Fill.Window})
	case agent.Compacting:
		r.write("note", fields{"text": "the conversation is being summed up"})
	case agent.NotCompacted:
		r.write("note", fields{"text": "not summed up: " + e.Err.Error()})
	case agent.Reminded:
		r.write("note", fields{"text": e.Text})
	}
}

func (r *RunJSON) piece(p llm.Event) {
	switch p.Kind {
	case llm.TextDelta:
		r.write("text", fields{"text": p.Text})
	case llm.ThinkingDelta:
		if p.Text != "" {
			r.write("thinking", fields{"text": p.Text})
		}
	case llm.Retrying:
		r.write("note", fields{"text": "asked again: " + p.Err.Error(), "wait_ms": p.Wait.Milliseconds()})
	}
}

// arguments returns a call's arguments as JSON, or as a string if they are not JSON.
func arguments(args string) any {
	if json.Valid([]byte(args)) {
		return json.RawMessage(args)
	}
	return args
}

// textIn returns the text of a message.
func textIn(m llm.Message) string {
	text := ""
	for _, p := range m.Parts {
		if p.Kind == llm.Text {
			text += p.Text
		}
	}
	return text
}

// jsonUsage is what requests used, in tokens: see llm.Usage.
type jsonUsage struct {
	Input      int `json:"input"`
	CacheRead  int `json:"cache_read"`
	CacheWrite int `json:"cache_write"`
	Output     int `json:"output"`
}

func jsonUsageOf(u llm.Usage) jsonUsage {
	return jsonUsage{u.Input, u.CacheRead, u.CacheWrite, u.Output}
}

// End writes the last line. status is done, failed, alone or interrupted, and code
// is the exit code.
func (r *RunJSON) End(out agent.Outcome, status string, code int, err error) {
	o := fields{
		"status": status, "exit": code, "session": r.Talk.ID(), "text": out.Text, "turns": out.Turns, "usage": jsonUsageOf(out.Usage),
	}
	if s := r.Talk.Spent(); s.Known {
		o["usd"] = s.USD // of the whole session
	}
	if err != nil {
		o["error"] = err.Error()
	}
	r.write("outcome", o)
}
