package replay

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/test/replaytest"
	"github.com/stet-dev/stet/trim"
	"github.com/stet-dev/stet/trim/transcript"
)

var (
	noon           = replaytest.Noon
	text           = replaytest.Text
	call           = replaytest.Read
	readingSession = replaytest.Reading
	near           = replaytest.Near
)

type bytes = replaytest.Bytes

// played replays a session, and counts a byte as a token.
func played(t testing.TB, s *transcript.Session, policy Policy, rules ...prices.Rule) Outcome {
	t.Helper()
	var priced []Rule
	for _, rule := range rules {
		priced = append(priced, Rule{Rule: rule})
	}
	out, err := New(s, &Config{Counter: bytes{}, Overhead: -1}).Under(context.Background(), policy, priced)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// testPlanner collects the results of a context, and leaves out those that leaveOut names. The planners of tests embed it.
type testPlanner struct {
	messages int
	results  []llm.Edit // the results, without a text
	leftOut  map[int]Omission
}

func (p *testPlanner) Add(m *llm.Message) {
	for i := range m.Parts {
		if m.Parts[i].Kind == llm.ToolResult && !m.Local {
			p.results = append(p.results, llm.Edit{Message: p.messages, Part: i})
		}
	}
	p.messages++
}

func (p *testPlanner) Cold(trim.Cause) {}

// leaveOut replaces result i, unless it was replaced before.
func (p *testPlanner) leaveOut(i int, placeholder string, pointer bool) {
	if p.leftOut == nil {
		p.leftOut = make(map[int]Omission)
	}
	if _, ok := p.leftOut[i]; !ok {
		o := Omission{Edit: p.results[i], Pointer: pointer}
		o.Text = placeholder
		p.leftOut[i] = o
	}
}

func (p *testPlanner) plan() Plan {
	var out []Omission
	for _, i := range slices.Sorted(maps.Keys(p.leftOut)) {
		out = append(out, p.leftOut[i])
	}
	return Plan{Omissions: out}
}
