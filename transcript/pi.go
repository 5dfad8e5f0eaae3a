package transcript

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/stet-dev/stet/llm"
)

// pi writes a line for each entry, in a tree by parentId. The first versions wrote a list. The branch of the newest entry
// is the conversation.

func isPi(s shape) bool {
	return s["type"] == "session" && s.has("cwd") && s.has("timestamp") ||
		s["type"] == "message" && s.has("parentId") && s.has("message.role")
}

type piLine struct {
	Type      string `json:"type"`
	ID        string `json:"id"`
	Parent    string `json:"parentId"`
	Timestamp string `json:"timestamp"`

	Dir string `json:"cwd"`

	Message   *piMessage      `json:"message"`
	Summary   string          `json:"summary"`
	FirstKept string          `json:"firstKeptEntryId"`
	Content   json.RawMessage `json:"content"`
}

type piMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	Model      string          `json:"model"`
	ToolCallID string          `json:"toolCallId"`
	IsError    bool            `json:"isError"`
	ResponseID string          `json:"responseId"`
	Summary    string          `json:"summary"`
	Usage      *struct {
		Input      int `json:"input"`
		Output     int `json:"output"`
		CacheRead  int `json:"cacheRead"`
		CacheWrite int `json:"cacheWrite"`
	} `json:"usage"`
}

func readPi(src *source) ([]*Session, error) {
	s := &Session{}
	var entries []entry
	err := src.lines(func(line []byte) error {
		var l piLine
		if err := decode(line, &l); err != nil {
			return err
		}
		if l.Type == "session" {
			s.ID, s.Dir = l.ID, l.Dir
			return nil
		}
		entries = append(entries, newPiEntry(&l))
		return nil
	})
	branch := newestBranch(entries)
	for i, e := range branch {
		if !e.start {
			s.add(e.message)
			continue
		}
		s.start()
		s.add(e.message)
		for k, old := range branch[:i] {
			if old.id == e.firstKept {
				for _, kept := range branch[k:i] {
					if !kept.start {
						s.carry(kept.message)
					}
				}
				break
			}
		}
	}
	return []*Session{s}, err
}

func newPiEntry(l *piLine) entry {
	e := entry{id: l.ID, parent: l.Parent}
	t := parseTime(l.Timestamp)
	user := func(s string) llm.Message { return llm.Message{Role: llm.User, ID: l.ID, Time: t, Parts: text(s)} }
	switch l.Type {
	case "message":
		if l.Message != nil {
			e.message = piMessageOf(l.Message, l.ID, t)
		}
	case "compaction":
		e.start, e.firstKept, e.message = true, l.FirstKept, user(l.Summary)
	case "branch_summary":
		e.message = user(l.Summary)
	case "custom_message":
		e.message = user(strings.Join(texts(l.Content), "\n"))
	}
	return e
}

func piMessageOf(p *piMessage, id string, t time.Time) llm.Message {
	m := llm.Message{ID: id, Time: t}
	switch p.Role {
	case "user":
		m.Role = llm.User
		m.Parts, _ = blocks(p.Content)
	case "assistant":
		m.Role, m.Model, m.ID = llm.Assistant, p.Model, cmp.Or(p.ResponseID, id)
		m.Parts, _ = blocks(p.Content)
		if u := p.Usage; u != nil {
			m.Usage = orNil(llm.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite})
		}
	case "toolResult":
		m.Role = llm.Tool
		m.Parts = resultParts(p.ToolCallID, p.Content, p.IsError)
	}
	return m
}
