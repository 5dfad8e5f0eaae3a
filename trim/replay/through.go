package replay

import (
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim/transcript"
)

// Through are the requests that went through stet's proxy. It finds the answers to them in recordings. An agent that gives its
// session no name in requests is recognised too: usage passes through stet unchanged, so the file of the agent has the same numbers at the same time.
type Through struct {
	bySize   map[int][]Passed // by tokens of the prompt
	sessions map[string]bool  // whose requests were shortened
}

// Passed is a request that went through the proxy.
type Passed struct {
	Session string // the agent's name for it, or another one
	Time    time.Time
	Usage   llm.Usage
	Whole   llm.Usage // as it would have been if nothing had been left out
}

// NewThrough returns a Through for requests.
func NewThrough(all []Passed) *Through {
	t := &Through{map[int][]Passed{}, map[string]bool{}}
	for _, p := range all {
		t.sessions[p.Session] = t.sessions[p.Session] || p.Whole != p.Usage
		if n := p.Usage.Prompt(); n > 0 {
			t.bySize[n] = append(t.bySize[n], p)
		}
	}
	return t
}

// The recording writes an answer down when it ends, by the clock of the agent.
const (
	earliest = time.Minute
	latest   = time.Hour
)

// of returns the request of an answer. It is false if the request did not go through stet, as far as is known.
// A file may have less output than was charged, so the output decides only where no session is named.
func (t *Through) of(session string, a *transcript.Answer) (Passed, bool) {
	for _, p := range t.bySize[a.Usage.Prompt()] {
		named := p.Session == session
		late := a.Time.Sub(p.Time)
		if a.Time.IsZero() && named || late > -earliest && late < latest && (named || p.Usage.Output == a.Usage.Output) {
			return p, true
		}
	}
	return Passed{}, false
}

// session returns the requests of a session's answers, by their index. It is nil if nothing was left out of them, and
// empty if something was, but it is not known of which. The usage that the proxy saw replaces that of the recording, which may lack
// what the price depends on.
func (t *Through) session(s *transcript.Session) map[int]Passed {
	if t == nil {
		return nil
	}
	found, shortened := map[int]Passed{}, t.sessions[s.ID]
	for i := range s.Answers {
		if p, ok := t.of(s.ID, &s.Answers[i]); ok {
			found[i], s.Answers[i].Usage = p, p.Usage
			shortened = shortened || p.Whole != p.Usage
		}
	}
	if !shortened {
		return nil
	}
	return found
}
