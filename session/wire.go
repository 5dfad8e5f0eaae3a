package session

import (
	"fmt"
	"time"

	"github.com/stet-dev/stet/files/freshness"
	"github.com/stet-dev/stet/llm"
)

type wireOpening struct {
	coding
	Dir      string `json:"dir,omitempty"`
	Source   string `json:"source,omitempty"`
	Session  string `json:"session,omitempty"`
	Seq      uint64 `json:"seq,omitempty"`
	Relation string `json:"relation,omitempty"`
	Carried  uint64 `json:"carried,omitempty"`
}

func (w *wireOpening) each(fn func(*string)) {
	fn(&w.Dir)
	fn(&w.Source)
	fn(&w.Session)
	fn(&w.Relation)
}

func (w *wireOpening) body() (Body, error) {
	return Opening{
		Dir: w.Dir, Source: w.Source, Carried: w.Carried,
		From: Link{Session: w.Session, Seq: w.Seq, Relation: Relation(w.Relation)},
	}, nil
}

type wireMessage struct {
	coding
	Role  string     `json:"role,omitempty"`
	ID    string     `json:"id,omitempty"`
	Time  time.Time  `json:"time,omitzero"`
	Model string     `json:"model,omitempty"`
	Local bool       `json:"local,omitempty"`
	Usage *wireUsed  `json:"usage,omitempty"`
	Parts []wirePart `json:"parts,omitempty"`
}

type wirePart struct {
	Kind  string `json:"kind,omitempty"`
	Text  string `json:"text,omitempty"`
	Call  string `json:"call,omitempty"`
	Name  string `json:"name,omitempty"`
	Args  string `json:"args,omitempty"`
	Error bool   `json:"error,omitempty"`
	Raw   string `json:"raw,omitempty"`
}

// wireUsed has the fields of llm.Usage in the same order, so that the types can be converted to each other.
type wireUsed struct {
	Input        int `json:"input,omitempty"`
	CacheRead    int `json:"cache_read,omitempty"`
	CacheWrite   int `json:"cache_write,omitempty"`
	CacheWrite1h int `json:"cache_write_1h,omitempty"`
	Output       int `json:"output,omitempty"`
	Reasoning    int `json:"reasoning,omitempty"`
	WebSearches  int `json:"web_searches,omitempty"`

	Speed  string `json:"speed,omitempty"`
	Region string `json:"region,omitempty"`
	Tier   string `json:"tier,omitempty"`
}

// partKinds maps llm.Kind to the name of the kind.
var partKinds = [...]string{llm.Text: "", llm.Thinking: "thinking", llm.ToolCall: "call", llm.ToolResult: "result", llm.Opaque: "opaque"}

func wireOfMessage(m Message) (wire, error) {
	w := &wireMessage{Role: string(m.Role), ID: m.ID, Time: m.Time, Model: m.Model, Local: m.Local}
	if !m.Time.IsZero() {
		w.Time = m.Time.UTC()
	}
	if m.Usage != nil {
		u := wireUsed(*m.Usage)
		w.Usage = &u
	}
	if len(m.Parts) > 0 {
		w.Parts = make([]wirePart, len(m.Parts))
	}
	for i, p := range m.Parts {
		if int(p.Kind) >= len(partKinds) {
			return nil, fmt.Errorf("part %d: kind %d has no name", i, p.Kind)
		}
		w.Parts[i] = wirePart{partKinds[p.Kind], p.Text, p.CallID, p.Name, p.Args, p.IsError, p.Raw}
	}
	return w, nil
}

func (w *wireMessage) each(fn func(*string)) {
	fn(&w.Role)
	fn(&w.ID)
	fn(&w.Model)
	for i := range w.Parts {
		p := &w.Parts[i]
		fn(&p.Text)
		fn(&p.Call)
		fn(&p.Name)
		fn(&p.Args)
		fn(&p.Raw)
	}
}

func (w *wireMessage) body() (Body, error) {
	m := Message{Role: llm.Role(w.Role), ID: w.ID, Time: w.Time, Model: w.Model, Local: w.Local}
	if w.Usage != nil {
		u := llm.Usage(*w.Usage)
		m.Usage = &u
	}
	if len(w.Parts) > 0 {
		m.Parts = make([]llm.Part, len(w.Parts))
	}
	for i, p := range w.Parts {
		kind, err := partKind(p.Kind)
		if err != nil {
			return nil, fmt.Errorf("decode message: part %d: %w", i, err)
		}
		m.Parts[i] = llm.Part{Kind: kind, Text: p.Text, CallID: p.Call, Name: p.Name, Args: p.Args, IsError: p.Error, Raw: p.Raw}
	}
	return m, nil
}

func partKind(name string) (llm.Kind, error) {
	for k, n := range partKinds {
		if n == name {
			return llm.Kind(k), nil
		}
	}
	return 0, fmt.Errorf("unknown kind %q", name)
}

type wireUsage struct {
	coding
	Model string   `json:"model,omitempty"`
	Usage wireUsed `json:"usage"`
}

func (w *wireUsage) each(fn func(*string)) { fn(&w.Model) }
func (w *wireUsage) body() (Body, error)   { return Usage{w.Model, llm.Usage(w.Usage)}, nil }

type wireRewind struct {
	coding
	To uint64 `json:"to"`
}

func (w *wireRewind) each(func(*string))  {}
func (w *wireRewind) body() (Body, error) { return Rewind{w.To}, nil }

type wireCompaction struct {
	coding
	To string `json:"to"`
}

func (w *wireCompaction) each(fn func(*string)) { fn(&w.To) }
func (w *wireCompaction) body() (Body, error)   { return Compaction{w.To}, nil }

type wireTitle struct {
	coding
	Title string `json:"title"`
}

func (w *wireTitle) each(fn func(*string)) { fn(&w.Title) }
func (w *wireTitle) body() (Body, error)   { return Title(w.Title), nil }

type wireFile struct {
	coding
	File freshness.Observation `json:"file"`
}

func wireOfFile(f File) *wireFile {
	w := &wireFile{File: freshness.Observation(f)}
	w.File.Time = f.Time.UTC()
	return w
}

func (w *wireFile) each(fn func(*string)) {
	fn(&w.File.Path)
	change(&w.File.Kind, fn)
	change(&w.File.Version, fn)
}

// change calls fn with a string of any string type.
func change[S ~string](p *S, fn func(*string)) {
	s := string(*p)
	fn(&s)
	*p = S(s)
}

func (w *wireFile) body() (Body, error) { return File(w.File), nil }

type wireApproval struct {
	coding
	Call     string `json:"call,omitempty"`
	Tool     string `json:"tool,omitempty"`
	Path     string `json:"path,omitempty"`
	Decision string `json:"decision,omitempty"`
	By       string `json:"by,omitempty"`
	Grant    string `json:"grant,omitempty"`
	Words    string `json:"words,omitempty"`
}

func (w *wireApproval) each(fn func(*string)) {
	for _, s := range []*string{&w.Call, &w.Tool, &w.Path, &w.Decision, &w.By, &w.Grant, &w.Words} {
		fn(s)
	}
}

func (w *wireApproval) body() (Body, error) {
	return Approval{w.Call, w.Tool, w.Path, w.Decision, w.By, w.Grant, w.Words}, nil
}
