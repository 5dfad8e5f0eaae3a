package trim

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim/dialect"
)

// replayed adds the messages to a state as they were recorded, with a cold point where an answer came more than five minutes
// after the one before. It calls do for every request, with the index of the message that answered it, and whether the request
// was sent at a cold point.
func replayed(e *Engine, messages []llm.Message, do func(at int, st *State, cold bool)) {
	st := e.NewState()
	var clock, last time.Time
	for i := range messages {
		if m := &messages[i]; m.Role == llm.Assistant && !m.Local && i > 0 {
			cold := !last.IsZero() && clock.Sub(last) > 5*time.Minute
			if cold {
				st.Cold(Gap, 0)
			}
			do(i, st, cold)
			last = clock
			if m.Time.After(last) {
				last = m.Time
			}
		}
		if messages[i].Time.After(clock) {
			clock = messages[i].Time
		}
		st.Add(messages[i])
	}
}

// recoverable matches a placeholder that says how to get again what was left out.
var recoverable = regexp.MustCompile(`^\[stet: .+(?:Run it again if needed|or print something else|and may change something|Call it again if needed|Read it again if needed)\.\]$`)

// Invariants 1, 2 and 6 at the cold points of recorded sessions. What leaves a request under adaptive stands elsewhere in it, or
// its placeholder says how to get it again. No edit loses a line of the text that it replaces. The check reads the edits with the
// dialects, and shares nothing else with the engine.
func TestRecordedColdPoints(t *testing.T) {
	e := newEngine(t, Config{})
	table := dialect.Default()
	edits, left := 0, make(map[Reason]int)
	recordings(t, func(t *testing.T, name string, messages []llm.Message) {
		replayed(e, messages, func(at int, st *State, cold bool) {
			if cold {
				p := st.Plan()
				for i, trim := range p.Omissions {
					left[trim.Reason]++
					checkLeft(t, name, &messages[trim.Message].Parts[trim.Part], trim, p.Edits[i].Text)
				}
			}
			var sent, stored []string
			for j := range messages[at].Parts {
				call := &messages[at].Parts[j]
				if call.Kind != llm.ToolCall {
					continue
				}
				for _, r := range table.Action(call.Name, call.Args).Edits {
					if edits++; sent == nil {
						sent, stored = textsOf(llm.Apply(messages[:at], st.Plan().Edits)), textsOf(messages[:at])
					}
					if line, lost := losesLine(stored, sent, r.Old); lost {
						t.Errorf("%s: message %d edits %q of %s, which is not in the request any more", name, at, line, r.Path)
					}
				}
			}
		})
	})
	t.Logf("%d edits, left out: %v", edits, left)
	if edits == 0 || left[Command] == 0 || left[Arguments] == 0 {
		t.Error("no edit was checked, or nothing left: the check checks nothing")
	}
}

// checkLeft checks the placeholder of a part that left at a cold point.
func checkLeft(t *testing.T, name string, was *llm.Part, trim Omission, is string) {
	switch {
	case was.Kind == llm.ToolCall:
		if trim.Reason != Arguments || json.Valid([]byte(was.Args)) != json.Valid([]byte(is)) {
			t.Errorf("%s: the arguments of message %d became %q", name, trim.Message, is)
		}
	case trim.Reason == Command || trim.Reason == Idle:
		if !recoverable.MatchString(is) {
			t.Errorf("%s: message %d became %q", name, trim.Message, is)
		}
	}
}

// losesLine returns a line of text that stands in stored and not in sent, if there is one.
func losesLine(stored, sent []string, text string) (string, bool) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		if strings.TrimSpace(line) != "" && !standsIn(sent, line) && standsIn(stored, line) {
			return line, true
		}
	}
	return "", false
}

// textsOf returns all texts of messages that are sent.
func textsOf(messages []llm.Message) []string {
	var out []string
	for i := range messages {
		if messages[i].Local {
			continue
		}
		for _, p := range messages[i].Parts {
			out = append(out, p.Text, p.Args)
		}
	}
	return out
}
