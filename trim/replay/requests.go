package replay

import (
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/tokens"
	"github.com/stet-dev/stet/trim/transcript"
)

// BilledRequests returns the requests of a recorded session for its account: those
// whose answers carry usage. c counts what is recorded of the first request of
// a context; what the provider read beside it are tools and system text.
func BilledRequests(s *transcript.Session, c tokens.Counter) []BilledRequest {
	var all []BilledRequest
	begun, fixed := -1, 0 // where the context starts, and the tokens before its messages
	clock := func(from, to int) (latest time.Time) {
		for i := from; i < to; i++ {
			latest = later(latest, s.Messages[i].Time)
		}
		return latest
	}
	answered := time.Time{}
	for _, size := range Sizes(s, c, make(map[string]*tokens.Calibration)) {
		start := 0
		for _, at := range s.Starts {
			if at <= size.Answer {
				start = at
			}
		}
		if size.Reported == 0 {
			continue
		}
		m := &s.Messages[size.Answer]
		a := BilledRequest{Number: len(all) + 1, Time: clock(start, size.Answer), Model: m.Model, Usage: *m.Usage}
		if start != begun {
			if begun >= 0 {
				a.Part = PartContext
			}
			begun, fixed = start, max(0, size.Reported-size.Estimate)
		}
		a.Fixed = fixed
		if !answered.IsZero() && a.Time.After(answered) {
			a.Gap = a.Time.Sub(answered)
		}
		answered = later(answered, later(a.Time, m.Time))
		a.Messages, a.Blocks = sent(s.Messages[start:size.Answer])
		all = append(all, a)
	}
	return all
}

// sent counts the messages that are sent, and their parts.
func sent(messages []llm.Message) (n, parts int) {
	for i := range messages {
		if !messages[i].Local {
			n++
			parts += len(messages[i].Parts)
		}
	}
	return n, parts
}
