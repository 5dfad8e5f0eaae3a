package transcript

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/llm"
)

// pi writes a line for each entry, in a tree by parentId. The first versions wrote a list. The branch of the newest entry
// is the conversation.

func isPi(s Shape) bool {
	switch s["type"] {
	case "session":
		return s.Has("id", "cwd", "timestamp") && (s.Has("version") || s.Has("provider"))
	case "message": // other agents write such lines, too
		return s.Has("parentId") && (s.Has("message.provider") || s.Has("message.toolCallId") || s.Has("message.usage.cacheRead"))
	}
	return false
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
	Usage     json.RawMessage `json:"usage"`
}

type piUsage struct {
	Input        int     `json:"input"`
	Output       int     `json:"output"`
	Reasoning    int     `json:"reasoning"`
	CacheRead    int     `json:"cacheRead"`
	CacheWrite   int     `json:"cacheWrite"`
	CacheWrite1h int     `json:"cacheWrite1h"`
	Total        skipped `json:"totalTokens"`
	Cost         skipped `json:"cost"`
}

func (u piUsage) usage() *llm.Usage {
	return orNil(llm.Usage{
		Input: u.Input, Output: u.Output, Reasoning: u.Reasoning, CacheRead: u.CacheRead,
		CacheWrite: max(u.CacheWrite, u.CacheWrite1h), CacheWrite1h: u.CacheWrite1h,
	})
}

type piMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	Model      string          `json:"model"`
	ToolCallID string          `json:"toolCallId"`
	IsError    bool            `json:"isError"`
	ResponseID string          `json:"responseId"`
	Stop       string          `json:"stopReason"`
	Usage      json.RawMessage `json:"usage"`
}

func readPi(src *File) ([]*Session, error) {
	s := &Session{newIDs: true} // the ids of entries are not the provider's
	seen := map[string]bool{}
	var entries []entry
	err := linesOf(src, func(l *piLine) error {
		if l.Type == "session" {
			s.ID, s.Dir = l.ID, l.Dir
			return nil
		}
		if l.ID == "" || !seen[l.ID] {
			entries = append(entries, newPiEntry(src, l))
		}
		seen[l.ID] = true
		return nil
	})
	branch := s.newestBranch(entries)
	for i, e := range branch {
		if !e.start {
			s.add(e.message)
			continue
		}
		s.start()
		s.add(e.message)
		if k := slices.IndexFunc(branch[:i], func(old entry) bool { return old.id == e.firstKept }); k >= 0 {
			for _, kept := range branch[k:i] {
				if !kept.start {
					s.carry(kept.message)
				}
			}
		}
	}
	return []*Session{s}, err
}

func newPiEntry(src *File, l *piLine) entry {
	e := entry{id: l.ID, parent: l.Parent}
	t := parseTime(l.Timestamp)
	user := func(s string) llm.Message { return llm.Message{Role: llm.User, ID: l.ID, Time: t, Parts: text(s)} }
	switch l.Type {
	case "message":
		if l.Message != nil {
			e.message = piMessageOf(src, l.Message, l.ID, t)
		}
	case "compaction":
		e.start, e.firstKept, e.message = true, l.FirstKept, user(l.Summary)
	case "branch_summary":
		e.message = user(l.Summary)
	case "custom_message":
		e.message = user(strings.Join(Texts(l.Content), "\n"))
	}
	e.own = usageIn[piUsage](src, l.Usage)
	return e
}

func piMessageOf(src *File, p *piMessage, id string, t time.Time) llm.Message {
	m := llm.Message{ID: id, Time: t}
	switch p.Role {
	case "user":
		m.Role = llm.User
		m.Parts, _ = Blocks(p.Content)
	case "assistant":
		m.Role, m.Model, m.ID = llm.Assistant, p.Model, cmp.Or(p.ResponseID, id)
		m.Parts, _ = Blocks(p.Content)
		m.Usage = usageIn[piUsage](src, p.Usage)
		m.Local = p.Stop == "error" && m.Usage == nil // the provider refused the request
	case "toolResult":
		m.Role = llm.Tool
		m.Parts = ResultParts(p.ToolCallID, p.Content, p.IsError)
	}
	return m
}
