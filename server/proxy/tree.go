package proxy

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
)

// Conversations form trees: an agent, its sub-agents, and what was forked from it. The group in a holdout, a person's stop and the cap
// of a tree are of the whole tree. This file finds the tree of a request, before it is planned.

const (
	maxTrees     = 10_000                 // conversations whose place in a tree is held
	stopsAge     = time.Second            // how old what is known of stops may be
	maxStopsRead = 200 * time.Millisecond // time limit for reading them
)

// parentHeader names the session that a sub-agent's session belongs to.
const parentHeader = "X-Parent-Session-Id"

// trees finds the root of conversations, and what holds for the whole tree.
type trees struct {
	store   record.Store // nil: only this process is known
	holdout func(root string) bool
	kept    bool // the store is asked for conversations of earlier processes

	mu    sync.Mutex
	known map[string]tree // by conversation
	stops map[string]bool // by root
	read  time.Time       // when stops were read
}

// tree is where a conversation belongs.
type tree struct{ root, holdout string }

// join finds the tree of a request's conversation, and writes it to the row. Only the first request of a conversation in this process
// may wait for the store.
func (t *trees) join(ctx context.Context, x *exchange, h http.Header, forked func() string) {
	v := x.conversation
	if v == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, maxLookUp)
	defer cancel()
	at := t.find(ctx, v.id, v.key != "", func() string {
		if parent := shortCopy(h.Get(parentHeader)); parent != "" || !t.kept {
			return parent
		}
		return forked()
	})
	if at.root != v.id {
		x.row.Root = at.root
	}
	x.row.Holdout = at.holdout
}

// find returns the tree of a conversation. One that is stored stays where it is, for life. A new one is in the tree of its parent, or the
// root of a new tree. named: the agent gives it a name. parent is called for one that this process does not know; "": it has none.
func (t *trees) find(ctx context.Context, conversation string, named bool, parent func() string) tree {
	t.mu.Lock()
	at, ok := t.known[conversation]
	t.mu.Unlock()
	if ok {
		return at
	}
	if t.kept && t.store != nil {
		if rows, err := t.store.Requests(ctx, record.Query{Conversation: conversation, Limit: 1}); err == nil && len(rows) > 0 {
			at, ok = tree{rows[0].Tree(), rows[0].Holdout}, true
		}
	}
	if !ok {
		if from := parent(); from != "" && from != conversation {
			at = t.find(ctx, from, named, func() string { return "" })
		} else if at.root = conversation; named && t.holdout != nil {
			at.holdout = record.Treated
			if t.holdout(conversation) {
				at.holdout = record.HeldOut
			}
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil || len(t.known) >= maxTrees {
		t.known = map[string]tree{}
	}
	t.known[conversation] = at
	return at
}

// stopped reports whether a person has stopped the tree. Of several requests at once one asks the store.
func (t *trees) stopped(ctx context.Context, root string) bool {
	now := time.Now()
	t.mu.Lock()
	old, most := t.store != nil && now.Sub(t.read) >= stopsAge, maxStopsRead
	if t.read.IsZero() {
		most = maxLookUp // this process knows of none yet
	}
	if old {
		t.read = now
	}
	t.mu.Unlock()
	var stops map[string]bool
	if old {
		ctx, cancel := context.WithTimeout(ctx, most)
		defer cancel()
		if notes, err := t.store.Notes(ctx, record.NoteStop); err == nil {
			stops = map[string]bool{}
			for _, n := range notes {
				stops[n.Key] = true
			}
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if stops != nil {
		t.stops = stops
	}
	return t.stops[root]
}

// admit finds the tree of a request, and says why the request is refused; nil: it is not.
func (p *Proxy) admit(x *exchange, d *reading, h http.Header) *failure {
	p.trees.join(p.base, x, h, func() string {
		name, _ := p.cache.Named(&d.asked)
		return name
	})
	if x.conversation == nil || x.api == record.CountTokens {
		return nil
	}
	if p.trees.stopped(p.base, x.row.Tree()) {
		return x.refuse("this conversation was stopped by a person, on stet's page; the page lets it go on")
	}
	sub := x.row.Agent != "" || h.Get(parentHeader) != "" // a fork that no header names is a person's
	if why := p.caps.check(p.base, x, !sub && begins(d.request)); why != "" {
		return x.refuse(why)
	}
	return nil
}

// refuse returns the answer to a request that a person does not want. Agents show its sentence, and do not try again: Claude Code asks
// again after a 400 and takes a 403 for a login that is over; Codex asks again after all but a 400.
func (x *exchange) refuse(why string) *failure {
	if x.format() == llm.Messages {
		return failed(http.StatusPaymentRequired, "billing_error", "stopped_by_stet", why)
	}
	return failed(http.StatusBadRequest, "invalid_request_error", "stopped_by_stet", why)
}

// begins reports whether a request begins a turn: its last message is a person's, not the result of a tool with what an agent adds.
func begins(req *llm.Request) bool {
	if req == nil {
		return false
	}
	for i := len(req.Messages) - 1; i >= 0; i-- {
		switch m := &req.Messages[i]; m.Role {
		case llm.Tool, llm.Assistant:
			return false
		case llm.User:
			for _, part := range m.Parts {
				if text := strings.TrimSpace(part.Text); part.Kind != llm.Text || text != "" && !strings.HasPrefix(text, "<system-reminder>") {
					return true
				}
			}
		}
	}
	return false
}
