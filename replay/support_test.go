package replay

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/prices"
	"github.com/stet-dev/stet/transcript"
)

func TestEachLine(t *testing.T) {
	for text, want := range map[string][]string{
		"  one  \n\n\ttwo\r\n":                {"  one", "\ttwo"},
		"     7→\tseven":                      {"     7→\tseven", "\tseven"},
		"7\tseven":                            {"7\tseven", "seven"},
		"12: twelve":                          {"12: twelve", " twelve", "twelve"},
		"\x1b[31mred\x1b[0m":                  {"red"},
		"10 %\r99 %\rdone":                    {"done"},
		"@@ -1 +1 @@\n-old\n+new\n same":      {"@@ -1 +1 @@", "-old", "+new", "new", " same", "same"},
		"+ a list of things\n 1234567890: no": {"+ a list of things", " 1234567890: no"},
	} {
		var got []string
		eachLine(text, func(line string) { got = append(got, line) })
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestVisibleStrings(t *testing.T) {
	for in, want := range map[string]string{
		`{"content":"a\nb"}`:              "a\nb",
		`[{"type":"text","text":"x\ty"}]`: "x\ty",
		`{"broken`:                        `{"broken`,
		"plain":                           "plain",
	} {
		if got := visible(&llm.Part{Kind: llm.ToolResult, Text: in}); !slices.Contains(got, want) {
			t.Errorf("%s: %q", in, got)
		}
	}
	if got := visible(&llm.Part{Kind: llm.Opaque, Text: "x", Raw: "{}"}); got != nil {
		t.Errorf("an image shows %q", got)
	}
}

func TestInOnePiece(t *testing.T) {
	numbered := "  1→func a() {\n  2→\treturn one()\n  3→}\n  4→\n  5→func b() {"
	for _, c := range []struct {
		text string
		want []string
		ok   bool
	}{
		{numbered, []string{"func a() {", "\treturn one()", "}"}, true},
		{numbered, []string{"a() {", "\treturn one()", "}", "", "func"}, true}, // begins and ends inside lines
		{numbered, []string{"func a() {", "}"}, false},                         // a line is missing
		{numbered, []string{"func a() {", "\treturn", "}"}, false},             // inside, lines are whole
		{numbered, []string{"return one"}, true},
		{"x\n…\ny", []string{"x", "y"}, false},
	} {
		if got := inOnePiece(c.text, c.want); got != c.ok {
			t.Errorf("%q in %q: %v", c.want, c.text, got)
		}
	}
}

// edit is a call that replaces text, and its result.
func edit(id string, at time.Duration, old string) []llm.Message {
	args, _ := json.Marshal(map[string]string{"file_path": "/home/me/project/a.go", "old_string": old, "new_string": "new text of these lines"})
	return []llm.Message{
		{Role: llm.Assistant, Time: noon.Add(at), Parts: []llm.Part{{Kind: llm.ToolCall, CallID: id, Name: "Edit", Args: string(args)}}},
		{Role: llm.Tool, Time: noon.Add(at), Parts: []llm.Part{{Kind: llm.ToolResult, CallID: id, Text: "done"}}},
	}
}

// cutTo replaces the result of call_1 as soon as there are two.
type cutTo struct {
	trail
	text string
}

func (c *cutTo) Plan() Plan {
	if len(c.results) > 1 {
		c.cut(0, c.text, true)
	}
	return c.plan()
}

func cutPolicy(text string) Policy {
	return Policy{Name: "cut", Begin: func(s Setting) Planner { return &cutTo{newTrail(s), text} }}
}

const (
	line7 = "the text of line 7, some words long"
	line8 = "the text of line 8, some words long"
	line9 = "the text of line 9, some words long"
)

// supportSession reads lines 1 to 20, lists something, and edits four times:
// a part of line 8; lines 7 to 9; what was never in view; and a blank.
func supportSession() *transcript.Session {
	s := &transcript.Session{File: "s", Dir: "/home/me/project", Messages: []llm.Message{text(llm.User, 10, 0)}}
	s.Messages = append(s.Messages, call(1, time.Minute, 1, 20)...)
	s.Messages = append(s.Messages, call(2, 2*time.Minute, 40, 45)...)
	for i, old := range []string{"of line 8, some", line7 + "\n" + line8 + "\n" + line9, "nothing that anyone saw", " \n"} {
		s.Messages = append(s.Messages, edit("edit_"+string(rune('a'+i)), time.Duration(3+i)*time.Minute, old)...)
	}
	return s
}

func TestSupport(t *testing.T) {
	for name, c := range map[string]struct {
		policy   Policy
		want     Support
		dangling int
	}{
		"off":            {Policy{}, Support{Supported: 2}, 0},
		"a pointer":      {cutPolicy("[as above]"), Support{Lost: 2}, 1},
		"in part":        {cutPolicy("  7→" + line7 + "\n  8→" + line8), Support{Lost: 1, Supported: 1}, 1},
		"with a seam":    {cutPolicy("7\t" + line7 + "\n…\n8\t" + line8 + "\n9\t" + line9), Support{Split: 1, Supported: 1}, 1},
		"in one piece":   {cutPolicy("x\n" + line7 + "\n" + line8 + "\n" + line9), Support{Supported: 2}, 1},
		"the last two":   {Policy{Begin: LastResults(2)}, Support{Supported: 1, Lost: 1}, 0},
		"the last three": {Policy{Begin: LastResults(3)}, Support{Supported: 2}, 0},
	} {
		conf := Config{Counter: bytes{}, Overhead: -1}
		r, err := newRecording(supportSession(), &conf).all(context.Background(), &c.policy, prices.Rules()[:1])
		if err != nil {
			t.Fatal(err)
		}
		if r.support != c.want || r.dangling != c.dangling || r.lost[prices.Anthropic5m] != c.want.Lost && c.policy.Begin != nil {
			t.Errorf("%s: %+v, dangling %d, want %+v, %d", name, r.support, r.dangling, c.want, c.dangling)
		}
	}
}

// An edit's old text may be in view because the agent wrote it, or in a patch.
func TestSupportByWrites(t *testing.T) {
	args, _ := json.Marshal(map[string]string{"file_path": "/home/me/project/b.go", "content": "first line of b\nsecond line of b\n"})
	s := &transcript.Session{File: "s", Messages: []llm.Message{
		text(llm.User, 10, 0),
		{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.ToolCall, CallID: "w", Name: "Write", Args: string(args)}}},
		{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: "w", Text: "@@ -1 +1,2 @@\n third line\n+fourth line of b\n"}}},
	}}
	s.Messages = append(s.Messages, edit("e", 0, "first line of b\nsecond line of b")...)
	s.Messages = append(s.Messages, edit("f", 0, "third line\nfourth line of b\n")...)
	r, err := Session(context.Background(), s, Config{})
	if err != nil || r.Support != (Support{Supported: 2}) {
		t.Errorf("%+v, %v", r.Support, err)
	}
}

// A result that is one JSON value shows its text as it is, and the strings in it: an
// edit of a JSON file is made from the one, an edit from an envelope from the other.
func TestSupportOfJSON(t *testing.T) {
	file := "{\n  \"name\": \"a program\",\n  \"version\": 7,\n  \"private\": true\n}\n"
	envelope := `{"status":"success","data":{"content":"   1 | first line of b\n   2 | second line of b\n"}}`
	needs := func(old string) []llm.Message { return edit("e_"+old[:3], 3*time.Minute, old) }
	for name, c := range map[string]struct {
		result, cut string
		old         string
		want        Support
	}{
		"a file":                 {file, "", "  \"version\": 7,\n  \"private\": true\n", Support{Supported: 1}},
		"a file, in part":        {file, "{\n  \"name\": \"a program\",\n[stet: cut]\n", "  \"version\": 7,\n  \"private\": true\n", Support{Lost: 1}},
		"a file, the rest":       {file, "{\n[stet: cut]\n  \"version\": 7,\n  \"private\": true\n}\n", "  \"version\": 7,\n  \"private\": true\n", Support{Supported: 1}},
		"a part of a line":       {file, "", `"version": 7`, Support{Supported: 1}},
		"an envelope":            {envelope, "", "first line of b\nsecond line of b\n", Support{Supported: 1}},
		"an envelope, a line":    {envelope, `{"status":"success","data":{"content":"[stet: cut]"}}`, "first line of b\nsecond line of b\n", Support{Lost: 1}},
		"an envelope, as it was": {envelope, envelope, "first line of b\nsecond line of b\n", Support{Supported: 1}},
	} {
		s := &transcript.Session{File: "s", Dir: "/home/me/project", Messages: []llm.Message{text(llm.User, 10, 0)}}
		for i, result := range []string{c.result, "ok"} {
			id := "call_" + string(rune('1'+i))
			s.Messages = append(s.Messages,
				llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.ToolCall, CallID: id, Name: "bash", Args: `{"command":"make"}`}}},
				llm.Message{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: id, Text: result}}})
		}
		s.Messages = append(s.Messages, needs(c.old)...)
		policy := Policy{}
		if c.cut != "" {
			policy = Policy{Name: "cut", Begin: func(s Setting) Planner { return &cutTo{newTrail(s), c.cut} }}
		}
		conf := Config{Counter: bytes{}, Overhead: -1}
		r, err := newRecording(s, &conf).all(context.Background(), &policy, prices.Rules()[:1])
		if err != nil || r.support != c.want {
			t.Errorf("%s: %+v, want %+v, %v", name, r.support, c.want, err)
		}
	}
}

// A pointer whose target leaves later dangles from then on; one that never
// said that its text stands elsewhere does not.
func TestDangling(t *testing.T) {
	s := readingSession(4) // the same lines four times
	for n, want := range map[int]int{1: 3, 2: 2} {
		p := Policy{Begin: func(s Setting) Planner { return &pointUp{trail: newTrail(s), from: n} }}
		c := Config{Counter: bytes{}, Overhead: -1}
		r, err := newRecording(s, &c).all(context.Background(), &p, prices.Rules()[:1])
		if err != nil || r.dangling != want {
			t.Errorf("%d dangling lines, want %d, %v", r.dangling, want, err)
		}
	}
}

// A line of a file that looks numbered itself is one line, not also what
// stands behind its number: another part that shows only that does not count,
// for it or against it.
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
		p := Policy{Begin: func(s Setting) Planner { return &pointUp{trail: newTrail(s), from: keep} }}
		c := Config{Counter: bytes{}, Overhead: -1}
		r, err := newRecording(s, &c).all(context.Background(), &p, prices.Rules()[:1])
		if err != nil || r.dangling != want {
			t.Errorf("%d kept: %d dangling lines, want %d, %v", keep, r.dangling, want, err)
		}
	}
}

// pointUp replaces every result but the first of those there are by a pointer
// upwards, and with the fourth also the first, without one.
type pointUp struct {
	trail
	from int
}

func (p *pointUp) Plan() Plan {
	for i := p.from; i < len(p.results); i++ {
		p.cut(i, "[as above]", true)
	}
	if len(p.results) > 3 {
		for i := range p.from {
			p.cut(i, "[gone]", false)
		}
	}
	return p.plan()
}
