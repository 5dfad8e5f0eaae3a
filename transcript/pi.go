package transcript

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/stet-dev/stet/llm"
)

// pi writes a line per entry, in a tree by parentId (the first versions: a
// list). The newest entry's branch is the conversation.

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

// piEntry is what is kept of a line.
type piEntry struct {
	id, parent string
	message    llm.Message
	start      bool   // a compaction; message is the summary
	firstKept  string // the entry from which a compaction kept the messages
}

func readPi(src *source) ([]*Session, error) {
	s := &Session{}
	var entries []piEntry
	err := src.lines(func(line []byte) error {
		var l piLine
		if err := decode(line, &l); err != nil {
			return err
		}
		if l.Type == "session" {
			s.ID, s.Dir = l.ID, l.Dir
			return nil
		}
		entries = append(entries, piEntryOf(&l))
		return nil
	})
	branch := piBranch(entries)
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

func piEntryOf(l *piLine) piEntry {
	e := piEntry{id: l.ID, parent: l.Parent}
	t := clock(l.Timestamp)
	user := func(text string) llm.Message {
		if text == "" {
			return llm.Message{}
		}
		return llm.Message{Role: llm.User, ID: l.ID, Time: t, Parts: []llm.Part{{Text: text}}}
	}
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
		m.Parts = piParts(p.Content)
	case "assistant":
		m.Role, m.Model = llm.Assistant, p.Model
		m.Parts = piParts(p.Content)
		if p.ResponseID != "" {
			m.ID = p.ResponseID
		}
		if u := p.Usage; u != nil {
			m.Usage = orNil(llm.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite})
		}
	case "toolResult":
		m.Role = llm.Tool
		m.Parts = resultParts(p.ToolCallID, p.Content, p.IsError)
	}
	return m
}

func piParts(content json.RawMessage) []llm.Part {
	if text := str(content); text != "" {
		return []llm.Part{{Text: text}}
	}
	var parts []llm.Part
	for _, raw := range list(content) {
		var b struct {
			block
			Arguments json.RawMessage `json:"arguments"`
		}
		if decode(raw, &b) != nil {
			continue
		}
		switch b.Type {
		case "text":
			if b.Text != "" {
				parts = append(parts, llm.Part{Text: b.Text})
			}
		case "thinking":
			parts = append(parts, llm.Part{Kind: llm.Thinking, Text: b.Thinking, Raw: string(raw)})
		case "toolCall":
			parts = append(parts, llm.Part{Kind: llm.ToolCall, CallID: b.ID, Name: b.Name, Args: arguments(b.Arguments)})
		case "":
		default:
			parts = append(parts, llm.Part{Kind: llm.Opaque, Raw: string(raw)})
		}
	}
	return parts
}

// piBranch returns the entries from the root to the newest. An entry whose
// parent is not there follows the one before it: the line was damaged, or the
// file has no tree.
func piBranch(entries []piEntry) []piEntry {
	index := map[string]int{}
	for i, e := range entries {
		if e.id != "" {
			index[e.id] = i
		}
	}
	var back []piEntry
	for i := len(entries) - 1; i >= 0; {
		e := entries[i]
		back = append(back, e)
		if e.id != "" && e.parent == "" {
			break // a root
		}
		up, ok := index[e.parent]
		if !ok || up >= i {
			up = i - 1
		}
		i = up
	}
	for i, j := 0, len(back)-1; i < j; i, j = i+1, j-1 {
		back[i], back[j] = back[j], back[i]
	}
	return back
}
