package transcript

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/llm"
)

// Copilot CLI writes a line for each event, {type, data, id, timestamp, parentId}. Events of a sub-agent name the call that
// started it.

func isCopilot(s Shape) bool {
	if !s.Has("data", "id", "timestamp") {
		return false
	}
	kind, _, dotted := strings.Cut(s["type"], ".")
	switch kind {
	case "session", "user", "assistant", "tool", "system", "hook":
		return dotted
	}
	return false
}

type copilotLine struct {
	Type      string      `json:"type"`
	ID        string      `json:"id"`
	Timestamp string      `json:"timestamp"`
	Data      copilotData `json:"data"`
}

type copilotData struct {
	SessionID string `json:"sessionId"`
	Version   string `json:"copilotVersion"`
	Context   struct {
		Dir string `json:"cwd"`
	} `json:"context"`
	NewModel string `json:"newModel"`
	Selected string `json:"selectedModel"`

	Content     string `json:"content"`
	Transformed string `json:"transformedContent"` // sent instead of content
	MessageID   string `json:"messageId"`
	APICall     string `json:"apiCallId"`
	RequestID   string `json:"requestId"`
	Current     string `json:"currentModel"`
	Metrics     map[string]struct {
		Usage json.RawMessage `json:"usage"`
	} `json:"modelMetrics"` // of all requests since the session was started or resumed
	Since     json.RawMessage `json:"sessionStartTime"`
	Model     string          `json:"model"`
	Output    int             `json:"outputTokens"`
	Reasoning string          `json:"reasoningText"`
	Opaque    string          `json:"reasoningOpaque"`
	Encrypted string          `json:"encryptedContent"`
	Requests  []struct {
		ID        string          `json:"toolCallId"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"toolRequests"`

	CallID  string `json:"toolCallId"`
	Parent  string `json:"parentToolCallId"`
	Success *bool  `json:"success"`
	Result  struct {
		Content string `json:"content"`
	} `json:"result"`
	Error struct {
		Message string `json:"message"`
	} `json:"error"`

	Summary string `json:"summaryContent"`
}

func readCopilot(src *File) ([]*Session, error) {
	main := &Session{}
	all := []*Session{main}
	agents := map[string]*Session{}
	model := ""
	sums := copilotSums{src: src, billed: map[*Session]int{}, seen: map[string]bool{}}
	err := linesOf(src, func(l *copilotLine) error {
		d := &l.Data
		known := model != ""
		if model = cmp.Or(d.NewModel, d.Model, d.Current, d.Selected, model); !known && model != "" {
			copilotModel(all, model)
		}
		switch l.Type {
		case "session.start", "session.resume":
			main.copilotStart(d)
		case "session.shutdown":
			sums.share(all, l)
		default:
			s := main
			if d.Parent != "" {
				if s = agents[d.Parent]; s == nil {
					s = &Session{ID: main.ID + "/" + d.Parent, Parent: main.ID, Dir: main.Dir, Agent: main.Agent}
					agents[d.Parent] = s
					all = append(all, s)
				}
			}
			s.copilotEvent(l, model)
		}
		return nil
	})
	return all, err
}

// copilotModel gives a model to the answers that came before the file named one.
func copilotModel(all []*Session, model string) {
	for _, s := range all {
		for i := range s.Messages {
			if m := &s.Messages[i]; m.Role == llm.Assistant && m.Model == "" {
				m.Model = model
			}
		}
	}
}

type copilotUsage struct {
	Input      int `json:"inputTokens"` // all
	Output     int `json:"outputTokens"`
	CacheRead  int `json:"cacheReadTokens"`
	CacheWrite int `json:"cacheWriteTokens"`
	Reasoning  int `json:"reasoningTokens"`
}

// copilotSums gives each answer its part of the sums that a shutdown event has for each model.
type copilotSums struct {
	src    *File
	billed map[*Session]int // messages before this index have their part
	seen   map[string]bool  // events by id
	since  string           // the start of the last sums
	before map[string]copilotUsage
}

func (c *copilotSums) share(all []*Session, l *copilotLine) {
	if c.seen[l.ID] {
		return
	}
	c.seen[l.ID] = true
	c.named(all, l)
	since := string(l.Data.Since)
	if since == "" || since != c.since {
		c.before = map[string]copilotUsage{}
	}
	c.since = since
	for _, model := range slices.Sorted(maps.Keys(l.Data.Metrics)) {
		var u copilotUsage
		if !c.src.usage(l.Data.Metrics[model].Usage, &u) {
			continue
		}
		old := c.before[model] // the sums go on from the last event
		c.before[model] = u
		sum := llm.Usage{
			Input:     uncached(u.Input-old.Input, u.CacheRead-old.CacheRead, u.CacheWrite-old.CacheWrite),
			CacheRead: u.CacheRead - old.CacheRead, CacheWrite: u.CacheWrite - old.CacheWrite,
			Output: u.Output - old.Output, Reasoning: u.Reasoning - old.Reasoning,
		}
		var of []*llm.Usage
		for _, s := range all {
			for i := c.billed[s]; i < len(s.Messages); i++ {
				if m := &s.Messages[i]; m.Role == llm.Assistant && m.Model == model {
					if s.shares == nil {
						s.shares = map[int]*llm.Usage{}
					}
					s.shares[i] = new(llm.Usage)
					of = append(of, s.shares[i])
				}
			}
		}
		if len(of) == 0 {
			all[0].charge(Own, llm.Message{Role: llm.Assistant, ID: l.ID + model, Time: parseTime(l.Timestamp), Model: model, Usage: orNil(sum)})
		}
		for i, part := range of {
			part.Input, part.Output, part.Reasoning = shareOf(sum.Input, i, len(of)), shareOf(sum.Output, i, len(of)), shareOf(sum.Reasoning, i, len(of))
			part.CacheRead, part.CacheWrite = shareOf(sum.CacheRead, i, len(of)), shareOf(sum.CacheWrite, i, len(of))
		}
	}
	for _, s := range all {
		c.billed[s] = len(s.Messages)
	}
}

// named gives the model with the largest sum to the answers whose model has no sum, if no answer has it. The model of the answers is not known
// then, or it has another spelling.
func (c *copilotSums) named(all []*Session, l *copilotLine) {
	var unnamed []*llm.Message
	idle := maps.Clone(l.Data.Metrics)
	for _, s := range all {
		for i := c.billed[s]; i < len(s.Messages); i++ {
			if m := &s.Messages[i]; m.Role == llm.Assistant {
				if _, ok := l.Data.Metrics[m.Model]; !ok {
					unnamed = append(unnamed, m)
				}
				delete(idle, m.Model)
			}
		}
	}
	name, most := "", -1
	for _, model := range slices.Sorted(maps.Keys(idle)) {
		var u copilotUsage
		if decode(idle[model].Usage, &u) == nil && u.Input+u.Output > most {
			name, most = model, u.Input+u.Output
		}
	}
	for _, m := range unnamed {
		m.Model = cmp.Or(name, m.Model)
	}
}

// shareOf returns part i of n nearly equal parts of a number.
func shareOf(all, i, n int) int { return all*(i+1)/n - all*i/n }

func (s *Session) copilotStart(d *copilotData) {
	s.ID = cmp.Or(s.ID, d.SessionID)
	s.Dir = cmp.Or(s.Dir, d.Context.Dir)
	s.Agent = cmp.Or(s.Agent, d.Version)
}

func (s *Session) copilotEvent(l *copilotLine, model string) {
	d := &l.Data
	t := parseTime(l.Timestamp)
	switch l.Type {
	case "system.message":
		s.copilotSystem(d.Content, t)
	case "user.message":
		s.addUser(cmp.Or(d.Transformed, d.Content), l.ID, t)
	case "assistant.message":
		s.add(copilotAnswer(d, t, model))
	case "tool.execution_complete":
		p := result(d.CallID, d.Result.Content, d.Success != nil && !*d.Success)
		if p.IsError {
			p.Text = cmp.Or(p.Text, d.Error.Message)
		}
		s.add(llm.Message{Role: llm.Tool, ID: l.ID, Time: t, Parts: []llm.Part{p}})
	case "session.compaction_complete":
		if d.Summary != "" && (d.Success == nil || *d.Success) {
			s.start()
			s.addUser(d.Summary, l.ID, t)
		}
	}
}

// copilotSystem adds the system prompt if it is not there yet.
func (s *Session) copilotSystem(prompt string, t time.Time) {
	for _, m := range s.Messages {
		if m.Role == llm.System && m.Parts[0].Text == prompt {
			return
		}
	}
	s.add(llm.Message{Role: llm.System, Time: t, Parts: text(prompt)})
}

// copilotAnswer makes the message of an answer. Its line has the size of the answer, but not of the request, so there is no
// usage.
func copilotAnswer(d *copilotData, t time.Time, model string) llm.Message {
	m := llm.Message{
		Role: llm.Assistant, ID: d.MessageID, Request: cmp.Or(d.APICall, d.RequestID), Time: t, Model: cmp.Or(d.Model, model),
	}
	if d.Reasoning != "" || d.Opaque != "" || d.Encrypted != "" {
		raw, _ := json.Marshal(d.Opaque + d.Encrypted) // encoding a string never fails
		m.Parts = append(m.Parts, thinking(d.Reasoning, raw))
	}
	m.Parts = append(m.Parts, text(d.Content)...)
	for _, r := range d.Requests {
		m.Parts = append(m.Parts, Call(r.ID, r.Name, r.Arguments))
	}
	return m
}
