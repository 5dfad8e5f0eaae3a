package approval

import (
	"bytes"
	"context"
	"encoding/json"
	"path"
	"strings"
	"sync"

	"github.com/stet-dev/stet/tool"
)

// order has the calls of one session plan and apply in the order in which they
// came, as far as they touch the same files: a client that sends several at once
// means them one after the other. A call that is about to ask a person gives its
// place up, and so holds up none; from then on turns and compare-and-swap see to
// it. Files that have several names are told apart by these.
type order struct {
	mu     sync.Mutex
	places map[string][]*place // by session, the oldest first
}

// place is a call's in the order.
type place struct {
	of      *order
	session string
	path    string // below the root, clean; "." is all of it
	writes  bool
	before  []<-chan struct{} // closed when what has to come first has left
	left    chan struct{}     // nil: nobody waits for this one; guarded by order.mu
	gone    bool              // guarded by order.mu
}

// enter gives a call the place behind those that have one.
func (o *order) enter(session, name string, writes bool) *place {
	p := &place{of: o, session: session, path: name, writes: writes}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.places == nil {
		o.places = map[string][]*place{}
	}
	all := o.places[session]
	for _, q := range all {
		if !p.follows(q) {
			continue
		}
		if q.left == nil {
			q.left = make(chan struct{})
		}
		p.before = append(p.before, q.left)
	}
	o.places[session] = append(all, p)
	return p
}

// follows reports whether p's call has to come after q's, which came before it:
// it may see what q writes, or writes to what q reads.
func (p *place) follows(q *place) bool {
	return q.writes && (within(p.path, q.path) || within(q.path, p.path)) || p.writes && p.path == q.path
}

// within reports whether name is dir, or below it.
func within(name, dir string) bool {
	return dir == "." || strings.HasPrefix(name, dir) && (len(name) == len(dir) || name[len(dir)] == '/')
}

// wait waits until it is the call's turn.
func (p *place) wait(ctx context.Context) error {
	for _, left := range p.before {
		select {
		case <-left:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// leave gives the place up, if it is not given up already.
func (p *place) leave() {
	o := p.of
	o.mu.Lock()
	defer o.mu.Unlock()
	if p.gone {
		return
	}
	p.gone = true
	if p.left != nil {
		close(p.left)
	}
	var rest []*place
	for _, q := range o.places[p.session] {
		if q != p {
			rest = append(rest, q)
		}
	}
	if o.places[p.session] = rest; len(rest) == 0 {
		delete(o.places, p.session)
	}
}

// Start implements tool.Starter.
func (h *Handler) Start(c tool.Call) func(context.Context) (tool.Result, error) {
	t, known := h.Tools.Get(c.Name)
	return h.start(c, t, known)
}

func (h *Handler) start(c tool.Call, t tool.Tool, known bool) func(context.Context) (tool.Result, error) {
	r := &run{h: h, t: t}
	if known {
		s := t.Spec()
		c.Name = s.Name // an alias is not what rules and the trail go by
		r.place = h.order.enter(c.Session, h.named(c.Arguments), !s.ReadOnly)
	} else {
		r.place = h.order.enter(c.Session, ".", false)
	}
	r.c = c
	return func(ctx context.Context) (tool.Result, error) { return h.run(ctx, r, known) }
}

// named is what the path in the arguments comes to by its words alone; "." where
// there is none.
func (h *Handler) named(arguments json.RawMessage) string {
	name := firstPath(arguments)
	if h.Root != "" && within(name, h.Root) {
		name = name[len(h.Root):]
	}
	if name = path.Clean("/" + name)[1:]; name == "" {
		return "."
	}
	return name
}

// firstPath is the value of "path" in a JSON object. What stands behind it,
// which may be megabytes, is not looked at.
func firstPath(arguments json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(arguments))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return ""
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return ""
		}
		if name == "path" {
			var value string
			if d.Decode(&value) != nil {
				return ""
			}
			return value
		}
		var skipped json.RawMessage
		if d.Decode(&skipped) != nil {
			return ""
		}
	}
	return ""
}
