// Package sent remembers how conversations were changed on their way to the provider, so that the same messages are sent in the
// same way again.
//
// A change in what was sent makes a provider write its cache again. Some providers also check what comes before a thinking block: they
// refuse a request in which it has changed since the block was made. So a form is repeated, and never computed again.
//
//   - A form is the set of edits with which the messages of a request were sent upstream: placeholders, and shortened
//     texts. All other messages were sent unchanged. A form adds edits to another form, its parent.
//   - A place is a point in a conversation at which the form of the earlier messages is known. It is found by
//     the signature of thinking that was made there (ofSignature), or by the hash of the earlier messages
//     (package prefix). The messages may have been sent in several forms; a signature shows in which one.
//
// A form also records up to which result the provider was asked to clear earlier results.
//
// An edit is stored by the part that it replaces: the part's call, whether it is the result or the arguments, and a hash of its
// text. So it applies to the part at any position. What is written to a store is encrypted with a key made from the replaced text:
// only a process that has the conversation can read it.
//
// [Memory] has the newest forms, in bounded memory, and reads others from a record.Store.
package sent

import (
	"cmp"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/proxy/prefix"
)

// Edit is an edit of a request, with its reason.
type Edit struct {
	llm.Edit
	Reason string // a trim.Reason
}

// Form says how messages were sent. It never changes. nil means that all messages were sent unchanged.
type Form struct {
	id     uint64
	parent *Form
	edits  map[uint64]value // only of this form, by the key of the part
	size   int64            // bytes of edits
	epoch  uint64           // the id of the form that began its epoch; 0: there is none

	// Memory's lock guards these.
	users  int    // places and forms that refer to it
	stored bool   // it is in a store
	packed []byte // its edits as they are stored; nil: not made, or stored
}

// value is the replacement of a part.
type value struct {
	text, reason string
	sealed       []byte // not nil: text and reason are in it, encrypted
	plain        []byte // not nil: no text of the conversation; it is stored as it is
}

// Empty reports whether all messages were sent unchanged.
func (f *Form) Empty() bool { return f == nil }

// Same reports whether two forms are the same.
func (f *Form) Same(other *Form) bool { return f.identity() == other.identity() }

// adds reports whether f is other or is based on it.
func (f *Form) adds(other *Form) bool {
	for ; f != nil; f = f.parent {
		if other != nil && f.id == other.id {
			return true
		}
	}
	return other == nil
}

// Conversation has the messages of a request.
type Conversation struct {
	messages []llm.Message
	chain    *prefix.Chain // of them
	answers  []int         // indexes of the model's messages, the last one first
	parts    []part        // their parts; nil: not listed yet
	before   []part        // parts of the first same messages, which are those of an earlier request
	same     int

	lookedUp bool                      // the store was asked for its places
	news     map[record.SentPlace]bool // what it said that memory did not know
}

// Of returns the conversation of messages. It must be used by one goroutine. Its first same messages are those of before, which may be
// nil if same is 0.
func Of(messages []llm.Message, chain *prefix.Chain, before *Conversation, same int) *Conversation {
	c := &Conversation{messages: messages, chain: chain, answers: make([]int, 0, len(messages)/2)}
	for i := len(messages) - 1; i > chain.Skip; i-- {
		if messages[i].Role == llm.Assistant {
			c.answers = append(c.answers, i)
		}
	}
	if before != nil {
		c.before, c.same = before.parts, same
	}
	return c
}

// Parts returns c with its parts alone, to be held with its request.
func (c *Conversation) Parts() *Conversation { return &Conversation{parts: c.parts} }

// Last returns the index of the model's last message, or 0.
func (c *Conversation) Last() int {
	i := len(c.messages) - 1
	for i > 0 && c.messages[i].Role != llm.Assistant {
		i--
	}
	return max(0, i)
}

// listed returns the parts of the conversation.
func (c *Conversation) listed() []part {
	if c.parts == nil {
		c.parts = partsOf(c.messages, c.before, c.same)
	}
	return c.parts
}

// at returns the part at a place in the conversation.
func (c *Conversation) at(p part) *llm.Part { return &c.messages[p.message].Parts[p.part] }

// part is the place of a result, of a call's arguments, or of thinking that can be removed, in a request.
type part struct {
	key           uint64 // different for each occurrence of a repeated part
	hash          uint64 // the same for all of them
	message, part int
}

// partsOf lists the parts that may have been edited. before has those of the first same messages, and perhaps of others.
func partsOf(messages []llm.Message, before []part, same int) []part {
	n := 0
	for n < len(before) && before[n].message < same {
		n++
	}
	from := 0
	if n > 0 {
		from = same
	}
	out := append(make([]part, 0, n+n/4+8), before[:n]...)
	times := make(map[uint64]uint64, n+8) // by hash: occurrences so far
	if from < len(messages) {
		for i := range out {
			times[out[i].hash]++
		}
	}
	var h prefix.Hasher
	for i := from; i < len(messages); i++ {
		for j := range messages[i].Parts {
			p := &messages[i].Parts[j]
			if p.Kind != llm.ToolResult && p.Kind != llm.ToolCall && !(p.Kind == llm.Thinking && p.Span.Valid()) {
				continue
			}
			h.Reset()
			h.Number(uint64(p.Kind))
			h.Text(p.CallID)
			h.Text(original(p))
			hash := h.Sum64()
			times[hash]++
			out = append(out, part{hash + (times[hash]-1)*0x9e3779b97f4a7c15, hash, i, j})
		}
	}
	return out
}

// original returns the text that an edit replaces; arguments are normalised. Of thinking it is the signature.
func original(p *llm.Part) string {
	switch p.Kind {
	case llm.ToolCall:
		return prefix.Arguments(p.Args)
	case llm.Thinking:
		return signature(p.Raw)
	}
	return p.Text
}

// Added says what a request adds to the form in which its first messages were sent.
type Added struct {
	From    int    // the messages before this one were sent in that form
	Edits   []Edit // of the others
	Cleared int    // calls whose results the provider is asked to clear, if the form does not have it yet; otherwise 0
	Epoch   bool   // the others were planned at a cold point
	Balance []byte // the account of the engine
}

// Extend returns form f with what is added to it.
func (f *Form) Extend(c *Conversation, a Added) *Form {
	from, edits := a.From, a.Edits
	mark, clears := c.lastResult(a.Cleared)
	if len(edits) == 0 && !clears && !a.Epoch {
		return f
	}
	next := &Form{parent: f, edits: make(map[uint64]value, len(edits))}
	parts := c.listed()
	var h prefix.Hasher
	if f != nil {
		h.Number(f.id)
	}
	for _, e := range edits {
		i, ok := slices.BinarySearchFunc(parts, e.Edit, func(p part, e llm.Edit) int {
			return cmp.Or(cmp.Compare(p.message, e.Message), cmp.Compare(p.part, e.Part))
		})
		if !ok || e.Message < from {
			continue
		}
		key := parts[i].key
		next.edits[key] = value{text: e.Text, reason: e.Reason}
		next.size += int64(len(e.Text)+len(e.Reason)) + 64
		h.Number(key)
		h.Text(e.Text)
	}
	if clears {
		next.edits[mark] = value{reason: clearedReason}
		next.size += 64
		h.Number(mark)
	}
	if a.Epoch {
		next.edits[epochMark] = value{plain: []byte{1}}
		h.Number(epochMark)
	}
	if len(next.edits) == 0 {
		return f
	}
	if len(a.Balance) > 0 {
		next.edits[balanceMark] = value{plain: a.Balance}
		h.Text(string(a.Balance))
	}
	next.id = max(1, h.Sum64())
	return next.inEpoch()
}

// Epoch returns the number of the cold point at which a form was begun; 0: there was none. All requests of an epoch are alike in their
// common messages.
func (f *Form) Epoch() uint64 {
	if f == nil {
		return 0
	}
	return f.epoch
}

// inEpoch returns f, whose id, parent and edits are set, with its epoch.
func (f *Form) inEpoch() *Form {
	f.epoch = f.parent.Epoch()
	if _, begins := f.edits[epochMark]; begins {
		f.epoch = f.id
	}
	return f
}

// Balance returns the account of the engine that was stored last with a form; nil: there is none.
func (f *Form) Balance() []byte {
	for ; f != nil; f = f.parent {
		if v, ok := f.edits[balanceMark]; ok {
			return v.plain
		}
	}
	return nil
}

const (
	epochMark     = 0x6c62272e07bb0142 // an epoch begins with the form
	balanceMark   = 0x62b821756295c58d // the account
	clearedMark   = 0x2b7e151628aed2a6 // separates the key of the clear mark at a result from the key of the result's edit
	clearedReason = "cleared up to here"
)

// lastResult returns the mark of the last result of the first calls. ok is false if there is none.
func (c *Conversation) lastResult(calls int) (mark uint64, ok bool) {
	if calls == 0 {
		return 0, false
	}
	n, last := 0, -1 // calls so far; index of the model's message with the last of them
	for _, at := range c.listed() {
		switch {
		case c.at(at).Kind == llm.ToolCall && n < calls:
			n, last = n+1, at.message
		case c.at(at).Kind == llm.ToolCall && at.message > last:
			return mark, ok
		case c.at(at).Kind == llm.ToolResult && n > 0:
			mark, ok = at.key^clearedMark, true
		}
	}
	return mark, ok
}

// ofSignature returns the place of an answer that has a thinking block with this signature. ok is false if the signature is too
// short to be unique.
func ofSignature(signature string) (place uint64, ok bool) {
	const least = 16 // in bytes; a shorter one may be a constant
	return xxh3.HashString("signature\x00" + signature), len(signature) >= least
}

// ofRequest returns the place of the answer to a request, by the hash of its messages.
func ofRequest(chain uint64) uint64 { return chain ^ 0x5e27f0a1c3d98b64 }

// places returns the places of the answer in message i: of its signatures, and of its request.
func (c *Conversation) places(i int) (signed []uint64, request uint64) {
	for j := range c.messages[i].Parts {
		if p := &c.messages[i].Parts[j]; p.Kind == llm.Thinking {
			if place, ok := ofSignature(signature(p.Raw)); ok {
				signed = append(signed, place)
			}
		}
	}
	return signed, c.placeBefore(i)
}

// placeBefore returns the place of the answer in message i, by the messages before it.
func (c *Conversation) placeBefore(i int) uint64 { return ofRequest(c.chain.Links[i-c.chain.Skip-1]) }

// newestFirst compares places by time, the newest first.
func newestFirst(a, b record.SentPlace) int {
	return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(a.Form, b.Form))
}
