package replay

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/test/replaytest"
	"github.com/stet-dev/stet/trim/replay/check"
	"github.com/stet-dev/stet/trim/transcript"
)

// cutTo replaces the result of call_1 as soon as there are two results.
type cutTo struct {
	testPlanner
	text string
}

func (c *cutTo) Plan() Plan {
	if len(c.results) > 1 {
		c.leaveOut(0, c.text, true)
	}
	return c.plan()
}

func cutPolicy(text string) Policy {
	return func(Setting) Planner { return &cutTo{text: text} }
}

// last keeps the newest results.
type last struct {
	testPlanner
	keep int
}

func (l *last) Plan() Plan {
	for i := range max(0, len(l.results)-l.keep) {
		l.leaveOut(i, "[an old result]", false)
	}
	return l.plan()
}

func lastPolicy(keep int) Policy {
	return func(Setting) Planner { return &last{keep: keep} }
}

const (
	line7 = replaytest.Line7
	line8 = replaytest.Line8
	line9 = replaytest.Line9
)

func TestSupport(t *testing.T) {
	for name, c := range map[string]struct {
		policy   Policy
		want     check.Edits
		dangling int
	}{
		"off":            {nil, check.Edits{Supported: 2}, 0},
		"a pointer":      {cutPolicy("[as above]"), check.Edits{Lost: 2}, 1},
		"in part":        {cutPolicy("  7→" + line7 + "\n  8→" + line8), check.Edits{Lost: 1, Supported: 1}, 1},
		"with a seam":    {cutPolicy("7\t" + line7 + "\n…\n8\t" + line8 + "\n9\t" + line9), check.Edits{Split: 1, Supported: 1}, 1},
		"in one piece":   {cutPolicy("x\n" + line7 + "\n" + line8 + "\n" + line9), check.Edits{Supported: 2}, 1},
		"the last two":   {lastPolicy(2), check.Edits{Supported: 1, Lost: 1}, 0},
		"the last three": {lastPolicy(3), check.Edits{Supported: 2}, 0},
	} {
		r := played(t, replaytest.Editing(), c.policy, prices.Rules()[0])
		if r.Edits != c.want || r.Dangling != c.dangling || r.LostByRule[prices.Anthropic5m] != c.want.Lost && c.policy != nil {
			t.Errorf("%s: %+v, dangling %d, want %+v, %d", name, r.Edits, r.Dangling, c.want, c.dangling)
		}
	}
}

// The old text of an edit also counts as visible if the agent wrote it, or if it stands in a patch.
func TestSupportByWrites(t *testing.T) {
	args, _ := json.Marshal(map[string]string{"file_path": "/home/me/project/b.go", "content": "first line of b\nsecond line of b\n"})
	s := &transcript.Session{File: "s", Messages: []llm.Message{
		text(llm.User, 10, 0),
		{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.ToolCall, CallID: "w", Name: "Write", Args: string(args)}}},
		{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: "w", Text: "@@ -1 +1,2 @@\n third line\n+fourth line of b\n"}}},
	}}
	s.Messages = append(s.Messages, replaytest.Edit("e", 0, "first line of b\nsecond line of b")...)
	s.Messages = append(s.Messages, replaytest.Edit("f", 0, "third line\nfourth line of b\n")...)
	_, r, err := Session(context.Background(), s, Config{})
	if err != nil || r.Edits != (check.Edits{Supported: 2}) {
		t.Errorf("%+v, %v", r.Edits, err)
	}
}

// A result that is one JSON value shows both its own text and the strings in it. An edit of a JSON file uses the text of the
// file. An edit after a tool's JSON envelope uses a string of the envelope.
func TestSupportOfJSON(t *testing.T) {
	file := "{\n  \"name\": \"a program\",\n  \"version\": 7,\n  \"private\": true\n}\n"
	envelope := `{"status":"success","data":{"content":"   1 | first line of b\n   2 | second line of b\n"}}`
	needs := func(old string) []llm.Message { return replaytest.Edit("e_"+old[:3], 3*time.Minute, old) }
	for name, c := range map[string]struct {
		result, cut string
		old         string
		want        check.Edits
	}{
		"a file":                 {file, "", "  \"version\": 7,\n  \"private\": true\n", check.Edits{Supported: 1}},
		"a file, in part":        {file, "{\n  \"name\": \"a program\",\n[stet: cut]\n", "  \"version\": 7,\n  \"private\": true\n", check.Edits{Lost: 1}},
		"a file, the rest":       {file, "{\n[stet: cut]\n  \"version\": 7,\n  \"private\": true\n}\n", "  \"version\": 7,\n  \"private\": true\n", check.Edits{Supported: 1}},
		"a part of a line":       {file, "", `"version": 7`, check.Edits{Supported: 1}},
		"an envelope":            {envelope, "", "first line of b\nsecond line of b\n", check.Edits{Supported: 1}},
		"an envelope, a line":    {envelope, `{"status":"success","data":{"content":"[stet: cut]"}}`, "first line of b\nsecond line of b\n", check.Edits{Lost: 1}},
		"an envelope, as it was": {envelope, envelope, "first line of b\nsecond line of b\n", check.Edits{Supported: 1}},
	} {
		s := &transcript.Session{File: "s", Dir: "/home/me/project", Messages: []llm.Message{text(llm.User, 10, 0)}}
		for i, result := range []string{c.result, "ok"} {
			id := "call_" + string(rune('1'+i))
			s.Messages = append(s.Messages,
				llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.ToolCall, CallID: id, Name: "bash", Args: `{"command":"make"}`}}},
				llm.Message{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: id, Text: result}}})
		}
		s.Messages = append(s.Messages, needs(c.old)...)
		var policy Policy
		if c.cut != "" {
			policy = func(Setting) Planner { return &cutTo{text: c.cut} }
		}
		r := played(t, s, policy, prices.Rules()[0])
		if r.Edits != c.want {
			t.Errorf("%s: %+v, want %+v", name, r.Edits, c.want)
		}
	}
}

// If the target of a pointer leaves later, the pointer dangles from then on. A placeholder that does not say that its text stands
// elsewhere does not dangle.
func TestDangling(t *testing.T) {
	s := readingSession(4) // each read shows the same lines
	for n, want := range map[int]int{1: 3, 2: 2} {
		p := func(Setting) Planner { return &pointUp{from: n} }
		r := played(t, s, p, prices.Rules()[0])
		if r.Dangling != want {
			t.Errorf("%d dangling lines, want %d", r.Dangling, want)
		}
	}
}

// A line of a file may look as if it had a line number of its own. It counts as one whole line. Another part with only the text
// after that number neither supports it nor makes it dangle.
func TestDanglingNumberedText(t *testing.T) {
	s := &transcript.Session{File: "s", Dir: "/home/me/project", Messages: []llm.Message{
		text(llm.User, 10, 0),
		{Role: llm.User, Parts: []llm.Part{{Text: "water the beans before noon\nonly once"}}},
	}}
	for _, id := range []string{"a", "b"} {
		s.Messages = append(s.Messages,
			llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.ToolCall, CallID: id, Name: "Read", Args: `{"file_path":"/home/me/project/a.md"}`}}},
			llm.Message{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: id, Text: "     1→4. water the beans before noon\n     2→5. pick the peas"}}})
	}
	s.Messages = append(s.Messages, text(llm.Assistant, 5, 0))
	for keep, want := range map[int]int{1: 0, 0: 2} {
		p := func(Setting) Planner { return &pointUp{from: keep} }
		r := played(t, s, p, prices.Rules()[0])
		if r.Dangling != want {
			t.Errorf("%d kept: %d dangling lines, want %d", keep, r.Dangling, want)
		}
	}
}

// pointUp replaces every result from index from on by a pointer. If there are four results, it also leaves out the results before
// from, without a pointer.
type pointUp struct {
	testPlanner
	from int
}

func (p *pointUp) Plan() Plan {
	for i := p.from; i < len(p.results); i++ {
		p.leaveOut(i, "[as above]", true)
	}
	if len(p.results) > 3 {
		for i := range p.from {
			p.leaveOut(i, "[gone]", false)
		}
	}
	return p.plan()
}
