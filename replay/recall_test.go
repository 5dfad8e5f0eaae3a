package replay

import (
	"slices"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/prices"
	"github.com/stet-dev/stet/replay/recording"
	"github.com/stet-dev/stet/replay/replaytest"
	"github.com/stet-dev/stet/transcript"
)

// clearing leaves the first result out of all requests that hold more than two.
type clearing struct{ testPlanner }

func (p *clearing) Plan() Plan {
	if len(p.results) > 2 {
		p.leaveOut(0, "[cleared]", false)
	}
	return p.plan()
}

// recalling reads a file, does two other things, says something and ends.
func recalling(said string) *transcript.Session {
	s := &transcript.Session{Dir: "/home/me/project", Messages: []llm.Message{text(llm.User, 100, 0)}}
	s.Messages = append(s.Messages, call(1, time.Minute, 1, 20)...)
	s.Messages = append(s.Messages, replaytest.Edit("e1", 2*time.Minute, "nothing")...)
	s.Messages = append(s.Messages, replaytest.Edit("e2", 2*time.Minute, "no such thing")...)
	s.Messages = append(s.Messages,
		llm.Message{Role: llm.Assistant, Time: noon.Add(3 * time.Minute), Parts: []llm.Part{{Text: said}}},
		text(llm.User, 50, 3*time.Minute), text(llm.Assistant, 10, 3*time.Minute))
	return s
}

// What an answer repeats of a text that was left out, the agent would have asked for:
// one more request, its output, and the text in all requests to come. It is charged once.
func TestRecallIsCharged(t *testing.T) {
	for said, want := range map[string]int{
		"It says: nothing.":                    0,
		"It says:\n" + replaytest.Line8:        1,
		"It says:\n\t8\u2192" + "of line 8":    0, // too short to tell
		replaytest.Line7 + "\n" + "and others": 1,
	} {
		s := recalling(said)
		rule := prices.Rules()[0]
		out := played(t, s, func(Setting) Planner { return &clearing{} }, rule)
		if out.Recalled != want || out.LeftOut != 1 {
			t.Errorf("%q: recalled %d of %d", said, out.Recalled, out.LeftOut)
		}
		// By hand: the two requests in which the read is cleared are the fourth, whose answer
		// recalls it, and the fifth.
		r := New(s, &Config{Counter: bytes{}, Overhead: -1})
		read := slices.IndexFunc(r.Parts, func(p recording.Part) bool { return p.Kind == llm.ToolResult })
		text := float64(r.Counted(read) + recallCall)
		before := 0 // tokens of the fourth request
		for n := range r.End(&r.Requests[3]) {
			before += r.Counted(n)
		}
		before += len("[cleared]") - r.Counted(read)
		again := 0.1*float64(before) + 1.25*text + recallCall*outputPrice + 0.1*text
		if want := out.Cost[rule.Name] + float64(want)*again; !near(out.Charged[rule.Name], want) {
			t.Errorf("%q: charged %v, want %v", said, out.Charged[rule.Name], want)
		}
	}
}

// An edit whose old text was left out recalls it, however short the text.
func TestLostEditIsRecalled(t *testing.T) {
	s := recalling("No.")
	s.Messages = append(s.Messages[:len(s.Messages)-1], replaytest.Edit("e3", 3*time.Minute, "of line 8, some")...)
	s.Messages = append(s.Messages, text(llm.Assistant, 10, 3*time.Minute))
	out := played(t, s, func(Setting) Planner { return &clearing{} }, prices.Rules()[0])
	if out.Edits.Lost != 1 || out.Recalled != 1 {
		t.Errorf("lost %d, recalled %d", out.Edits.Lost, out.Recalled)
	}
}

// Off leaves nothing out, and recalls nothing.
func TestOffRecallsNothing(t *testing.T) {
	out := played(t, recalling(replaytest.Line8), nil, prices.Rules()...)
	if out.Recalled != 0 || out.LeftOut != 0 {
		t.Errorf("recalled %d of %d", out.Recalled, out.LeftOut)
	}
	checkCosts(t, "charged", out.Charged, out.Cost)
}
