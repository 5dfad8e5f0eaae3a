package proxy

import (
	"bytes"
	"encoding/binary"
	"iter"
	"slices"
	"sync"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/internal/prefix"
	"github.com/stet-dev/stet/llm"
)

const (
	defaultMemory = 64 << 20 // bytes
	marked        = 4        // so many of the newest messages may have cache markers, which agents move on

	// Bytes of a held request besides its body, measured on recorded requests.
	indexed    = 3       // for each byte of a text: itself, its lines, and where they stand
	perMessage = 300     // for each message
	perRequest = 8 << 10 // for each request
)

// leastHeld is how many bytes a body has at least that is held. A smaller one is read whole in less time than it costs to hold it.
var leastHeld = 8 << 10

// recent holds the newest requests, decoded and planned, so that one that goes on
// from another costs what is new in it. It may be used concurrently.
type recent struct {
	max  int64 // bytes; nothing is held if it is negative
	pool *buffers

	mu      sync.Mutex
	size    int64
	entries []entry // oldest first
}

// entry is a held request with what says quickly that a body is not like it. There may be thousands of them.
type entry struct {
	*heldRequest
	most int
	tail uint64 // the bytes of its body in front of most
}

// tailLen is how long the tail of an entry is, in bytes.
const tailLen = 8

func entryOf(h *heldRequest) entry {
	e := entry{heldRequest: h}
	if h.most >= tailLen {
		e.most, e.tail = h.most, binary.NativeEndian.Uint64(h.body.b[h.most-tailLen:])
	}
	return e
}

// like reports whether body may be like e for most of e's messages.
func (e *entry) like(body []byte) bool {
	return e.most > 0 && len(body) >= e.most && binary.NativeEndian.Uint64(body[e.most-tailLen:]) == e.tail
}

// heldRequest is a request that was understood. Apart from its last fields it does not change.
type heldRequest struct {
	api     string
	body    *lease
	request *llm.Request
	chain   prefix.Chain
	first   int // offset in the body of the first text of its messages
	most    int // where a text ends behind which a quarter of the messages stand; 0: there is none
	texts   int // bytes of texts and arguments
	last    int // where the last text ends but for those of the newest messages, which lose their cache markers

	// These belong to the lock of recent.
	plan planState // of all its messages; without a state while that is in use
	held bool
}

// weight is about how many bytes h keeps in use: the body, its texts, and what the engine makes of
// these. That is most of it: an index of all lines.
func (h *heldRequest) weight() int64 {
	return int64(cap(h.body.b)) + indexed*int64(h.texts) + perMessage*int64(len(h.request.Messages)) + perRequest
}

// measure notes where the texts of the messages stand in the body, and how long they are.
func (h *heldRequest) measure() {
	all := h.request.Messages
	for i := range all {
		for j := range all[i].Parts {
			h.texts += len(all[i].Parts[j].Text) + len(all[i].Parts[j].Args)
		}
	}
	h.first = spanOf(slices.All(all)).Start
	h.most = spanOf(slices.Backward(all[:(3*len(all)+3)/4])).End
	h.last = max(h.most, spanOf(slices.Backward(all[:max(0, len(all)-marked)])).End)
}

// spanOf is the place of the first text of messages.
func spanOf(messages iter.Seq2[int, llm.Message]) llm.Span {
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Span.Valid() && m.Role != llm.System {
				return p.Span
			}
		}
	}
	return llm.Span{}
}

// common returns up to which byte body is like h from the first text of h's messages on. What stands before,
// such as the system text, may differ.
func (h *heldRequest) common(body []byte) int {
	const step = 4 << 10
	have := h.body.b[:min(len(h.body.b), len(body))]
	n := h.first
	for n+step <= len(have) && bytes.Equal(have[n:n+step], body[n:n+step]) {
		n += step
	}
	for n < len(have) && have[n] == body[n] {
		n++
	}
	return n
}

// find returns the newest request that body goes on from, or else the one that body seems to fork from: it is like body
// for longest, and at least for most of its own messages; nil if there is none. The caller drops its body.
func (r *recent) find(api string, body []byte) *heldRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found *heldRequest
	longest := 0
	for i := range slices.Backward(r.entries) {
		e := &r.entries[i]
		if !e.like(body) || e.api != api {
			continue
		}
		if n := e.common(body); n >= e.most && n > longest {
			found, longest = e.heldRequest, n
			if n >= e.last {
				break
			}
		}
	}
	if found != nil {
		found.body.hold()
	}
	return found
}

// add holds h, in place of before if h goes on from it. before may be nil.
func (r *recent) add(h, before *heldRequest) {
	if r.max < 0 || len(h.body.b) < leastHeld || h.weight() > r.max {
		return
	}
	h.body.hold()
	r.mu.Lock()
	defer r.mu.Unlock()
	if before != nil && before.held && h.chain.Extends(&before.chain) {
		r.drop(slices.IndexFunc(r.entries, func(e entry) bool { return e.heldRequest == before }))
	}
	h.held = true
	r.entries = append(r.entries, entryOf(h))
	r.size += h.weight()
	for r.size > r.max {
		r.drop(0)
	}
}

// drop holds the request at i no more.
func (r *recent) drop(i int) {
	h := r.entries[i].heldRequest
	r.entries = slices.Delete(r.entries, i, i+1)
	h.held = false
	r.size -= h.weight()
	h.body.drop(r.pool)
}

// take returns how h, which may be nil, was planned, if a request can go on from that which has so many messages in
// common with it. The state is the caller's alone. One of another engine, for another model, stays where it is.
func (r *recent) take(h *heldRequest, engine *history.Engine, common int) (was planState) {
	if h == nil {
		return was
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if h.plan.engine != engine || h.plan.state == nil || h.plan.state.Len() > common {
		return was
	}
	was, h.plan.state = h.plan, nil
	return was
}

// give notes how h was planned.
func (r *recent) give(h *heldRequest, now planState) {
	if h == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	h.plan = now
}

// commonMessages counts the equal messages at the beginning of a and b. Where they
// stand in their bodies does not matter.
func commonMessages(a, b []llm.Message) int {
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
