package replay

import (
	"slices"

	"github.com/stet-dev/stet/tokens"
)

// reported gives the blocks the sizes that the provider reported, as far as it
// did. One token of text stands for as many as the session's requests grew by
// for each (tokens.Calibration). What a request grew by beyond that is not
// recorded (reasoning that is not shown, mostly): it is laid to the first block
// that came with it, and no policy can cut it. Where a request grew by less, the
// text that came with it counts for less. What the first request held beyond its
// text are tools and system prompt. It reports false, and changes nothing, where
// fewer than four in five requests were reported.
func (r *recording) reported() bool {
	n := 0
	for i := range r.requests {
		if r.usage(i) > 0 {
			n++
		}
	}
	if n == 0 || 5*n < 4*len(r.requests) {
		return false
	}
	steps := r.growth()
	var c tokens.Calibration
	for _, s := range steps {
		if !s.first {
			c.Grow(s.text, s.grown)
		}
	}
	slope := c.Slope()
	r.hidden, r.scale = make([]int, len(r.blocks)), slices.Repeat([]float64{slope}, len(r.blocks))
	if len(steps) > 0 && steps[0].first {
		r.fixed = max(0, steps[0].grown-int(slope*float64(steps[0].text)))
	}
	total := 0
	for _, s := range steps {
		if s.first {
			total = r.fixed
		}
		grown, text := s.size-total, int(slope*float64(s.text))
		if grown >= text {
			r.hidden[s.from] = grown - text
		} else if text > 0 {
			const least = 0.3 // of a text's tokens, however little was reported
			scale := slope * max(least, float64(grown)/float64(text))
			for at := s.from; at < s.to; at++ {
				r.scale[at] = scale
			}
		}
		for at := s.from; at < s.to; at++ {
			total += r.block(at).tokens
		}
	}
	return true
}

// step is what came between two requests of a context whose sizes were
// reported, or with the first of them.
type step struct {
	from, to    int // blocks
	text        int // their tokens
	size, grown int // the reported size, and what it grew by
	first       bool
}

func (r *recording) growth() []step {
	var out []step
	from, last, before := -1, 0, 0
	for i := range r.requests {
		q := &r.requests[i]
		if q.from != from {
			from, last, before = q.from, r.first[q.from], 0
		}
		s := step{from: last, to: r.first[q.to], size: r.usage(i), first: before == 0}
		if s.size == 0 || s.from == s.to {
			continue
		}
		s.grown = s.size - before
		for _, b := range r.blocks[s.from:s.to] {
			s.text += b.tokens
		}
		out = append(out, s)
		last, before = s.to, s.size
	}
	return out
}

// usage returns the size that was reported of a request; 0: none was.
func (r *recording) usage(i int) int {
	if u := r.session.Messages[r.requests[i].to].Usage; u != nil {
		return u.Prompt()
	}
	return 0
}
