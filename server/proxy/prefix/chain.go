// Package prefix tells which requests begin alike. It hashes what identifies the provider's prompt cache: the tools, the system
// text and the messages.
//
// Some parts of a request change each time although the conversation is the same. They are neither hashed nor measured: thinking,
// which agents leave out later; cache markers, which move; tools that the model has to search for; and the provider's accounting
// header.
package prefix

import (
	"encoding/binary"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/stet-dev/stet/llm"
)

// Chain has the hashes of a request's messages. Two requests with the same Links[i] begin with the same messages. The hashes are
// the same in every process, because they are stored.
type Chain struct {
	System uint64   // of the leading system messages
	Skip   int      // number of the leading system messages
	Links  []uint64 // Links[i] is for the messages 0 to i after the leading system messages
	User   int      // index into Links of the first message of the user; len(Links) if there is none
	Answer int      // the same for the model
	Stable int      // number of Links whose messages will be sent again: up to the model's last one, or all if there is none
}

// Answered reports whether the model has answered in the conversation.
func (c *Chain) Answered() bool { return c.Answer < len(c.Links) }

// End returns the hash of the messages that will be sent again, or 0. Messages after the model's last one may be removed, merged
// with the next prompt, or lose the agent's reminders.
func (c *Chain) End() uint64 {
	if c.Stable == 0 {
		return 0
	}
	return c.Links[c.Stable-1]
}

// Last returns the hash of all messages, or 0.
func (c *Chain) Last() uint64 {
	if len(c.Links) == 0 {
		return 0
	}
	return c.Links[len(c.Links)-1]
}

// Extends reports whether c begins with all messages of before.
func (c *Chain) Extends(before *Chain) bool {
	n := len(before.Links)
	return n <= len(c.Links) && (n == 0 || c.Links[n-1] == before.Links[n-1])
}

// ChainOf hashes messages. The first same messages are those of the chain before, which may be nil if same is 0.
func ChainOf(messages []llm.Message, before *Chain, same int) Chain {
	var c Chain
	var h Hasher
	for c.Skip < len(messages) && messages[c.Skip].Role == llm.System {
		h.Message(&messages[c.Skip])
		c.Skip++
	}
	c.System = h.Sum64()
	rest := messages[c.Skip:]
	c.Links = make([]uint64, len(rest))
	c.User, c.Answer = len(rest), len(rest)
	from := 0
	if same -= c.Skip; same > 0 && before.Skip == c.Skip {
		from = copy(c.Links, before.Links[:same])
		if before.User < from {
			c.User = before.User
		}
		if before.Answer < from {
			c.Answer = before.Answer
		}
	}
	last := uint64(0)
	if from > 0 {
		last = c.Links[from-1]
	}
	for i := from; i < len(rest); i++ {
		h.Reset()
		h.Number(last)
		h.Message(&rest[i])
		last = h.Sum64()
		c.Links[i] = last
		switch rest[i].Role {
		case llm.User:
			c.User = min(c.User, i)
		case llm.Assistant:
			c.Answer = min(c.Answer, i)
		}
	}
	c.Stable = len(rest)
	for c.Answered() && rest[c.Stable-1].Role != llm.Assistant {
		c.Stable--
	}
	return c
}

// Tools hashes the tools that a request offers.
func Tools(req *llm.Request) uint64 {
	var h Hasher
	for i := range req.Tools {
		t := &req.Tools[i]
		if t.Deferred {
			continue
		}
		h.Text(t.Name)
		h.Text(t.Description)
		h.Text(string(t.Schema))
	}
	return h.Sum64()
}

// ToolsSize returns the bytes of text of a request's tools.
func ToolsSize(req *llm.Request) (n int) {
	for i := range req.Tools {
		tool := &req.Tools[i]
		if tool.Deferred {
			continue
		}
		n += len(tool.Name) + len(tool.Description) + len(tool.Schema)
	}
	return n
}

// TextSize returns the bytes of text of a message.
func TextSize(m *llm.Message) (n int) {
	for i := range m.Parts {
		part := &m.Parts[i]
		if part.Kind == llm.Thinking || m.Role == llm.System && Volatile(part.Text) {
			continue
		}
		n += len(part.Text) + len(part.Name) + len(part.Args)
	}
	return n
}

// Volatile reports whether a system text is the provider's accounting header. It changes with every request, and the cache ignores
// it.
func Volatile(text string) bool { return strings.HasPrefix(text, "x-anthropic-billing-header:") }

// Hasher hashes parts of requests. It does not protect against a person who looks for two conversations with equal hashes. That is
// no risk: a plan made for another conversation reveals nothing of it.
type Hasher struct{ xxh3.Hasher }

// Message hashes the words, calls and results of m.
func (h *Hasher) Message(m *llm.Message) {
	h.Text(string(m.Role))
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Kind == llm.Thinking || m.Role == llm.System && Volatile(p.Text) {
			continue
		}
		failed := uint64(0)
		if p.IsError {
			failed = 1
		}
		h.Number(uint64(p.Kind) | failed<<8)
		h.Text(p.Text)
		h.Text(p.CallID)
		h.Text(p.Name)
		h.Text(Arguments(p.Args))
	}
}

// Text hashes s with its length, so that adjacent texts cannot be confused.
func (h *Hasher) Text(s string) {
	h.Number(uint64(len(s)))
	_, _ = h.WriteString(s) // a Hasher returns no errors
}

// Number hashes n.
func (h *Hasher) Number(n uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], n)
	_, _ = h.Write(b[:])
}
