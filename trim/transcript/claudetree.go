package transcript

import (
	"slices"
	"strconv"

	"github.com/stet-dev/stet/llm"
)

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
		root := i
		g.build(&s, &root)
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
