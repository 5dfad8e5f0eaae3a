package transcript

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stet-dev/stet/llm"
)

// Claude Code writes a line for each content block, in a tree by parentUuid. One answer of the API may take several lines
// with the same message.id. A result of a tool is a user line. Each result is there twice, in message.content and in
// toolUseResult. Only the first was sent.

func isClaudeCode(s Shape) bool {
	switch s["type"] {
	case "file-history-snapshot":
		return s.Has("messageId")
	case "summary":
		return s.Has("leafUuid")
	case "user", "assistant", "system", "attachment", "progress":
		return s.Has("uuid", "parentUuid")
	case "":
		return false
	}
	return s.Has("sessionId") && !s.Has("projectHash") &&
		(s.Has("leafUuid") || s.Has("mode") || s.Has("permissionMode") || s.Has("aiTitle") || s.Has("operation"))
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

func readClaudeCode(src *File) ([]*Session, error) {
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
func (g *claudeConversation) take(src *File, l *claudeLine) {
	if l.UUID == "" { // an answer outside of the tree
		l.UUID = fmt.Sprint("record ", len(g.records))
		if n := len(g.records); n > 0 {
			l.Parent = g.records[n-1].uuid
		}
	}
	if at, twice := g.index[l.UUID]; twice {
		if old := g.records[at].usage; old != nil {
			if u := src.usageOf(l.Message.Usage); u != nil && Fuller(*u, *old) {
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
		r.parts, r.results = Blocks(l.Message.Content)
	case "assistant":
		r.role = llm.Assistant
		r.parts, _ = Blocks(l.Message.Content)
		r.id, r.model, r.request = l.Message.ID, l.Message.Model, l.Request
		r.usage = src.usageOf(l.Message.Usage)
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
		r.time = g.records[at].time // all lines of an answer are billed as one
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
	texts := append(Texts(a.Content), Texts(a.Prompt)...)
	if a.Snippet != "" {
		texts = append(texts, a.Snippet)
	}
	return strings.Join(slices.Concat(texts, a.Blocks, a.Lines), "\n")
}

// link finds every record's parent and root. A parent that is not in the file was in a damaged line. If joined is set, the
// previous record is used as the parent then. If the parents of a record form a circle, its root is the record at which the
// circle was found.
func (g *claudeConversation) link(joined bool) {
	for i := range g.records {
		r := &g.records[i]
		r.up = -1
		at, known := g.index[r.parent]
		switch {
		case known && r.parent != "" && at != i:
			r.up = at
		case r.parent == "":
			if at, known := g.index[r.logical]; known && r.logical != "" && at != i {
				r.up = at
			}
			// A logical parent means that a new context begins here.
			r.boundary = r.boundary || r.up >= 0
		case joined && i > 0:
			r.up = i - 1
		}
		r.tree = -1
	}
	for i := range g.records {
		path := []int{}
		at := i
		for at >= 0 && g.records[at].tree == -1 {
			g.records[at].tree = -2 // being visited
			path = append(path, at)
			at = g.records[at].up
		}
		root := i
		if len(path) > 0 {
			root = path[len(path)-1]
		}
		switch {
		case at < 0:
		case g.records[at].tree >= 0:
			root = g.records[at].tree
		default: // a circle
			g.records[path[len(path)-1]].up = -1
		}
		for _, p := range path {
			g.records[p].tree = root
		}
	}
	g.trees = map[int][]int{}
	for i := range g.records {
		g.trees[g.records[i].tree] = append(g.trees[g.records[i].tree], i)
	}
}

// sidechains makes sessions of conversations of sub-agents. If the file does not name the agents, each tree is a session.
func (g *claudeConversation) sidechains() []*Session {
	g.link(false)
	if g.session.Parent != "" { // the file names the agent, so this is one conversation
		g.build(g.session, nil)
		return []*Session{g.session}
	}
	var all []*Session
	for i := range g.records {
		if g.records[i].tree != i {
			continue
		}
		s := *g.session
		s.Parent = s.ID
		s.ID += "/" + strconv.Itoa(len(all)+1)
		g.build(&s, &i)
		all = append(all, &s)
	}
	return all
}

// build makes the messages of the active branch of every tree, or only of the tree with the given root. A tree that is not
// linked to an earlier one is a restarted context.
func (g *claudeConversation) build(s *Session, only *int) {
	var roots, all []int
	if only != nil {
		all = g.trees[*only]
	} else {
		for i := range g.records {
			all = append(all, i)
		}
	}
	leaf := map[int]int{}
	for _, i := range all {
		r := &g.records[i]
		if _, seen := leaf[r.tree]; !seen {
			roots = append(roots, r.tree)
			leaf[r.tree] = -1
		}
		if r.role != "" && !r.local {
			leaf[r.tree] = i
		}
	}
	for _, root := range roots {
		if leaf[root] >= 0 {
			s.start()
			g.branch(s, root, leaf[root])
		}
	}
	for _, i := range all {
		if r := &g.records[i]; !r.used {
			s.charge(Left, r.answer())
		}
	}
}

func (r *claudeRecord) answer() llm.Message {
	return llm.Message{
		Role: r.role, Parts: r.parts, Local: r.local,
		ID: r.id, Request: r.request, Time: r.time, Model: r.model, Usage: r.usage,
	}
}

// branch adds the messages from the root to a leaf.
func (g *claudeConversation) branch(s *Session, root, leaf int) {
	on := g.chosen(root, leaf)
	at := map[string]int{} // answerKey → index of the message
	for _, i := range g.trees[root] {
		r := &g.records[i]
		if !on[i] {
			continue
		}
		r.used = true
		if r.boundary {
			s.start()
			clear(at)
		}
		switch r.role {
		case llm.Assistant:
			if j, open := at[r.key]; open && r.id != "" {
				m := &s.Messages[j]
				m.Parts = append(m.Parts, r.parts...)
				if r.usage != nil && (m.Usage == nil || Fuller(*r.usage, *m.Usage)) {
					m.Usage = r.usage
				}
				continue
			}
			if len(r.parts) > 0 {
				at[r.key] = len(s.Messages)
			}
			s.add(r.answer())
		case llm.User:
			g.results(s, r)
			s.add(llm.Message{Role: llm.User, ID: r.uuid, Time: r.time, Parts: r.parts})
		}
	}
}

// results adds a record's results. The results of one answer are one message, directly after the answer. Reminders that
// were recorded between them come after that message, because they were sent in this order.
func (g *claudeConversation) results(s *Session, r *claudeRecord) {
	if len(r.results) == 0 {
		return
	}
	first := 0
	if n := len(s.Starts); n > 0 {
		first = s.Starts[n-1]
	}
	at := len(s.Messages)
	for at > first && s.Messages[at-1].Role == llm.User {
		at--
	}
	if at > first && s.Messages[at-1].Role == llm.Tool {
		m := &s.Messages[at-1]
		m.Parts = append(m.Parts, r.results...)
		return
	}
	if at == first {
		at = len(s.Messages) // the answer is missing
	}
	s.Messages = slices.Insert(s.Messages, at, llm.Message{Role: llm.Tool, ID: r.uuid, Time: r.time, Parts: r.results})
}

// chosen marks the records on the branch: the leaf and its parents, the other lines of their answers, and the results of
// their calls. If the model made several calls at once, only one of the results is a parent of the next record.
func (g *claudeConversation) chosen(root, leaf int) map[int]bool {
	on := map[int]bool{}
	for i := leaf; i >= 0 && !on[i]; i = g.records[i].up {
		on[i] = true
	}
	answers := map[string]bool{}
	for _, i := range g.trees[root] {
		if r := &g.records[i]; on[i] && r.role == llm.Assistant && r.id != "" {
			answers[r.key] = true
		}
	}
	calls := map[string]bool{} // true: a result is on the branch
	for _, i := range g.trees[root] {
		r := &g.records[i]
		if r.role == llm.Assistant && answers[r.key] {
			on[i] = true
		}
		if !on[i] {
			continue
		}
		for _, p := range r.parts {
			if p.Kind == llm.ToolCall {
				calls[p.CallID] = calls[p.CallID] || false
			}
		}
		for _, p := range r.results {
			calls[p.CallID] = true
		}
	}
	for _, i := range g.trees[root] {
		r := &g.records[i]
		if on[i] || len(r.results) == 0 {
			continue
		}
		if answered, asked := calls[r.results[0].CallID]; asked && !answered {
			on[i], calls[r.results[0].CallID] = true, true
		}
	}
	return on
}
