package proxy

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/stet-dev/stet/llm"
)

// chain is what a request's messages hash to. links[i] stands for messages 0
// to i after the leading system text, so that two requests with the same links[i]
// begin alike. Hashes hold within the process only.
type chain struct {
	system uint64 // of the leading system messages
	skip   int    // how many these are
	links  []uint64
	user   int // index into links of the first user message; len(links) if none
	answer int // likewise of the first assistant message
}

// chainOf hashes what is the same in every request of a conversation: words,
// calls and results, not reasoning (which agents drop) nor the markers that
// move along.
func chainOf(seed maphash.Seed, messages []llm.Message) chain {
	var c chain
	var h maphash.Hash
	h.SetSeed(seed)
	for c.skip < len(messages) && messages[c.skip].Role == llm.System {
		hashMessage(&h, &messages[c.skip])
		c.skip++
	}
	c.system = h.Sum64()
	rest := messages[c.skip:]
	c.links = make([]uint64, len(rest))
	c.user, c.answer = len(rest), len(rest)
	last := uint64(0)
	for i := range rest {
		h.Reset()
		hashNumber(&h, last)
		hashMessage(&h, &rest[i])
		last = h.Sum64()
		c.links[i] = last
		switch rest[i].Role {
		case llm.User:
			c.user = min(c.user, i)
		case llm.Assistant:
			c.answer = min(c.answer, i)
		}
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

func hashMessage(h *maphash.Hash, m *llm.Message) {
	hashString(h, string(m.Role))
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Kind == llm.Thinking {
			continue
		}
		_ = h.WriteByte(byte(p.Kind)) // a Hash returns no errors
		hashString(h, p.Text)
		hashString(h, p.CallID)
		hashString(h, p.Name)
		hashString(h, p.Args)
	}
}

// hashString hashes s with its length, so that neighbours do not run together.
func hashString(h *maphash.Hash, s string) {
	hashNumber(h, uint64(len(s)))
	_, _ = h.WriteString(s)
}

func hashNumber(h *maphash.Hash, n uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], n)
	_, _ = h.Write(b[:])
}
