package proxy

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/server/proxy/prefix"
	"github.com/stet-dev/stet/server/proxy/sent"
	"github.com/stet-dev/stet/trim"
)

const (
	defaultMemory = 64 << 20 // bytes
	marked        = 4        // how many of the newest messages may have cache markers; agents move these on

	// Memory of a held request besides its body, in bytes, measured on recorded requests.
	indexed    = 3       // for each byte of a text: the text, its lines, and their positions
	perMessage = 300     // for each message
	perRequest = 8 << 10 // for each request
)

// leastHeld is the size in bytes of the smallest body that is held. Reading a smaller body again is faster than holding it.
var leastHeld = 8 << 10

// recent holds the newest decoded and planned requests. A request that continues a held one costs only its new part.
// It may be used concurrently.
type recent struct {
	max  int64 // bytes; negative: nothing is held
	pool *buffers

	mu      sync.Mutex
	size    int64
	entries []entry // oldest first
}

// entry is a held request with the fields for a quick test whether a body can be like it. There may be thousands of entries.
type entry struct {
	*heldRequest
	most int
	tail uint64 // the last bytes of its body before offset most
}

// tailLen is the size in bytes of the tail of an entry.
const tailLen = 8

func entryOf(h *heldRequest) entry {
	e := entry{heldRequest: h}
	if h.most >= tailLen {
		e.most, e.tail = h.most, binary.NativeEndian.Uint64(h.body.b[h.most-tailLen:])
	}
	return e
}

// like reports whether body may be equal to e's body in most messages. It compares only a few bytes.
func (e *entry) like(body []byte) bool {
	return e.most > 0 && len(body) >= e.most && binary.NativeEndian.Uint64(body[e.most-tailLen:]) == e.tail
}

// heldRequest is a decoded request. Only its last fields change.
type heldRequest struct {
	api     string
	body    *lease
	request *llm.Request
	chain   prefix.Chain
	first   int          // offset in the body of the first text of its messages
	most    int          // end of a text with about three quarters of the messages before it; 0: no such text
	texts   int          // bytes of all texts and arguments
	last    int          // end of the last text, without the newest messages, which lose their cache markers later
	tokens  atomic.Int64 // of all messages, estimated; 0: not counted yet

	// The lock of recent guards these.
	plan  planState          // of all its messages; without a state while another request uses that
	parts *sent.Conversation // the parts of its messages; nil: not known
	held  bool
}

// weight estimates the bytes of memory that h uses: the body, its texts, and the engine's index of all lines, which is the largest part.
func (h *heldRequest) weight() int64 {
	return int64(cap(h.body.b)) + indexed*int64(h.texts) + perMessage*int64(len(h.request.Messages)) + perRequest
}

// measure records where the texts of the messages are in the body, and how long they are.
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

// spanOf returns the place of the first text in messages, or the zero Span. It skips system messages.
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

// common returns the offset up to which body equals h's body. It compares from the first text of h's messages on. The bytes before
// that, such as the system text, may differ.
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

// find returns the newest held request that body continues. If there is none, it returns the request that body seems to fork from: the one
// with the longest equal part, which must cover most of its messages. Otherwise it returns nil. The caller drops the body of the result.
// same is the number of first bytes in which both bodies are known to be equal.
func (r *recent) find(api string, body []byte) (found *heldRequest, same int) {
	r.mu.Lock()
	defer r.mu.Unlock()
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
	if found == nil {
		return nil, 0
	}
	found.body.hold()
	if n := found.first; bytes.Equal(found.body.b[:n], body[:n]) {
		same = longest
	}
	return found, same
}

// add holds h. If h continues before, h replaces it. before may be nil.
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

// drop removes the request at index i.
func (r *recent) drop(i int) {
	h := r.entries[i].heldRequest
	r.entries = slices.Delete(r.entries, i, i+1)
	h.held = false
	r.size -= h.weight()
	h.body.drop(r.pool)
}

// take returns the engine's state after the request that d continues, if d can go on from it. The caller then owns the state alone.
func (r *recent) take(d *reading, engine *trim.Engine) (was planState) {
	h := d.base
	if h == nil {
		return was
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !h.plan.continues(d, engine) {
		return was
	}
	was, h.plan.state = h.plan, nil
	return was
}

// goesOn reports whether a request continues the one before it as that was sent.
func (r *recent) goesOn(d *reading) bool {
	if d.base == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	h := d.base
	return h.plan.formed && h.plan.form.Same(d.earlier.begin.Form) && len(h.request.Messages) == d.earlier.begin.Messages
}

// formed records in which form a request was sent.
func (r *recent) formed(d *reading, form *sent.Form) {
	if d.now == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	d.now.plan.form, d.now.plan.formed = form, true
	d.now.parts = d.earlier.conversation.Parts()
}

// partsOf returns the parts of a held request's messages; nil: they are not known.
func (r *recent) partsOf(h *heldRequest) *sent.Conversation {
	if h == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return h.parts
}

// give stores how h was planned.
func (r *recent) give(h *heldRequest, now planState) {
	if h == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	h.plan = now
}

// The engine's state after a request is held with the request. The next request of the conversation continues from it.
// Otherwise the state is made again from what was sent (trim.Engine.Resume).

// planState is the engine's state after it planned a request.
type planState struct {
	state  *trim.State
	engine *trim.Engine
	form   *sent.Form // in which the request was sent
	formed bool       // form is known
	begin  begin      // what the request went on from
	cold   bool       // it was planned at a cold point
}

// continues reports whether a request can go on from the state.
func (s *planState) continues(d *reading, engine *trim.Engine) bool {
	if s.engine != engine || s.state == nil || s.state.Len() > d.common {
		return false
	}
	switch engine.Policy() {
	case trim.Lossless, trim.Adaptive, trim.Bold:
		b := &d.earlier.begin
		if s.formed && s.state.Len() == b.upto && s.form.Same(b.Form) {
			return true
		}
		if s.cold || d.verdict.New != "" || b.cold || s.begin.upto != b.upto || !s.begin.Form.Same(b.Form) {
			return false // else the request repeats the one before, or counts its tokens
		}
	}
	messages := d.planned()
	return s.state.Len() <= len(messages) && (s.state.Len() == len(messages) || messages[s.state.Len()].Role == llm.Assistant)
}

// planned returns the messages that are planned. Text of the messages after an answer may leave in the middle of work, so the
// answer at the end of a request for a summary is not among them.
func (d *reading) planned() []llm.Message {
	messages := d.request.Messages
	for d.compacts && len(messages) > 0 && messages[len(messages)-1].Role == llm.Assistant {
		messages = messages[:len(messages)-1]
	}
	return messages
}

// resume returns the engine's state after the messages that were sent before. before has the edits with which they were sent.
func (r *recent) resume(d *reading, engine *trim.Engine, before *trim.Plan, head int) planState {
	if now := r.take(d, engine); now.state != nil {
		now.state.KeepWhole(head)
		return now
	}
	b := &d.earlier.begin
	s := trim.Sent{Whole: head, Messages: min(b.upto, len(d.planned())), ClearedCalls: before.ClearedCalls, Edits: before.Edits}
	if b.whole {
		s.Messages = min(b.Messages, len(d.planned()))
	}
	for _, o := range before.Omissions {
		s.Reasons = append(s.Reasons, o.Reason)
	}
	_ = json.Unmarshal(b.Form.Balance(), &s.Balance) // an account that cannot be read is a new one
	return planState{state: engine.Resume(d.request.Messages, s), engine: engine}
}

// grow adds the new messages of a request.
func (s *planState) grow(d *reading) {
	messages := d.planned()
	if stable := min(d.chain.Skip+d.chain.Stable, len(messages)); d.verdict.New != "" || d.earlier.begin.cold {
		s.state.Add(messages[s.state.Len():max(stable, s.state.Len())]...)
		if d.verdict.New != "" {
			s.state.Cold(d.verdict.New, 0)
		} else {
			s.state.Cold(trim.Gap, d.earlier.begin.keep)
		}
	}
	s.state.Add(messages[s.state.Len():]...)
	s.formed, s.begin, s.cold = false, d.earlier.begin, d.verdict.New != "" || d.earlier.begin.cold || d.earlier.begin.whole
}
