package transcript

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"time"

	"github.com/stet-dev/stet/llm"
)

// Answer is one answer that the provider charged for. A file shows it in the conversation, on a branch that was left, or
// only by its usage.
type Answer struct {
	ID      string    // of the message, if copies of the answer keep it; or ""
	Request string    // the provider's id of the request, or ""
	Time    time.Time // zero: unknown
	Model   string    // "": unknown
	Dir     string    // the working directory of the agent: the project
	Kind    Kind

	// Usage is what the file reports. It is zero if the file reports nothing. If the file has only sums of several answers,
	// Usage is this answer's part of the sum.
	Usage llm.Usage

	// Message is the index of the answer in Session.Messages. It is -1 for an answer that is not in the conversation as it
	// was sent.
	Message int

	// Parts are what the file shows of the answer.
	Parts []llm.Part

	// Key is the same for all copies of the answer, and for no other answer. If Local is set, it is so only among the
	// sessions of one family: see Session.Forks.
	Key   [16]byte
	Local bool

	// Rough is the same for copies of the answer of which one was cut off before its usage. It is zero if they have the
	// same Key, too.
	Rough [16]byte
}

// Kind says where in a session an answer is.
type Kind string

// The kinds of answers.
const (
	Sent       Kind = "answer"     // in the conversation as it was sent
	Left       Kind = "left"       // on a branch that the person left, or an earlier try
	Empty      Kind = "empty"      // without content, or aborted: only its usage is known
	Compaction Kind = "compaction" // the agent's own request for a summary
	Own        Kind = "own"        // another request of the agent's own, for example for a title
)

// Bill fills Answers: those in Messages, and the others that are there already. Snapshots of one answer become one, with the
// usage of the fullest. Sessions that were read are filled.
func (s *Session) Bill() {
	var all []Answer
	carried := map[int]bool{}
	for _, i := range s.Carried {
		carried[i] = true
	}
	for i := range s.Messages {
		m := &s.Messages[i]
		if m.Role != llm.Assistant || m.Local || carried[i] {
			continue
		}
		a := Answer{ID: m.ID, Request: m.Request, Time: m.Time, Model: m.Model, Kind: Sent, Message: i, Parts: m.Parts}
		if m.Usage != nil {
			a.Usage = *m.Usage
		} else if share := s.shares[i]; share != nil {
			a.Usage = *share
		}
		all = append(all, a)
	}
	for _, a := range s.Answers {
		a.Message = -1
		all = append(all, a)
	}
	slices.SortStableFunc(all, func(a, b Answer) int { return a.Time.Compare(b.Time) })
	s.Answers = all[:0]
	at := map[[16]byte]int{}
	again := map[[16]byte]int{} // answers without any id that look the same
	var before [16]byte         // hash of the answers before
	for _, a := range all {
		if a.Dir == "" {
			a.Dir = s.Dir
		}
		if s.newIDs {
			a.ID = ""
		}
		a.Local = s.byFamily
		if a.ID == "" || a.Request == "" {
			before = a.setKey(before, s.newIDs)
		} else {
			a.Key = hashOf(a.ID, a.Request)
		}
		if a.ID == "" && a.Request == "" {
			again[a.Key]++
			a.Key = hashOf(a.Key, again[a.Key])
		}
		i, seen := at[a.Key]
		if !seen {
			at[a.Key] = len(s.Answers)
			s.Answers = append(s.Answers, a)
			continue
		}
		old := &s.Answers[i]
		if Fuller(a.Usage, old.Usage) {
			old.Usage = a.Usage
		}
		if old.Message < 0 && a.Message >= 0 {
			old.Message, old.Kind, old.Parts = a.Message, a.Kind, a.Parts
		}
	}
}

// setKey sets the key of an answer without an id or request id. before is a hash of the answers before it; setKey returns
// that of the answers up to this one.
func (a *Answer) setKey(before [16]byte, newIDs bool) [16]byte {
	u, parts, t := a.Usage, a.Parts, a.Time
	if newIDs { // the ids are in the parts' JSON
		parts = slices.Clone(parts)
		for i := range parts {
			parts[i].Raw = ""
		}
	}
	if a.Local { // a fork writes its own time
		t = time.Time{}
	}
	if a.ID != "" || len(parts) > 0 {
		a.Rough = hashOf("rough", a.ID, t, parts[:min(1, len(parts))])
	}
	prompt := []int{u.Input, u.CacheRead, u.CacheWrite}
	switch {
	case a.ID != "": // all snapshots of an answer have the same prompt
		a.Key = hashOf(a.ID, prompt, t)
	case a.Local:
		a.Key = hashOf(a.Request, u, parts)
	case !t.IsZero():
		a.Key = hashOf(t, u, parts)
	default:
		before = hashOf(before, u, parts)
		a.Key = before
	}
	return before
}

// Fuller reports whether a is of a fuller snapshot than b.
func Fuller(a, b llm.Usage) bool { return a.Total()+a.WebSearches > b.Total()+b.WebSearches }

// hashOf returns a hash of values. The values must marshal as JSON.
func hashOf(values ...any) (h [16]byte) {
	sum := sha256.New()
	_ = json.NewEncoder(sum).Encode(values)
	copy(h[:], sum.Sum(nil))
	return h
}
