package formats

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim/transcript"
)

// OpenHands writes a line for each task, output.jsonl. "history" has the events of the run: actions, and observations that
// name the action that caused them. An exported trajectory is only the list of events.

func isOpenHands(s transcript.Shape) bool {
	return s.Has("instance_id") && (s.Has("test_result") || s.Has("metadata.agent_class")) ||
		s.Has("[].source") && (s.Has("[].action") || s.Has("[].observation"))
}

type openHandsLine struct {
	ID       string `json:"instance_id"`
	Metadata struct {
		LLM struct {
			Model string `json:"model"`
		} `json:"llm_config"`
	} `json:"metadata"`
	History []openHandsEvent `json:"history"`
}

type openHandsEvent struct {
	ID          int    `json:"id"`
	Cause       *int   `json:"cause"`
	Timestamp   string `json:"timestamp"`
	Source      string `json:"source"`
	Action      string `json:"action"`
	Observation string `json:"observation"`
	Content     string `json:"content"`
	Args        struct {
		Content string `json:"content"`
		Version string `json:"openhands_version"`
		Thought string `json:"thought"`
		Summary string `json:"summary"`
	} `json:"args"`
	Extras struct {
		Metadata *struct {
			Exit   *int   `json:"exit_code"`
			Dir    string `json:"working_dir"`
			Python string `json:"py_interpreter_path"`
			Prefix string `json:"prefix"`
			Suffix string `json:"suffix"`
		} `json:"metadata"`
		Repository string `json:"repo_instructions"`
		Knowledge  []struct {
			Content string `json:"content"`
		} `json:"microagent_knowledge"`
	} `json:"extras"`
	Call *struct {
		Name     string        `json:"function_name"`
		ID       string        `json:"tool_call_id"`
		Response *chatResponse `json:"model_response"`
	} `json:"tool_call_metadata"`
}

func readOpenHands(file *transcript.File) ([]*transcript.Session, error) {
	var all []*transcript.Session
	err := values(file, func(l *openHandsLine) {
		r := openHandsReader{s: &transcript.Session{ID: l.ID}, model: l.Metadata.LLM.Model, calls: map[int]string{}}
		for i := range l.History {
			r.event(&l.History[i])
		}
		all = append(all, r.s)
	}, func(l *openHandsLine) any { return &l.History })
	return all, err
}

type openHandsReader struct {
	s        *transcript.Session
	model    string
	response string         // id of the answer that the newest actions belong to
	calls    map[int]string // id of the call that an event made, by the event's number
}

func (r *openHandsReader) event(e *openHandsEvent) {
	t := timeOf(e.Timestamp)
	m := llm.Message{Time: t}
	switch {
	case e.Action == "system":
		m.Role, m.Parts = llm.System, text(e.Args.Content)
		r.s.Agent = e.Args.Version
	case e.Action == "message" && e.Source == "user":
		m.Role, m.Parts = llm.User, text(e.Args.Content)
	case e.Action == "condensation" && e.Args.Summary != "":
		start(r.s)
		m.Role, m.Parts = llm.User, text(e.Args.Summary)
	case e.Action == "recall" || e.Action == "change_agent_state" || e.Observation == "agent_state_changed":
		return
	case e.Action != "" && e.Source == "agent":
		r.answer(e, &m)
	case e.Observation == "recall":
		var words []string
		if e.Extras.Repository != "" {
			words = append(words, e.Extras.Repository)
		}
		for _, k := range e.Extras.Knowledge {
			words = append(words, k.Content)
		}
		m.Role, m.Parts = llm.User, text(strings.Join(words, "\n"))
	case e.Observation != "":
		if md := e.Extras.Metadata; md != nil && r.s.Dir == "" {
			r.s.Dir = md.Dir
		}
		r.observe(e, &m)
	}
	if m.Role != "" {
		add(r.s, m)
	}
}

// answer adds the answer that an action belongs to, once for all its actions.
func (r *openHandsReader) answer(e *openHandsEvent, m *llm.Message) {
	m.Model = r.model
	if e.Call == nil || e.Call.Response == nil || len(e.Call.Response.Choices) == 0 {
		m.Role = llm.Assistant
		m.Parts = text(cmp.Or(e.Args.Content, e.Args.Thought))
		if e.Call != nil && e.Call.ID != "" {
			r.calls[e.ID] = e.Call.ID
			m.Parts = append(m.Parts, llm.Part{Kind: llm.ToolCall, CallID: e.Call.ID, Name: e.Call.Name, Args: "{}"})
		}
		return
	}
	r.calls[e.ID] = e.Call.ID
	if id := e.Call.Response.ID; id != "" && id == r.response {
		return
	}
	r.response = e.Call.Response.ID
	completeAnswer(m, e.Call.Response)
	m.Model = cmp.Or(m.Model, r.model)
	m.Role = llm.Assistant
	m.Parts = e.Call.Response.Choices[0].Message.parts()
}

// observe makes a result of an observation. If no call caused it, it becomes a user message.
func (r *openHandsReader) observe(e *openHandsEvent, m *llm.Message) {
	id := ""
	if e.Call != nil {
		id = e.Call.ID
	} else if e.Cause != nil {
		id = r.calls[*e.Cause]
	}
	words := e.shown()
	if id == "" {
		m.Role, m.Parts = llm.User, text(words)
		return
	}
	m.Role = llm.Tool
	m.Parts = []llm.Part{result(id, words, false)}
}

// shown returns an observation in the form that the model sees. A command's output gets lines about its directory and its
// exit code. OpenHands also removes the middle of long outputs (more than 30,000 characters by default). shown does not.
func (e *openHandsEvent) shown() string {
	md := e.Extras.Metadata
	if md == nil || e.Observation != "run" {
		return e.Content
	}
	var b strings.Builder
	b.WriteString(md.Prefix + e.Content + md.Suffix)
	if md.Dir != "" {
		fmt.Fprintf(&b, "\n[Current working directory: %s]", md.Dir)
	}
	if md.Python != "" {
		fmt.Fprintf(&b, "\n[Python interpreter: %s]", md.Python)
	}
	if md.Exit != nil && *md.Exit != -1 {
		fmt.Fprintf(&b, "\n[Command finished with exit code %d]", *md.Exit)
	}
	return b.String()
}
