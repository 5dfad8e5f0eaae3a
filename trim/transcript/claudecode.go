package transcript

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/llm"
)

// Claude Code writes a line for each content block, in a tree by parentUuid. One answer of the API may take several lines
// with the same message.id. A result of a tool is a user line. Each result is there twice, in message.content and in
// toolUseResult. Only the first was sent.

func isClaudeCode(s shape) bool {
	switch s["type"] {
	case "file-history-snapshot":
		return s.has("messageId")
	case "summary":
		return s.has("leafUuid")
	case "user", "assistant", "system", "attachment", "progress":
		return s.has("uuid", "parentUuid")
	case "":
		return false
	}
	return s.has("sessionId") && !s.has("projectHash") &&
		(s.has("leafUuid") || s.has("mode") || s.has("permissionMode") || s.has("aiTitle") || s.has("operation"))
}

// claudeLine is a line of the file.
type claudeLine struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	UUID      string `json:"uuid"`
	Parent    string `json:"parentUuid"`
	Logical   string `json:"logicalParentUuid"`
	Side      bool   `json:"isSidechain"`
	Summary   bool   `json:"isCompactSummary"`
	APIError  bool   `json:"isApiErrorMessage"`
	AgentID   string `json:"agentId"`
	SessionID string `json:"sessionId"`
	Request   string `json:"requestId"`
	Dir       string `json:"cwd"`
	Version   string `json:"version"`
	Timestamp string `json:"timestamp"`
	Message   struct {
		ID      string          `json:"id"`
		Role    string          `json:"role"`
		Model   string          `json:"model"`
		Content json.RawMessage `json:"content"`
		Usage   json.RawMessage `json:"usage"`
	} `json:"message"`
	Attachment json.RawMessage `json:"attachment"`
	Content    json.RawMessage `json:"content"`
}

// claudeRecord is the data of a line in the tree.
type claudeRecord struct {
	uuid, parent, logical string

	role     llm.Role // empty: the line was not sent
	parts    []llm.Part
	results  []llm.Part
	id       string // of the message; all lines of one answer have the same
	request  string // the provider's id of the request
	key      string // of the answer: see answerKey
	used     bool   // it is in the conversation as it was sent
	model    string
	usage    *llm.Usage
	time     time.Time
	local    bool
	boundary bool // a new context begins here

	up   int // index of the parent, or -1
	tree int // index of the root
}

// claudeConversation has the records of one conversation: the main one, or a sub-agent's.
type claudeConversation struct {
	session *Session
	records []claudeRecord
	index   map[string]int // index in records by uuid
	trees   map[int][]int  // indexes of the records of a tree, by its root
}

func newClaudeConversation() *claudeConversation {
	return &claudeConversation{session: &Session{HidesOutput: true}, index: map[string]int{}}
}

func readClaudeCode(src *source) ([]*Session, error) {
	main := newClaudeConversation()
	groups := []*claudeConversation{main}
	agents := map[string]*claudeConversation{}
	err := linesOf(src, func(l *claudeLine) error {
		if l.UUID == "" && len(l.Message.Usage) == 0 {
			return nil // titles, snapshots and modes are not in the tree
		}
		g := main
		if l.Side {
			if g = agents[l.AgentID]; g == nil {
				g = newClaudeConversation()
				agents[l.AgentID] = g
				groups = append(groups, g)
			}
		}
		g.take(src, l)
		return nil
	})
	if err != nil {
		return nil, err
	}
	var all []*Session
	for _, g := range groups {
		if g != main {
			all = append(all, g.sidechains()...)
			continue
		}
		g.link(true)
		g.build(g.session, nil)
		all = append(all, g.session)
	}
	return all, nil
}

// take adds a line.
func (g *claudeConversation) take(src *source, l *claudeLine) {
	if l.UUID == "" { // an answer outside of the tree
		l.UUID = fmt.Sprint("record ", len(g.records))
		if n := len(g.records); n > 0 {
			l.Parent = g.records[n-1].uuid
		}
	}
	if at, twice := g.index[l.UUID]; twice {
		if old := g.records[at].usage; old != nil {
			if u := src.usageOf(l.Message.Usage, messagesUsage); u != nil && Fuller(*u, *old) {
				g.records[at].usage = u
			}
		}
		return
	}
	s := g.session
	if s.ID == "" {
		s.ID = l.SessionID
		if l.Side && l.SessionID != "" && l.AgentID != "" {
			s.ID, s.Parent = l.SessionID+"/"+l.AgentID, l.SessionID
		}
	}
	s.Dir = cmp.Or(s.Dir, l.Dir)
	s.Agent = cmp.Or(s.Agent, l.Version)
	r := claudeRecord{
		uuid: l.UUID, parent: l.Parent, logical: l.Logical,
		time: parseTime(l.Timestamp), boundary: l.Summary,
	}
	switch l.Type {
	case "user":
		r.role = llm.User
		r.parts, r.results = blocks(l.Message.Content)
	case "assistant":
		r.role = llm.Assistant
		r.parts, _ = blocks(l.Message.Content)
		r.id, r.model, r.request = l.Message.ID, l.Message.Model, l.Request
		r.usage = src.usageOf(l.Message.Usage, messagesUsage)
		r.key = g.answerKey(&r)
		// The agent wrote such a message itself: no request was answered.
		r.local = l.APIError || r.model == "<synthetic>"
	case "attachment":
		if r.parts = text(attachmentText(l.Attachment)); r.parts != nil {
			r.role = llm.User
		}
	case "system":
		switch l.Subtype {
		case "compact_boundary":
			r.boundary = true
		case "local_command":
			r.role, r.parts = llm.User, []llm.Part{{Text: str(l.Content)}}
		}
	}
	g.index[l.UUID] = len(g.records)
	g.records = append(g.records, r)
}

// answerKey returns the same for all lines of one answer: its ids. Without an id of the request it is the id of the message
// and the size of the request, because some providers give an id to several messages. The size may be complete only in a
// later line.
func (g *claudeConversation) answerKey(r *claudeRecord) string {
	if r.id == "" || r.request != "" || r.usage == nil {
		return r.id + "\n" + r.request
	}
	if at, ok := g.index[r.parent]; ok && g.records[at].id == r.id {
		return g.records[at].key
	}
	return fmt.Sprint(r.id, "\n", r.usage.Input, r.usage.CacheRead, r.usage.CacheWrite)
}

// attachmentText returns the text of an attachment that the agent adds to the request as a reminder. It returns "" for an
// attachment that is only shown to the user.
func attachmentText(raw json.RawMessage) string {
	var a struct {
		Type    string          `json:"type"`
		Content json.RawMessage `json:"content"`
		Prompt  json.RawMessage `json:"prompt"`
		Snippet string          `json:"snippet"`
		Blocks  []string        `json:"addedBlocks"`
		Lines   []string        `json:"addedLines"`
	}
	if len(raw) == 0 || decode(raw, &a) != nil {
		return ""
	}
	switch a.Type {
	case "hook_system_message", "hook_non_blocking_error", "hook_cancelled", "command_permissions":
		return ""
	}
	texts := append(texts(a.Content), texts(a.Prompt)...)
	if a.Snippet != "" {
		texts = append(texts, a.Snippet)
	}
	return strings.Join(slices.Concat(texts, a.Blocks, a.Lines), "\n")
}
