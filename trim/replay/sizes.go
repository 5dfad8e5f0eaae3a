package replay

import (
	"slices"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/tokens"
	"github.com/stet-dev/stet/trim/transcript"
)

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
