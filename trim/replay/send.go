package replay

import (
	"hash/maphash"
	"maps"
	"slices"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim/replay/check"
)

// Sender sends the requests of a session in their order to simulated caches.
type Sender struct {
	// Free, if not nil, holds by part the tokens that are not billed.
	Free []int

	replay       *Replay
	measure      *Measure
	caches       []Cache
	from         int    // the first message of the context
	root         uint64 // of the model of the last request
	last         prompt
	placeholders map[int]placeholder // by part
	recalled     []recalled          // of the context, in order
}

// recalled is a text that the agent asked for again: a call and its result.
type recalled struct {
	block
	before int // the part after it
}

// Sent is a request that was sent.
type Sent struct {
	Tokens  int
	Bills   []Bill // by cache; valid until the next request
	Changed bool   // something that the last request of this context and model held was sent differently
}

// prompt is a request as a provider's cache sees it: a list of blocks, each known
// by the hash of everything up to its end.
type prompt struct {
	chain   []uint64 // by block: the hash of the blocks up to it
	sum     []int    // by block: the tokens of the blocks up to it
	kept    int      // the number of blocks that the request before began with as well
	dropped []uint64 // chain of that request's other blocks
}

// block is one part as it is sent.
type block struct {
	hash   uint64
	tokens int
}

type placeholder struct {
	text string
	block
}

// nextPrompt returns the prompt of these blocks, which is sent after the prompt
// before.
func nextPrompt(before *prompt, root uint64, blocks []block) prompt {
	p := prompt{chain: make([]uint64, len(blocks)), sum: make([]int, len(blocks))}
	chain, sum := root, 0
	for i, b := range blocks {
		chain = join(chain, b.hash)
		sum += b.tokens
		p.chain[i], p.sum[i] = chain, sum
	}
	for p.kept < len(before.chain) && p.kept < len(blocks) && before.chain[p.kept] == p.chain[p.kept] {
		p.kept++
	}
	p.dropped = before.chain[p.kept:]
	return p
}

// NewSender returns a sender that bills by these caches, and r's measure.
func (r *Replay) NewSender(caches ...Cache) *Sender { return r.newSender(&r.Measure, caches) }

func (r *Replay) newSender(m *Measure, caches []Cache) *Sender {
	s := &Sender{replay: r, measure: m, from: -1, placeholders: make(map[int]placeholder)}
	for _, c := range caches {
		c.fixed = m.Fixed
		s.caches = append(s.caches, c)
	}
	return s
}

// clone returns a sender that has sent what s has sent. Neither sees what the other sends later.
func (s *Sender) clone() *Sender {
	c := *s
	c.caches, c.placeholders = slices.Clone(s.caches), maps.Clone(s.placeholders)
	for i := range c.caches {
		c.caches[i].old, c.caches[i].marked = maps.Clone(c.caches[i].old), maps.Clone(c.caches[i].marked)
	}
	c.recalled = slices.Clone(s.recalled)
	return &c
}

// Send sends request i, in which placeholders stand for the omissions.
func (s *Sender) Send(i int, omissions []check.Omission) Sent { return s.send(i, omissions, false) }

// send is Send. again: it was sent a moment ago, without its last parts.
func (s *Sender) send(i int, omissions []check.Omission, again bool) Sent {
	r := s.replay
	q := &r.Requests[i]
	root := r.hash.root(q.Model)
	continues := q.From == s.from && root == s.root
	if q.From != s.from {
		s.recalled = nil
	}
	s.from, s.root = q.From, root

	blocks := slices.Clone(r.blocks[r.Begin(q):r.End(q)])
	next := 0
	for i := range blocks {
		at, size := r.Begin(q)+i, s.measure.Whole
		if next < len(omissions) && omissions[next].Part == at {
			blocks[i], size = s.placeholder(&omissions[next]), s.measure.Scaled
			next++
		}
		if s.Free != nil {
			blocks[i].tokens = max(0, blocks[i].tokens-s.Free[at])
		}
		blocks[i].tokens = size(at, blocks[i].tokens)
	}
	for n := len(s.recalled) - 1; n >= 0; n-- {
		c := &s.recalled[n]
		blocks = slices.Insert(blocks, c.before-r.Begin(q), c.block)
	}
	p := nextPrompt(&s.last, root, blocks)
	s.last = p

	out := Sent{Tokens: s.measure.Fixed + p.size(), Changed: continues && len(p.dropped) > 0}
	for n := range s.caches {
		out.Bills = append(out.Bills, s.bill(&s.caches[n], i, &p, again))
	}
	return out
}

// bill has a cache bill request i. What the recording shows is of the first time that it was sent.
func (s *Sender) bill(c *Cache, i int, p *prompt, again bool) Bill {
	q := &s.replay.Requests[i]
	if !c.Recorded || !s.replay.shownAt(i).known {
		return c.send(p, q.Sent, q.Answered)
	}
	shown := s.replay.shownAt(i)
	if shown.alive || again {
		return c.send(p, time.Time{}, q.Answered)
	}
	fixed, part := s.replay.upToShare(i, shown.share, s.measure)
	return c.sendWithin(p, time.Time{}, q.Answered, fixed, s.blocksBefore(part))
}

// blocksBefore returns how many blocks of the request are before a part.
func (s *Sender) blocksBefore(part int) int {
	n := part - s.replay.First[s.from]
	for _, c := range s.recalled {
		if c.before <= part {
			n++
		}
	}
	return n
}

// recallCall is how many tokens the call has by which an agent asks for a text again.
const recallCall = 80

// Recall sends request i as the agent does that has first asked for a part again. From
// then on, the requests of the context hold that call and what was asked for.
func (s *Sender) Recall(i int, part int, omissions []check.Omission) Sent {
	r := s.replay
	tokens := s.measure.Whole(part, r.blocks[part].tokens) + recallCall
	hash := join(r.blocks[part].hash, uint64(len(s.recalled)+1))
	s.recalled = append(s.recalled, recalled{block{hash, tokens}, r.End(&r.Requests[i])})
	return s.send(i, omissions, true)
}

// placeholder returns the block in place of a part.
func (s *Sender) placeholder(o *check.Omission) block {
	if have, ok := s.placeholders[o.Part]; ok && have.text == o.Placeholder {
		return have.block
	}
	recorded := s.replay.Parts[o.Part]
	p := withText(recorded.Part, o.Placeholder)
	b := s.replay.block(recorded.Message.Role, &p)
	s.placeholders[o.Part] = placeholder{o.Placeholder, b}
	return b
}

// withText returns p with its text, or its arguments, replaced: what llm.Apply
// does to one part.
func withText(p *llm.Part, text string) llm.Part {
	q := *p
	if q.Kind == llm.ToolCall {
		q.Args = text
	} else {
		q.Text = text
	}
	return q
}

// size returns the tokens of the prompt.
func (p *prompt) size() int { return p.upTo(len(p.sum)) }

// upTo returns the tokens of the first n blocks.
func (p *prompt) upTo(n int) int {
	if n == 0 {
		return 0
	}
	return p.sum[n-1]
}

func (r *Replay) block(role llm.Role, p *llm.Part) block {
	return block{r.hash.part(role, p), r.count(p)}
}

// join mixes a hash into a chain (a round of the splitmix64 generator).
func join(chain, h uint64) uint64 {
	z := chain*0x9e3779b97f4a7c15 + h
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// hasher hashes parts. Equal parts of messages of one role have equal hashes
// within one process.
type hasher struct{ seed maphash.Seed }

func newHasher() hasher { return hasher{maphash.MakeSeed()} }

func (h hasher) part(role llm.Role, p *llm.Part) uint64 {
	var m maphash.Hash
	m.SetSeed(h.seed)
	for _, s := range [...]string{string(role), p.Text, p.CallID, p.Name, p.Args, p.Raw} {
		m.WriteString(s)
		m.WriteByte(0)
	}
	m.WriteByte(byte(p.Kind))
	return m.Sum64()
}

// root returns the hash with which the chains of a model begin.
func (h hasher) root(model string) uint64 { return maphash.String(h.seed, model) }
