package proxy

import (
	"bytes"
	"container/list"
	"slices"
	"sync"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/llm"
)

const (
	defaultMemory = 128 << 20 // bytes
	probeSize     = 64
)

// recent holds the newest requests, decoded and folded, so that one that goes on
// from another costs what is new in it. It may be used concurrently.
type recent struct {
	max  int64 // bytes; nothing is held if it is negative
	pool *buffers

	mu    sync.Mutex
	size  int64
	order *list.List // of *past, newest first
}

// past is a request that was understood. Apart from what is held of it, it does not change.
type past struct {
	api     string
	body    *lease
	request *llm.Request
	chain   chain
	probes  [2]int // offsets of texts in the body that tell it from others: one near the end of its messages, the last; 0: none

	held  held          // of all its messages; without a fold while it is in use. Belongs to recent's lock
	place *list.Element // likewise; nil: it is held no more
}

// held is a fold that is held.
type held struct {
	fold   *history.State
	engine *history.Engine // that made it
	breaks []history.Point // that it has seen
}

// weight is about how many bytes p keeps in use: the body, its texts, and what
// the fold makes of them.
func (p *past) weight() int64 { return 3*int64(cap(p.body.b)) + 200*int64(len(p.request.Messages)) }

// probesOf finds texts in the last quarter of a request's messages.
func probesOf(req *llm.Request) [2]int {
	last := func(messages []llm.Message) int {
		for _, m := range slices.Backward(messages) {
			for _, p := range m.Parts {
				if p.Span.Valid() && m.Role != llm.System {
					return p.Span.Start
				}
			}
		}
		return 0
	}
	return [2]int{last(req.Messages[:(3*len(req.Messages)+3)/4]), last(req.Messages)}
}

// at reports whether body has at a probe what p's has.
func (p *past) at(probe int, body []byte) bool {
	end := min(probe+probeSize, len(p.body.b))
	return probe > 0 && end <= len(body) && bytes.Equal(body[probe:end], p.body.b[probe:end])
}

// find returns the newest request that body seems to go on from, or else to fork
// from; nil if there is none. The caller drops its body.
func (r *recent) find(api string, body []byte) *past {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found *past
	for e := r.order.Front(); e != nil; e = e.Next() {
		p := e.Value.(*past)
		if p.api != api || !p.at(p.probes[0], body) {
			continue
		}
		if p.at(p.probes[1], body) {
			found = p
			break
		}
		if found == nil {
			found = p
		}
	}
	if found != nil {
		found.body.hold()
	}
	return found
}

// take returns the fold of p, which may be nil, for the caller alone, and the
// breaks that it has seen. One that another engine made stays where it is: it is
// of another model.
func (r *recent) take(p *past, engine *history.Engine) (*history.State, []history.Point) {
	if p == nil {
		return nil, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.held.engine != engine {
		return nil, nil
	}
	f := p.held.fold
	p.held.fold = nil
	return f, p.held.breaks
}

// give puts a fold of p's messages back.
func (r *recent) give(p *past, h held) {
	if p == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p.held = h
}

// add holds p, in place of before if p goes on from it. before may be nil.
func (r *recent) add(p, before *past) {
	if r.max < 0 || p.weight() > r.max/2 {
		return
	}
	p.body.hold()
	r.mu.Lock()
	defer r.mu.Unlock()
	if before != nil && before.place != nil && extends(&p.chain, &before.chain) {
		r.drop(before)
	}
	p.place = r.order.PushFront(p)
	r.size += p.weight()
	for r.size > r.max {
		r.drop(r.order.Back().Value.(*past))
	}
}

func (r *recent) drop(p *past) {
	r.order.Remove(p.place)
	p.place = nil
	r.size -= p.weight()
	p.body.drop(r.pool)
}

// extends reports whether a begins with all of b.
func extends(a, b *chain) bool {
	n := len(b.links)
	return n <= len(a.links) && (n == 0 || a.links[n-1] == b.links[n-1])
}

// same counts the messages that a and b begin with alike; where in their bodies
// they stand does not matter.
func same(a, b []llm.Message) int {
	n := 0
	for n < min(len(a), len(b)) && sameMessage(&a[n], &b[n]) {
		n++
	}
	return n
}

func sameMessage(a, b *llm.Message) bool {
	if a.Role != b.Role || len(a.Parts) != len(b.Parts) {
		return false
	}
	if len(a.Parts) == 0 || &a.Parts[0] == &b.Parts[0] {
		return true
	}
	for i := range a.Parts {
		p, q := a.Parts[i], b.Parts[i]
		if p.Span.Valid() != q.Span.Valid() {
			return false
		}
		p.Span = q.Span
		if p != q {
			return false
		}
	}
	return true
}
