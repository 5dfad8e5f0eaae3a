package replay

import (
	"hash/maphash"

	"github.com/stet-dev/stet/llm"
)

// prompt is a request as a provider's cache sees it: a row of blocks, each
// known by the hash of everything up to its end. It is changed from one request
// to the next, and tells the simulators from where on.
type prompt struct {
	chain []uint64 // of the blocks 0..i
	sum   []int    // tokens of the blocks 0..i

	root    uint64
	kept    int      // blocks that the request before had as well
	dropped []uint64 // chain of that request's other blocks
	pending []uint64 // the request before, if a reset came since
}

// block is one part as it is sent.
type block struct {
	hash   uint64
	tokens int
}

// size returns the size of the prompt.
func (p *prompt) size() int { return p.upTo(len(p.sum)) }

// upTo returns the tokens of the first n blocks.
func (p *prompt) upTo(n int) int {
	if n == 0 {
		return 0
	}
	return p.sum[n-1]
}

// begin starts the next request: the same blocks, for a cache of its own where
// root has changed (another model).
func (p *prompt) begin(root uint64) {
	p.dropped, p.pending = p.pending, nil
	p.kept = len(p.chain)
	if root != p.root {
		p.cut(0)
		p.root = root
	}
}

// cut removes the blocks from n on.
func (p *prompt) cut(n int) {
	if n >= len(p.chain) {
		return
	}
	if n < p.kept {
		p.dropped = append(append([]uint64(nil), p.chain[n:p.kept]...), p.dropped...)
		p.kept = n
	}
	p.chain, p.sum = p.chain[:n], p.sum[:n]
}

// add appends a block.
func (p *prompt) add(b block) {
	last := p.root
	if n := len(p.chain); n > 0 {
		last = p.chain[n-1]
	}
	p.chain = append(p.chain, join(last, b.hash))
	p.sum = append(p.sum, p.size()+b.tokens)
}

// settle moves blocks that were cut and added again, unchanged, back to those
// kept. Call it when the request is complete.
func (p *prompt) settle() {
	n := 0
	for n < len(p.dropped) && p.kept+n < len(p.chain) && p.dropped[n] == p.chain[p.kept+n] {
		n++
	}
	p.kept += n
	p.dropped = p.dropped[n:]
}

// join mixes a hash into a chain (a round of the splitmix64 generator).
func join(chain, h uint64) uint64 {
	z := chain*0x9e3779b97f4a7c15 + h
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// hasher hashes parts; equal parts of messages of one role have equal hashes
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

func (h hasher) root(model string) uint64 { return maphash.String(h.seed, model) }

// reset begins a new context: the next request has none of the blocks until
// they are added again.
func (p *prompt) reset() {
	if p.pending == nil {
		p.pending = append([]uint64(nil), p.chain...)
	}
	p.chain, p.sum = p.chain[:0], p.sum[:0]
}
