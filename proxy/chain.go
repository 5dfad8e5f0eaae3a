package proxy

import (
	"encoding/binary"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/stet-dev/stet/llm"
)

// chain is what a request's messages hash to. links[i] stands for messages 0
// to i after the leading system text, so that two requests with the same links[i]
// begin alike. The hashes are the same in every process: what is stored goes by
// them.
type chain struct {
	system uint64 // of the leading system messages
	skip   int    // how many these are
	links  []uint64
	user   int // index into links of the first user message; len(links) if none
	answer int // likewise of the first assistant message
	stable int // how many links stand for messages that come again: up to the last of the assistant, all if there is none
}

// told reports whether the model has answered in the conversation.
func (c *chain) told() bool { return c.answer < len(c.links) }

// end is the hash of the messages that come again, 0 if there are none. What was
// asked last may be taken back, merged with what is asked next or lose the
// agent's reminders.
func (c *chain) end() uint64 {
	if c.stable == 0 {
		return 0
	}
	return c.links[c.stable-1]
}

// chainOf hashes what is the same in every request of a conversation: words,
// calls and results, not reasoning (which agents drop) nor the markers that
// move along. The first same messages are those that before is the chain of.
func chainOf(messages []llm.Message, before *chain, same int) chain {
	var c chain
	var h hasher
	for c.skip < len(messages) && messages[c.skip].Role == llm.System {
		h.message(&messages[c.skip])
		c.skip++
	}
	c.system = h.Sum64()
	rest := messages[c.skip:]
	c.links = make([]uint64, len(rest))
	c.user, c.answer = len(rest), len(rest)
	from := 0
	if same -= c.skip; same > 0 && before.skip == c.skip {
		from = copy(c.links, before.links[:same])
		if before.user < from {
			c.user = before.user
		}
		if before.answer < from {
			c.answer = before.answer
		}
	}
	last := uint64(0)
	if from > 0 {
		last = c.links[from-1]
	}
	for i := from; i < len(rest); i++ {
		h.Reset()
		h.number(last)
		h.message(&rest[i])
		last = h.Sum64()
		c.links[i] = last
		switch rest[i].Role {
		case llm.User:
			c.user = min(c.user, i)
		case llm.Assistant:
			c.answer = min(c.answer, i)
		}
	}
	c.stable = len(rest)
	for c.told() && rest[c.stable-1].Role != llm.Assistant {
		c.stable--
	}
	return c
}

// last is the hash of all messages, 0 if there are none.
func (c *chain) last() uint64 {
	if len(c.links) == 0 {
		return 0
	}
	return c.links[len(c.links)-1]
}

// hasher hashes the words of a conversation. It is no defence against somebody
// who looks for two that hash alike: a plan made by another's moments shows
// nothing of theirs.
type hasher struct{ xxh3.Hasher }

func (h *hasher) message(m *llm.Message) {
	h.text(string(m.Role))
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Kind == llm.Thinking || m.Role == llm.System && volatile(p.Text) {
			continue
		}
		failed := uint64(0)
		if p.IsError {
			failed = 1
		}
		h.number(uint64(p.Kind) | failed<<8)
		h.text(p.Text)
		h.text(p.CallID)
		h.text(p.Name)
		h.text(p.Args)
	}
}

// volatile reports whether a system text is a header for the provider's own
// accounting: it is new in every request, and its cache does not go by it.
func volatile(text string) bool { return strings.HasPrefix(text, "x-anthropic-billing-header:") }

// text hashes s with its length, so that neighbours do not run together.
func (h *hasher) text(s string) {
	h.number(uint64(len(s)))
	_, _ = h.WriteString(s) // a Hasher returns no errors
}

func (h *hasher) number(n uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], n)
	_, _ = h.Write(b[:])
}

// toolsHash hashes what the request offers the model to call. Tools that are deferred
// are not hashed: the provider's cache does not go by them.
func toolsHash(req *llm.Request) uint64 {
	var h hasher
	for i := range req.Tools {
		t := &req.Tools[i]
		if t.Deferred {
			continue
		}
		h.text(t.Name)
		h.text(t.Description)
		h.text(string(t.Schema))
	}
	return h.Sum64()
}
