package replay

import (
	"slices"

	"github.com/stet-dev/stet/llm/tokens"
)

// Measure says how many tokens the parts of a session have. The zero Measure is what was counted
// of their texts, without tools and system prompt.
type Measure struct {
	Fixed int // tokens of tools and system prompt that are not recorded

	scale  []float64 // by part: tokens for each that was counted; nil: one
	hidden []int     // by part: tokens beside these
}

// Scaled returns the tokens of a part of whose text, or of the placeholder in its place, so many
// were counted.
func (m *Measure) Scaled(part, counted int) int {
	if m.scale == nil {
		return counted
	}
	return int(float64(counted)*m.scale[part]+0.5) + m.hidden[part]
}

// Reported returns the sizes that the provider reported, as
// far as it did. A counted token of text becomes as many as the session's requests
// grew by for each (tokens.Calibration). If a request grew by more, the rest is not
// recorded (mostly reasoning that is not shown): it is added to the first part that
// came with the request, and no policy can leave it out. If a request grew by less,
// the text that came with it counts for less. What the first request held beyond
// its text are tools and system prompt. It is false where fewer than four in five
// requests were reported.
func (r *Replay) Reported() (m Measure, ok bool) {
	n := 0
	for i := range r.Requests {
		if reportedSize(r, i) > 0 {
			n++
		}
	}
	if n == 0 || 5*n < 4*len(r.Requests) {
		return Measure{}, false
	}
	steps := growth(r)
	var c tokens.Calibration
	for _, s := range steps {
		if !s.isFirst {
			c.Grow(s.text, s.grown)
		}
	}
	slope := c.Slope()
	m = Measure{r.Fixed, slices.Repeat([]float64{slope}, len(r.Parts)), make([]int, len(r.Parts))}
	if len(steps) > 0 && steps[0].isFirst {
		m.Fixed = max(0, steps[0].grown-int(slope*float64(steps[0].text)))
	}
	total := 0
	for _, s := range steps {
		if s.isFirst {
			total = m.Fixed
		}
		grown, text := s.size-total, int(slope*float64(s.text))
		if grown >= text {
			m.hidden[s.from] = grown - text
		} else if text > 0 {
			const least = 0.3 // of a text's tokens, however little was reported
			for part := s.from; part < s.to; part++ {
				m.scale[part] = slope * max(least, float64(grown)/float64(text))
			}
		}
		for part := s.from; part < s.to; part++ {
			total += m.Scaled(part, r.Counted(part))
		}
	}
	return m, true
}

// step is what came between two requests of a context whose sizes were
// reported, or with the first of them.
type step struct {
	from, to    int // parts
	text        int // their counted tokens
	size, grown int // the reported size, and what it grew by
	isFirst     bool
}

func growth(r *Replay) []step {
	var out []step
	from, last, before := -1, 0, 0
	for i := range r.Requests {
		q := &r.Requests[i]
		if q.From != from {
			from, last, before = q.From, r.Begin(q), 0
		}
		s := step{from: last, to: r.End(q), size: reportedSize(r, i), isFirst: before == 0}
		if s.size == 0 || s.from == s.to {
			continue
		}
		s.grown = s.size - before
		for part := s.from; part < s.to; part++ {
			s.text += r.Counted(part)
		}
		out = append(out, s)
		last, before = s.to, s.size
	}
	return out
}

// reportedSize returns the tokens that were reported of request i; 0: none were.
func reportedSize(r *Replay, i int) int {
	if u := r.Usage(i); u != nil {
		return u.Prompt()
	}
	return 0
}
