// Package sentform remembers how conversations were changed on their way to the provider, so that what
// was sent once is sent the same way again.
//
// Some providers check what stands before a block of thinking: a request is refused where it is not as it was
// when the block was made. So a form is never computed anew. It is repeated.
//
//   - A form is the set of edits with which the messages of a request went upstream: placeholders, and texts
//     that were shortened. All other messages went as they came. A form adds edits to another one, its parent.
//   - A place is a point in a conversation whose messages before it are known to have one form. It is found by
//     the signature of thinking that was made there (ofSignature), or else by the hash of the messages before
//     it (package prefix). The messages may have been sent in several forms; a signature tells which it was.
//
// A form also says up to which result the provider was asked to clear what stands before.
//
// An edit is kept by the part that it replaces: its call, whether it is the result or the arguments, and a hash of its
// text. So it applies to the part wherever it stands. What goes to a store is sealed with a key that is made
// of the replaced text: only a process that has the conversation can read it.
//
// [Memory] holds the newest forms, in bounded memory, and asks a record.Store for others.
package sentform

import (
	"cmp"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/stet-dev/stet/internal/prefix"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
)

// Edit is an edit of a request, with what was said about it.
type Edit struct {
	llm.Edit
	Reason string // a history.Reason
}

// Form says how messages were sent. It never changes. nil is the form of messages that went as they came.
type Form struct {
	id     uint64
	parent *Form
	rules  int
	edits  map[uint64]value // of this form alone, by the key of the part
	size   int64            // bytes of edits

	// These belong to the lock of Memory.
	users  int  // places and forms that name it
	stored bool // a store has it
}

// value is what took the place of a part.
type value struct {
	text, reason string
	sealed       []byte // not nil: text and reason are in it
}

// Rules is the number of the rules that the form was made by.
func (f *Form) Rules() int {
	if f == nil {
		return 0
	}
	return f.rules
}

// Empty reports whether all messages went as they came.
func (f *Form) Empty() bool { return f == nil }

// adds reports whether f is other, or adds to it.
func (f *Form) adds(other *Form) bool {
	for ; f != nil; f = f.parent {
		if other != nil && f.id == other.id {
			return true
		}
	}
	return other == nil
}

// Conversation is the messages of a request.
type Conversation struct {
	messages []llm.Message
	chain    *prefix.Chain // of them
	parts    []part        // of them; nil: they are not listed yet
}

// Of returns the conversation of messages. It serves one goroutine.
func Of(messages []llm.Message, chain *prefix.Chain) *Conversation {
	return &Conversation{messages: messages, chain: chain}
}

// Last is the index of the model's last message, and 0 if there is none.
func (c *Conversation) Last() int {
	i := len(c.messages) - 1
	for i > 0 && c.messages[i].Role != llm.Assistant {
		i--
	}
	return max(0, i)
}

// listed are the parts of the conversation.
func (c *Conversation) listed() []part {
	if c.parts == nil {
		c.parts = partsOf(c.messages)
	}
	return c.parts
}

// at is what stands at a place in the conversation.
func (c *Conversation) at(p part) *llm.Part { return &c.messages[p.message].Parts[p.part] }

// part is a result, or the arguments of a call, in a request.
type part struct {
	key           uint64
	message, part int
}

// partsOf lists what can have been edited in messages. A part that comes several times has a key for each time.
func partsOf(messages []llm.Message) (out []part) {
	times := map[uint64]uint64{}
	var h prefix.Hasher
	for i := range messages {
		for j := range messages[i].Parts {
			p := &messages[i].Parts[j]
			if p.Kind != llm.ToolResult && p.Kind != llm.ToolCall {
				continue
			}
			h.Reset()
			h.Number(uint64(p.Kind))
			h.Text(p.CallID)
			h.Text(original(p))
			key := h.Sum64()
			times[key]++
			out = append(out, part{key + (times[key]-1)*0x9e3779b97f4a7c15, i, j})
		}
	}
	return out
}

// original is the text of a part that an edit replaces; of arguments, whoever wrote them.
func original(p *llm.Part) string {
	if p.Kind == llm.ToolCall {
		return prefix.Arguments(p.Args)
	}
	return p.Text
}

// Extend returns the form of a conversation whose messages before from went in form f, and the others with edits. Those
// of messages before from do not count. cleared is of how many calls the provider was asked to clear the results, if
// f does not say it yet; else 0.
func (f *Form) Extend(c *Conversation, from int, edits []Edit, rules, cleared int) *Form {
	mark, clears := c.lastResult(cleared)
	if len(edits) == 0 && !clears {
		return f
	}
	next := &Form{parent: f, rules: rules, edits: make(map[uint64]value, len(edits))}
	at := map[[2]int]uint64{}
	for _, p := range c.listed() {
		at[[2]int{p.message, p.part}] = p.key
	}
	var h prefix.Hasher
	if f != nil {
		h.Number(f.id)
	}
	for _, e := range edits {
		key, ok := at[[2]int{e.Message, e.Part}]
		if !ok || e.Message < from {
			continue
		}
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
	if len(next.edits) == 0 {
		return f
	}
	next.id = max(1, h.Sum64())
	return next
}

const (
	clearedMark   = 0x2b7e151628aed2a6 // tells the key of a result, up to which results were cleared, from that of its edit
	clearedReason = "cleared up to here"
)

// lastResult is the mark of the last one among the results of the first calls. ok is false where there is none.
func (c *Conversation) lastResult(calls int) (mark uint64, ok bool) {
	n, last := 0, -1 // calls so far; the message of the model that has the last of them
	for _, at := range c.listed() {
		switch {
		case c.at(at).Kind == llm.ToolCall && n < calls:
			n, last = n+1, at.message
		case c.at(at).Kind == llm.ToolCall && at.message > last:
			return mark, ok
		case c.at(at).Kind == llm.ToolResult && n > 0:
			mark, ok = at.key^clearedMark, calls > 0
		}
	}
	return mark, ok
}

// ofSignature is the place of an answer that has a block of thinking with this signature. ok is false for one
// that tells nothing.
func ofSignature(signature string) (place uint64, ok bool) {
	const least = 16 // bytes; what is shorter may be a constant
	return xxh3.HashString("signature\x00" + signature), len(signature) >= least
}

// ofRequest is the place of an answer to a request, by the hash of its messages.
func ofRequest(chain uint64) uint64 { return chain ^ 0x5e27f0a1c3d98b64 }

// places are those of the answer that is message i of a conversation: of its signatures, and of the request.
func (c *Conversation) places(i int) (signed []uint64, request uint64) {
	for j := range c.messages[i].Parts {
		if p := &c.messages[i].Parts[j]; p.Kind == llm.Thinking {
			if place, ok := ofSignature(signature(p.Raw)); ok {
				signed = append(signed, place)
			}
		}
	}
	return signed, ofRequest(c.chain.Links[i-c.chain.Skip-1])
}

// sorted are the keys of a form's own edits.
func (f *Form) sorted() []uint64 {
	keys := make([]uint64, 0, len(f.edits))
	for key := range f.edits {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// newestFirst orders places.
func newestFirst(a, b record.SentPlace) int {
	return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(a.Form, b.Form))
}
