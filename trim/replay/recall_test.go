package replay

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/test/replaytest"
	"github.com/stet-dev/stet/trim/replay/check"
	"github.com/stet-dev/stet/trim/transcript"
)

// clearing leaves out the first result of every request that has more than two.
type clearing struct{ testPlanner }

func (p *clearing) Plan() Plan {
	if len(p.results) > 2 {
		p.leaveOut(0, "[cleared]", false)
	}
	return p.plan()
}

// recalling is a session that reads a file, makes two other calls, says something and ends.
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

// If an answer repeats a text that was left out, the agent would have asked for that text. That costs one more request, its
// output, and the text in all later requests. It is charged once.
func TestRecallIsCharged(t *testing.T) {
	for said, want := range map[string]int{
		"It says: nothing.":                    0,
		"It says:\n" + replaytest.Line8:        1,
		"It says:\n\t8\u2192" + "of line 8":    0, // too short to be recognised
		replaytest.Line7 + "\n" + "and others": 1,
	} {
		s := recalling(said)
		rule := prices.Rules()[0]
		out := played(t, s, func(Setting) Planner { return &clearing{} }, rule)
		if out.Recalled != want || out.LeftOut != 1 || out.Unshown != 1 {
			t.Errorf("%q: recalled %d of %d", said, out.Recalled, out.LeftOut)
		}
		// By hand: the read is cleared in the fourth and the fifth request. The answer to the fourth recalls it.
		r := New(s, &Config{Counter: bytes{}, Overhead: -1})
		read := slices.IndexFunc(r.Parts, func(p check.Part) bool { return p.Kind == llm.ToolResult })
		text := float64(r.Counted(read) + recallCall)
		before := 0 // the tokens of the fourth request
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

// A left-out line that the request also shows inside a longer line is not recalled.
func TestPieceOfALineIsNotRecalled(t *testing.T) {
	const line = "cmd/garden/plants/rows.go"
	for beside, want := range map[string]int{"peas\n": 1, "./" + line + "\n": 0, "see " + line + " for it\n": 0} {
		s := &transcript.Session{Dir: "/home/me/project", Messages: []llm.Message{text(llm.User, 100, 0)}}
		for i, output := range []string{"garden\n" + line + "\n", beside, "beans\n"} {
			id := fmt.Sprint("c", i)
			s.Messages = append(s.Messages,
				llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.ToolCall, CallID: id, Name: "bash", Args: `{"command":"ls"}`}}},
				llm.Message{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: id, Text: output}}})
		}
		s.Messages = append(s.Messages, llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Text: line}}}, text(llm.User, 10, 0), text(llm.Assistant, 10, 0))
		out := played(t, s, func(Setting) Planner { return &clearing{} }, prices.Rules()[0])
		if out.LeftOut != 1 || out.Recalled != want {
			t.Errorf("beside %q: recalled %d of %d, want %d", beside, out.Recalled, out.LeftOut, want)
		}
	}
}

// An edit recalls its old text if that was left out, however short it is.
func TestLostEditIsRecalled(t *testing.T) {
	s := recalling("No.")
	s.Messages = append(s.Messages[:len(s.Messages)-1], replaytest.Edit("e3", 3*time.Minute, "of line 8, some")...)
	s.Messages = append(s.Messages, text(llm.Assistant, 10, 3*time.Minute))
	out := played(t, s, func(Setting) Planner { return &clearing{} }, prices.Rules()[0])
	if out.Edits.Lost != 1 || out.Recalled != 1 {
		t.Errorf("lost %d, recalled %d", out.Edits.Lost, out.Recalled)
	}
}

// If a name occurs only in what was left out, the stricter count by names treats it as recalled, and the other count does not.
// Words of plain text, and names that the request shows elsewhere, are not recalled.
func TestRecallByName(t *testing.T) {
	for said, want := range map[string]int{
		"I look at the garden.":                    0,
		"I look at beds/plantRows.go.":             1,
		"I look at beds/plantRows.go and v1.22.3.": 1,
		"I look at askedFor.":                      0,
	} {
		s := &transcript.Session{Dir: "/home/me/project", Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{{Text: "mend askedFor"}}}}}
		for i, output := range []string{"garden\naskedFor\nplantRows.go v1.22.3\n", "peas\n", "beans\n"} {
			id := fmt.Sprint("c", i)
			s.Messages = append(s.Messages,
				llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.ToolCall, CallID: id, Name: "bash", Args: `{"command":"ls"}`}}},
				llm.Message{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: id, Text: output}}})
		}
		s.Messages = append(s.Messages, llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Text: said}}}, text(llm.User, 10, 0),
			llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Text: said}}})
		rule := prices.Rules()[0]
		out := played(t, s, func(Setting) Planner { return &clearing{} }, rule)
		if out.LeftOut != 1 || out.Recalled != 0 || out.RecalledByName != want {
			t.Errorf("%q: of %d, recalled %d, by name %d, want %d", said, out.LeftOut, out.Recalled, out.RecalledByName, want)
		}
		if dearer := out.ChargedByName[rule.Name] > out.Charged[rule.Name]; dearer != (want > 0) {
			t.Errorf("%q: charged %v, by name %v", said, out.Charged, out.ChargedByName)
		}
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

// pointing leaves the first result out, with a placeholder that says that its text stands elsewhere.
type pointing struct{ testPlanner }

func (p *pointing) Plan() Plan {
	if len(p.results) > 2 {
		p.leaveOut(0, "[as above]", true)
	}
	return p.plan()
}

// What a pointer replaces counts as left out, and as shown.
func TestPointersAreShown(t *testing.T) {
	out := played(t, recalling("No."), func(Setting) Planner { return &pointing{} }, prices.Rules()[0])
	if out.LeftOut != 1 || out.Unshown != 0 {
		t.Errorf("%d left out, %d of them not shown", out.LeftOut, out.Unshown)
	}
}
