package replay

import (
	"cmp"
	"slices"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/tokens"
	"github.com/stet-dev/stet/trim/transcript"
)

// How large requests are: as their texts are counted, and as the provider reported.

// Size is how large one recorded request was, in tokens.
type Size struct {
	Answer   int    // index of the message that answered it
	Model    string // that answered, where it is known
	Estimate int    // of what is recorded of the request; tools and often system text are not
	Expected int    // before the answer, by what was reported until then; see tokens.Meter
	Reported int    // by the provider; 0 where nothing is recorded
	// Follows says that the request before it, of the same context and model,
	// was reported as well: Expected goes out from that.
	Follows bool
}

// Sizes returns the sizes of a session's requests, in order. What is reported
// teaches models, which holds a calibration per model and grows by the new ones.
func Sizes(s *transcript.Session, c tokens.Counter, models map[string]*tokens.Calibration) []Size {
	var all []Size
	var meter tokens.Meter
	estimate, start, known, model := 0, 0, false, ""
	for i := range s.Messages {
		m := &s.Messages[i]
		if start < len(s.Starts) && s.Starts[start] == i {
			start++
			estimate, known = 0, false
		}
		if m.Role == llm.Assistant && !m.Local && estimate > 0 && !slices.Contains(s.Carried, i) {
			size := Size{Answer: i, Model: m.Model, Estimate: estimate}
			if m.Usage != nil {
				size.Reported = m.Usage.Prompt()
			}
			if !known || m.Model != model {
				if models[m.Model] == nil {
					models[m.Model] = new(tokens.Calibration)
				}
				meter, model, known = tokens.Meter{Calibration: models[m.Model]}, m.Model, false
			}
			size.Expected, size.Follows = meter.Size(estimate), known
			meter.Observe(estimate, size.Reported)
			known = known || size.Reported > 0
			all = append(all, size)
		}
		estimate += tokens.CountMessage(m, c)
	}
	return all
}

// Off returns by what share of the reported size the expected one is off, never
// negative; false where none is reported.
func (s Size) Off() (float64, bool) {
	if s.Reported == 0 {
		return 0, false
	}
	off := float64(s.Expected-s.Reported) / float64(s.Reported)
	return max(off, -off), true
}

// Measure says how many tokens the parts of a session have. The zero Measure is what was counted
// of their texts, without tools and system prompt.
type Measure struct {
	Fixed int // tokens of tools and system prompt that are not recorded

	scale    []float64 // by part: tokens for each that was counted; nil: one
	hidden   []int     // by part: tokens next to these
	thinking []int     // by part: tokens of thinking that is not recorded; they leave with the part
}

// Scaled returns the tokens of a part of whose text, or of the placeholder in its place, so many
// were counted.
func (m *Measure) Scaled(part, counted int) int {
	if m.scale == nil {
		return counted
	}
	return int(float64(counted)*m.scale[part]+0.5) + m.hidden[part]
}

// Whole is Scaled of a part that is sent as it was recorded.
func (m *Measure) Whole(part, counted int) int {
	n := m.Scaled(part, counted)
	if m.thinking != nil {
		n += m.thinking[part]
	}
	return n
}

// Reported returns the sizes that the provider reported, as
// far as it did. A counted token of text becomes as many as the session's requests
// grew by for each (tokens.Calibration). If a request grew by more, the rest is not
// recorded (mostly reasoning that is not shown). It counts as that of the recorded blocks of thinking, if the model's provider bills
// these, as far as the answer had as much output beside its text. The rest is added to the first part that
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
	m = Measure{r.Fixed, slices.Repeat([]float64{slope}, len(r.Parts)), make([]int, len(r.Parts)), make([]int, len(r.Parts))}
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
			hidden := grown - text
			if part := r.thinkingIn(&s); part >= 0 {
				m.thinking[part] = max(0, min(hidden, s.output-int(slope*float64(s.answer))))
				hidden -= m.thinking[part]
			}
			m.hidden[s.from] = hidden
		} else if text > 0 {
			const least = 0.3 // of a text's tokens, however little was reported
			for part := s.from; part < s.to; part++ {
				m.scale[part] = slope * max(least, float64(grown)/float64(text))
			}
		}
		for part := s.from; part < s.to; part++ {
			total += m.Whole(part, r.Counted(part))
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

	output, answer int // the output that was reported of the answers in it, and the counted tokens of these
}

// thinkingIn returns the first block of thinking in a step, if the provider bills it in later requests; -1: there is none.
func (r *Replay) thinkingIn(s *step) int {
	for part := s.from; part < s.to; part++ {
		if p := r.Parts[part]; p.Kind == llm.Thinking && r.billsThinking(p.Message.Model) {
			return part
		}
	}
	return -1
}

// billsThinking reports whether the provider of a model bills the thinking of earlier turns.
func (r *Replay) billsThinking(model string) bool {
	m, ok := r.lookup(cmp.Or(model, r.Session.Model))
	return ok && m.BillsThinking()
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
			if m := r.Parts[part].Message; m.Role == llm.Assistant {
				s.answer += r.Counted(part)
				if m.Usage != nil && (part == s.from || r.Parts[part-1].Message != m) {
					s.output += m.Usage.Output
				}
			}
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
