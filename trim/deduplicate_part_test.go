package trim

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stet-dev/stet/trim/dialect"
	"pgregory.net/rapid"
)

// lineRange returns lines a to b of a file as one text.
func lineRange(format string, a, b int) string {
	var s strings.Builder
	for n := a; n <= b; n++ {
		fmt.Fprintf(&s, format+"\n", n, n)
	}
	return s.String()
}

const cat = "%6d\tthe text of line %d, as the file has it"

// TRK-9, context-engine.md "Admit": if some lines of a read stand in the request, only the others are sent, in the agent's own
// form. A pointer stands at each gap.
func TestMissingLinesOnly(t *testing.T) {
	for name, tt := range map[string]struct{ tool, args, first, second, begin, lines string }{
		"claude code": {
			"Read", `{"file_path":"/p/a.ts"%s}`, lineRange(cat, 1, 40), lineRange(cat, 1, 60),
			"[stet: a.ts lines 1-39 unchanged: shown above by call_1 (lines 1-40). Ask again for the full text.]\n", lineRange(cat, 40, 60),
		},
		"opencode": {
			"read", `{"filePath":"a.ts"%s}`,
			"<path>a.ts</path>\n<type>file</type>\n<content>\n" + lineRange("%d: the text of line %d, as it is", 1, 40) + "\n(File has more lines. Use 'offset' parameter to read beyond line 40)\n</content>",
			"<path>a.ts</path>\n<type>file</type>\n<content>\n" + lineRange("%d: the text of line %d, as it is", 1, 60) + "\n(End of file - total 60 lines)\n</content>",
			"<path>a.ts</path>\n<type>file</type>\n<content>\n[stet: a.ts lines 1-39 of 60 unchanged: shown above by call_1 (lines 1-40). Ask again for the full text.]\n40: the text", "\n(End of file - total 60 lines)\n</content>",
		},
		"a shell": {
			"exec_command", `{"cmd":"sed -n '%d,%dp' a.ts"}`, lineRange("%.0sthe text of line %d, as the file has it", 1, 40), lineRange("%.0sthe text of line %d, as the file has it", 1, 60),
			"[stet: a.ts lines 1-39 unchanged: shown above by call_1 (lines 1-40). Ask again for the full text.]\n", lineRange("%.0sthe text of line %d, as the file has it", 40, 60),
		},
	} {
		c := &conv{clock: noon}
		first, second := strings.ReplaceAll(tt.args, "%s", `,"limit":40`), strings.ReplaceAll(tt.args, "%s", `,"limit":60`)
		if name == "a shell" {
			first, second = fmt.Sprintf(tt.args, 1, 40), fmt.Sprintf(tt.args, 1, 60)
		}
		c.call(tt.tool, first, tt.first)
		at := c.call(tt.tool, second, tt.second)
		c.call(tt.tool, second, tt.second) // asks again
		p := expectLeft(t, lossless(t), c, at)
		if text := p.Edits[0].Text; !strings.HasPrefix(text, tt.begin) || !strings.HasSuffix(text, tt.lines) || p.Omissions[0].Reason != Partial {
			t.Errorf("%s: %s\n%s", name, p.Omissions[0].Reason, text)
		}
	}
}

// TRK-9: the new text of an edit counts as shown, and so do the lines of an older read around it.
func TestReadAfterEdit(t *testing.T) {
	before := lineRange(cat, 1, 60)
	old, fresh := "the text of line 30, as the file has it", "line 30, written anew\nand another one\nand a third one"
	var after strings.Builder
	for n := 1; n <= 62; n++ {
		text := fmt.Sprintf("the text of line %d, as the file has it", n)
		switch {
		case n >= 30 && n <= 32:
			text = strings.Split(fresh, "\n")[n-30]
		case n > 32:
			text = fmt.Sprintf("the text of line %d, as the file has it", n-2)
		}
		fmt.Fprintf(&after, "%6d\t%s\n", n, text)
	}
	c := &conv{clock: noon}
	c.call("Read", `{"file_path":"/p/a.ts"}`, before)
	c.call("Edit", map[string]any{"file_path": "/p/a.ts", "old_string": old, "new_string": fresh}, "The file /p/a.ts has been updated.")
	at := c.call("Read", `{"file_path":"/p/a.ts"}`, after.String())
	p := expectLeft(t, lossless(t), c, at)
	const want = "[stet: a.ts lines 1-62 of 62 unchanged: 1-29 shown above by call_1, 30-32 written by call_2, 33-62 shown above by call_1 (lines 31-60 there). Ask again for the full text.]\n"
	if p.Edits[0].Text != want {
		t.Errorf("%q", p.Edits[0].Text)
	}

	// A failed edit writes nothing to which a pointer could point.
	c.messages[3].Parts[0].Text, c.messages[3].Parts[0].IsError = "<tool_use_error>String to replace not found</tool_use_error>", true
	if text := expectLeft(t, lossless(t), c, at).Edits[0].Text; strings.Contains(text, "call_2") || !strings.Contains(text, "written anew") {
		t.Errorf("%q", text)
	}
}

// The content of a write counts as shown. A line that an edit changed in part does not.
func TestReadAfterWrite(t *testing.T) {
	c := &conv{clock: noon}
	content := lineRange("line %d of %d", 1, 50)
	c.call("Write", map[string]any{"file_path": "/p/a.ts", "content": content}, "File created")
	c.call("Edit", map[string]any{"file_path": "/p/a.ts", "old_string": "20 of", "new_string": "20, not of"}, "The file has been updated.")
	at := c.call("Read", `{"file_path":"/p/a.ts"}`, lineRange("%6d\tline %[1]d of %d", 1, 19)+"    20\tline 20, not of 20\n"+lineRange("%6d\tline %[1]d of %d", 21, 50))
	p := expectLeft(t, lossless(t), c, at)
	text := p.Edits[0].Text
	for _, want := range []string{"[stet: a.ts lines 1-18 of 50 unchanged: written by call_1. Ask again for the full text.]\n", "    20\tline 20, not of 20\n    21\t", "[stet: a.ts lines 22-50 of 50 unchanged: written by call_1]\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// If the file was changed in between, a read is not asked again.
func TestAskedAfterAnEdit(t *testing.T) {
	c := &conv{clock: noon}
	c.read("a.ts", 1, 60, 60)
	again := c.read("a.ts", 1, 60, 60)
	c.call("filesystem-edit", map[string]any{"filePath": "a.ts", "searchContent": "nothing that was shown", "replaceContent": "other"}, "Edited.")
	third := c.read("a.ts", 1, 60, 60)
	c.read("a.ts", 1, 60, 60)
	expectLeft(t, lossless(t), c, again, third)
}

// A copy of a file, or a file that was moved, counts as shown under its old path.
func TestCopyOfAFile(t *testing.T) {
	c := &conv{clock: noon}
	c.read("a/x.ts", 1, 60, 60)
	copied := c.read("b/x.ts", 1, 60, 60)
	c.read("b/x.ts", 1, 60, 60)
	p := expectLeft(t, lossless(t), c, copied)
	if text := p.Edits[0].Text; !strings.Contains(text, "the same: shown above by call_1 (lines 1-60 of a/x.ts)") {
		t.Errorf("%q", text)
	}
	if own := findPointers(p.Edits[0].Text); len(own) != 1 || own[0].lines.last != 60 {
		t.Errorf("own line not recognised: %v", own)
	}
}

// Content further back than half of the window is sent again.
func TestFarBack(t *testing.T) {
	c := &conv{clock: noon}
	c.read("a.ts", 1, 60, 60)
	c.call("terminal-execute", `{"command":"make"}`, strings.Repeat("x", 30_000))
	again := c.read("a.ts", 1, 60, 60)
	expectLeft(t, lossless(t), c, again)
	expectLeft(t, newEngine(t, Config{Policy: Lossless, Window: 12_000}), c)
	expectLeft(t, newEngine(t, Config{Policy: Lossless, Window: 20_000}), c, again)
}

// Runs do not overlap and are in order. Each stands where it says, and none is too short.
func TestMatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newLedger()
		f, other := l.file("a.go"), l.file("b.go")
		alphabet := rapid.SampledFrom([]int{3, 40}).Draw(t, "alphabet")
		draw := func(n int) []string {
			lines := make([]string, rapid.IntRange(1, n).Draw(t, "lines"))
			for i := range lines {
				k := rapid.IntRange(0, alphabet).Draw(t, "line")
				lines[i] = strings.Repeat("z", k%9) + fmt.Sprint(k)
			}
			return lines
		}
		for i := range rapid.IntRange(1, 6).Draw(t, "texts") {
			of := rapid.SampledFrom([]*file{f, f, other}).Draw(t, "file")
			of.show(source{at: PartRef{i, 0}, written: rapid.Bool().Draw(t, "written")}, rapid.IntRange(0, 9).Draw(t, "first"), draw(30))
		}
		lines := draw(40)
		if rapid.Bool().Draw(t, "known") {
			lines = rapid.SampledFrom(l.passages).Draw(t, "which").lines
		}
		runs := f.match(rapid.IntRange(1, 9).Draw(t, "number"), lines, reach{own: PartRef{-1, -1}})
		at := 0
		for _, r := range runs {
			if r.from < at || r.to <= r.from || r.to > len(lines) {
				t.Fatalf("%v behind line %d", r, at)
			}
			at = r.to
			in := r.passage
			if !reflect.DeepEqual(lines[r.from:r.to], in.lines[r.at:r.at+r.len()]) {
				t.Fatalf("%v is not the same", r)
			}
			if in.file == f && r.len() < minRun && !in.written || in.file != f && r.len() < minOtherRun {
				t.Fatalf("%v is too short", r)
			}
		}
	})
}

// Stretches lie inside the runs and outside of new lines. They have no more pieces than a placeholder may name.
func TestStretches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var runs []run
		known := make(map[int]bool)
		at := 0
		for i := range rapid.IntRange(0, 12).Draw(t, "runs") {
			at += rapid.SampledFrom([]int{0, 0, 1, 9}).Draw(t, "new")
			r := run{from: at, to: at + rapid.IntRange(1, 12).Draw(t, "lines"), passage: &passage{first: i}, at: 100 * i}
			for k := r.from; k < r.to; k++ {
				known[k] = true
			}
			at = r.to
			runs = append(runs, r)
		}
		n := at + rapid.IntRange(0, 9).Draw(t, "rest")
		rows := make([]int, n+1)
		for i := range rows {
			rows[i] = 10 * i
		}
		end := 0
		for _, s := range (&torn{rows: rows, seam: seam}).stretches(runs) {
			if len(s) == 0 || len(s) > maxRuns {
				t.Fatalf("%d pieces", len(s))
			}
			for i, r := range s {
				if r.len() <= 0 || r.from < end || i > 0 && r.from != s[i-1].to {
					t.Fatalf("%v behind line %d", s, end)
				}
				of := r.passage.first
				if r.at-100*of != r.from-runs[of].from || r.to > runs[of].to {
					t.Fatalf("%v is not of run %v", r, runs[of])
				}
				end = r.to
			}
			for k := s[0].from - seam; k < s[0].from; k++ {
				if k >= 0 && !known[k] {
					t.Fatalf("line %d is new, and %d is left out", k, s[0].from)
				}
			}
			for k := end; k < min(end+seam, n); k++ {
				if !known[k] {
					t.Fatalf("line %d is new, and %d is left out", k, end-1)
				}
			}
		}
	})
}

// rowsOf finds the numbered rows with any text around them, or finds none.
func TestRowsOf(t *testing.T) {
	for _, tt := range []struct {
		text  string
		s     dialect.Section
		first int // offset of the first row, -1 for none
	}{
		{"1\ta\n2\tb\n", dialect.Section{First: 1, Lines: []string{"a", "b"}}, 0},
		{"head\n     9→a\n    10→b\nfoot", dialect.Section{First: 9, Lines: []string{"a", "b"}}, 5},
		{"a\r\nb", dialect.Section{First: 1, Lines: []string{"a", "b"}}, 0},
		{"00001| \n00002| b\n", dialect.Section{First: 1, Lines: []string{"", "b"}}, 0},
		{"L7: a\nL8: b", dialect.Section{First: 7, Lines: []string{"a", "b"}}, 0},
		{`{"content":"a\nb"}`, dialect.Section{First: 1, Lines: []string{"a", "b"}}, 12},
		{`[{"path":"x","result":"7 | a \"\\n\"\n8 | b"}]`, dialect.Section{First: 7, Lines: []string{`a "\n"`, "b"}}, 23},
		{`{"content":"a\nc"}`, dialect.Section{First: 1, Lines: []string{"a", "b"}}, -1},
		{"1\ta\n3\tb\n", dialect.Section{First: 1, Lines: []string{"a", "b"}}, -1},
		{"12a\n12b\n", dialect.Section{First: 1, Lines: []string{"a", "b"}}, -1},
	} {
		tt.s.End = len(tt.text)
		rows := rowsOf(tt.text, &tt.s)
		if tt.first < 0 && rows != nil || tt.first >= 0 && (len(rows) != len(tt.s.Lines)+1 || rows[0] != tt.first) {
			t.Errorf("%q: %v", tt.text, rows)
		}
	}
}
