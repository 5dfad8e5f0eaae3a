package replay

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/test/replaytest/pointers"
	"github.com/stet-dev/stet/trim"
)

// cutLast replaces the first parts of some messages in the last request of a session.
type cutLast struct {
	of    int
	texts map[int]string // by message
	n     int
}

func (c *cutLast) Add(*llm.Message) { c.n++ }
func (c *cutLast) Cold(trim.Cause)  {}
func (c *cutLast) Plan() Plan {
	var p Plan
	for m := range c.n {
		if text, ok := c.texts[m]; ok && c.n == c.of {
			points := strings.Contains(text, " unchanged: ") || strings.Contains(text, " the same: ")
			p.Omissions = append(p.Omissions, Omission{Edit: llm.Edit{Message: m, Text: text}, Pointer: points})
		}
	}
	return p
}

// The placeholder of package trim for the replaced text of an edit.
const replacedMark = "[stet: left out: the text that this edit replaced.]"

// danglingWith replays a session with texts in place of the first parts of messages in the last request. It returns the number of
// dangling placeholders.
func danglingWith(t *testing.T, k *talk, texts map[int]string) int {
	t.Helper()
	policy := func(Setting) Planner { return &cutLast{of: len(k.Messages) - 1, texts: texts} }
	r, err := New(&k.Session, &Config{Pointers: pointers.Of}).play(context.Background(), policy, nil, trim.Price{}, nil, []Measure{{}})
	if err != nil {
		t.Fatal(err)
	}
	return r[0].Dangling
}

// TRIM-16: a pointer is checked against the call that it names. The call must be in the request, and must show the lines whole,
// at the named place.
func TestFalsePointersDangle(t *testing.T) {
	k := &talk{}
	k.say(llm.User, "go on")
	k.read("a.go", 60)                                                                                                                  // 1, 2
	k.call("Write", `{"file_path":"/home/me/project/b.go","content":"the text of line 3 of a.go\nthe text of line 4 of a.go\n"}`, "ok") // 3, 4
	k.make("one", 30)                                                                                                                   // 5, 6
	k.read("a.go", 60)                                                                                                                  // 7, 8
	k.make("one", 30)                                                                                                                   // 9, 10
	k.say(llm.Assistant, "done")
	const a, write, out = "call_1", "call_3", "call_5"
	for _, test := range []struct {
		at   int
		text string
		want int
	}{
		{8, "[stet: a.go lines 1-60 unchanged: shown above by " + a + " (lines 1-60). Ask again for the full text.]", 0},
		{8, "[stet: a.go lines 1-60 of 60 the same: 1-2 shown above by " + a + " (lines 1-2 there), 3-4 written by " + write + ", 5-60 shown above by " + a + " (lines 5-60 of a.go)]", 0},
		{8, "1\tthe text of line 1 of a.go\n[stet: a.go lines 2-60 unchanged: shown above by an earlier read (lines 1-60)]", 0},
		{8, "[stet: a.go lines 1-60 unchanged: shown above by nobody (lines 1-60). Ask again for the full text.]", 1},
		{8, "[stet: a.go lines 1-60 unchanged: shown above by nobody (lines 900-960)]", 1},
		{8, "[stet: a.go lines 1-60 unchanged: shown above by " + a + " (lines 1-59)]", 1},
		{8, "[stet: a.go lines 1-60 unchanged: shown above by " + a + " (lines 2-61 there)]", 1},
		{8, "[stet: a.go lines 1-60 unchanged: 1-2 shown above by " + a + ", 4-60 shown above by " + a + "]", 1},
		{8, "[stet: a.go lines 1-60 unchanged: 1-2 shown above by " + a + ", 3-5 written by " + write + ", 6-60 shown above by " + a + "]", 1},
		{8, "[stet: a.go lines 1-60 unchanged: shown above by " + out + "]", 1},
		{8, "[stet: a.go lines 1-60 unchanged: shown above by call_9 (lines 1-60)]", 1},
		{8, "[stet: a.go lines 1-70 unchanged: shown above by " + a + " (lines 1-70)]", 1},
		{10, "[stet: output lines 1-30 unchanged: shown above by " + out + ". Ask again for the full text.]", 0},
		{10, "[stet: output lines 1-30 unchanged: shown above by " + out + " (lines 4-33 there)]", 1},
		{10, "[stet: output of an older command left out: make one Run it again if needed.]", 0},
	} {
		if got := danglingWith(t, k, map[int]string{test.at: test.text}); got != test.want {
			t.Errorf("%d dangling, want %d: %s", got, test.want, test.text)
		}
	}
	// The named result must be whole itself.
	if n := danglingWith(t, k, map[int]string{
		2: "[stet: a.go: an older read, left out. Read it again if needed.]",
		8: "[stet: a.go lines 1-60 unchanged: shown above by " + a + " (lines 1-60)]",
	}); n != 1 {
		t.Errorf("%d dangling where the bearer left", n)
	}
}

// TRIM-16: a pointer to a result that is one JSON value is checked against its text, by lines of files and of outputs, and
// against the strings in it.
func TestFalsePointersDangleInJSON(t *testing.T) {
	var lines []string
	var page strings.Builder
	for n := 1; n <= 30; n++ {
		lines = append(lines, fmt.Sprintf("  \"line %d\": \"the value of line %d\",", n, n))
		fmt.Fprintf(&page, "%4d | the text of line %d\\n", n, n)
	}
	file := "{\n" + strings.Join(lines, "\n") + "\n  \"last\": null\n}\n"
	head := "{\n" + strings.Join(lines[:20], "\n") + "\n" // this part is not valid JSON
	envelope := func(content string) string {
		return `{"status":"success","data":{"content":"` + content + `","truncated":false},"text":"Read 30 lines","stats":{"total_lines":30},"context":{"cwd":"."}}`
	}
	k := &talk{}
	k.say(llm.User, "go on")
	k.call("bash", `{"command":"jq . x | head -21"}`, head)                     // 1, 2
	k.call("bash", `{"command":"jq . x"}`, file)                                // 3, 4
	k.call("bash", `{"command":"jq . y"}`, file)                                // 5, 6
	k.call("Read", `{"path":"/home/me/project/b.go"}`, envelope(page.String())) // 7, 8
	k.call("Read", `{"path":"/home/me/project/b.go"}`, envelope(page.String())) // 9, 10
	k.say(llm.Assistant, "done")
	rest := "\n" + strings.Join(lines[20:], "\n") + "\n  \"last\": null\n}\n"
	whole := "[stet: output lines 1-33 unchanged: shown above by call_3. Ask again for the full text.]"
	upper := "[stet: output lines 1-21 unchanged: shown above by call_1. Ask again for the full text.]"
	read := "[stet: b.go lines 1-30 unchanged: shown above by call_7 (lines 1-30). Ask again for the full text.]"
	for name, test := range map[string]struct {
		texts map[int]string
		want  int
	}{
		"an output":                 {map[int]string{6: whole}, 0},
		"an output, in part":        {map[int]string{4: upper + rest}, 0},
		"two of them":               {map[int]string{4: upper + rest, 6: upper + rest}, 0},
		"of one that was cut":       {map[int]string{2: "[cut]", 4: upper + rest, 6: upper + rest}, 2},
		"not as many lines":         {map[int]string{6: "[stet: output lines 1-40 unchanged: shown above by call_3]\n"}, 1},
		"an envelope":               {map[int]string{10: envelope(read)}, 0},
		"an envelope that was cut":  {map[int]string{8: envelope("[cut]"), 10: envelope(read)}, 1},
		"an envelope, other lines":  {map[int]string{10: envelope("[stet: b.go lines 1-30 unchanged: shown above by call_7 (lines 2-31 there)]")}, 1},
		"an array with a line last": {map[int]string{6: `["[stet: output lines 1-33 unchanged: shown above by call_3]"]`}, 0},
	} {
		if got := danglingWith(t, k, test.texts); got != test.want {
			t.Errorf("%s: %d dangling, want %d", name, got, test.want)
		}
	}
}

// TRIM-16: the text that an edit replaced, a listing and a plan may leave only if the request has what replaces them.
func TestFalseReplacementsDangle(t *testing.T) {
	edit := func(old string) string {
		return fmt.Sprintf(`{"file_path":"/home/me/project/a.go","old_string":%q,"new_string":"x"}`, old)
	}
	k := &talk{}
	k.say(llm.User, "go on")
	k.read("a.go", 5)                                                                          // 1, 2
	k.call("Edit", edit("line 2 of a.go\nthe text of line 3 of a.go\nthe text of"), "done")    // 3, 4
	k.call("Edit", edit("the text of line 3 of a.go\n247,\nthe text of line 4 of a.go"), "ok") // 5, 6
	k.say(llm.Assistant, "done")
	for _, test := range []struct {
		name  string
		texts map[int]string
		want  int
	}{
		{"all there", map[int]string{3: edit(replacedMark)}, 0},
		{"a short line is nowhere", map[int]string{5: edit(replacedMark)}, 1},
		{"the read left", map[int]string{2: "[stet: a.go: an older read, left out. Read it again if needed.]", 3: edit(replacedMark)}, 1},
	} {
		if got := danglingWith(t, k, test.texts); got != test.want {
			t.Errorf("%s: %d dangling, want %d", test.name, got, test.want)
		}
	}
}

// TRIM-16: if the read that an agent's own stub means has left, the stub dangles.
func TestStubsDangle(t *testing.T) {
	const stub = "File unchanged since last read. The content from the earlier Read tool_result in this conversation is still current — refer to that instead of re-reading."
	k := &talk{}
	k.say(llm.User, "go on")
	k.read("a.go", 100) // 1, 2
	k.read("b.go", 100) // 3, 4
	k.at += time.Hour
	k.call("Read", `{"file_path":"/home/me/project/a.go"}`, stub) // 5, 6
	k.call("Read", `{"file_path":"/home/me/project/c.go"}`, stub) // 7, 8: there is no read before it
	k.say(llm.Assistant, "done")
	left := "[stet: x: an older read, left out. Read it again if needed.]"
	for _, test := range []struct {
		texts map[int]string
		want  int
	}{
		{nil, 0},
		{map[int]string{2: left}, 1},
		{map[int]string{4: left}, 0},
		{map[int]string{2: left, 6: left}, 0},
	} {
		if got := danglingWith(t, k, test.texts); got != test.want {
			t.Errorf("%v: %d dangling, want %d", test.texts, got, test.want)
		}
	}
}
