package trim

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stet-dev/stet/trim/dialect"
)

// drawPointer draws a pointer that may name several sources, in the same file and in others.
func drawPointer(t *rapid.T) *pointer {
	l := newLedger()
	name := rapid.SampledFrom([]string{"a.go", "src/[id]/a b.ts", `C:\a lines 3-4.go`, "\"quoted\"\n.go", strings.Repeat("long/", 60), outputName})
	p := &pointer{
		name: name.Draw(t, "name"), first: rapid.IntRange(1, 5000).Draw(t, "first"),
		total: rapid.SampledFrom([]int{0, 9000}).Draw(t, "total"), ask: rapid.Bool().Draw(t, "ask"),
	}
	p.file = l.file(p.name)
	at := rapid.IntRange(0, 9).Draw(t, "at")
	for range rapid.IntRange(1, maxRuns).Draw(t, "runs") {
		n := rapid.IntRange(1, 30).Draw(t, "lines")
		from := &passage{
			source: source{call: rapid.SampledFrom([]string{"", "call_1", "toolu_[1]]"}).Draw(t, "call"), written: rapid.Bool().Draw(t, "written")},
			file:   rapid.SampledFrom([]*file{p.file, l.file("other.go"), l.file(outputs)}).Draw(t, "file"),
			first:  rapid.SampledFrom([]int{0, p.first, 70}).Draw(t, "numbered from"), lines: make([]string, n+at),
		}
		p.runs = append(p.runs, run{from: at, to: at + n, passage: from, at: rapid.IntRange(0, at).Draw(t, "in the passage")})
		at += n
	}
	return p
}

// Every pointer that stet writes is recognised at any place of a result, with the same meaning.
func TestPointerIsRecognised(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPointer(t)
		line := p.String()
		if !isPlaceholder(line) || strings.ContainsAny(line, `"\`) {
			t.Fatalf("this cannot stand in a JSON string: %s", line)
		}
		for _, form := range []string{"%s", "%s\n", "head\n%s\nfoot", "head\r\n%s\r\nfoot", `{"content":"%s"}`, `{"content":"head\n%s\nfoot"}`} {
			text := fmt.Sprintf(form, line)
			want := []foundPointer{{plain(p.name, 200), p.lines(), strings.Index(text, line) + len(line)}}
			if diff := cmp.Diff(want, findPointers(text), cmp.AllowUnexported(foundPointer{}, span{})); diff != "" {
				t.Fatalf("%s: %s", text, diff)
			}
		}
	})
}

// Texts that only look like a pointer are not recognised as one.
func TestNoPointers(t *testing.T) {
	const ask = ". Ask again for the full text.]"
	for _, text := range []string{
		"",
		mark,
		"[stet: a.go lines 1-9 unchanged: ]",
		"[stet: a.go lines 9-1 unchanged: shown above by call_1" + ask,
		"[stet: a.go lines 1-9 unchanged: shown above by call_1",
		"[stet: a.go lines 1-9 unchanged: shown above by call_1" + ask + " // [a comment]",
		"[stet: a.go lines 1-9 changed: shown above by call_1" + ask,
		"see [stet: a.go lines 1-9 unchanged: shown above by call_1" + ask,
		`see "[stet: a.go lines 1-9 unchanged: shown above by call_1` + ask + `"`,
		"[stet: a.go lines 1-9\nunchanged: shown above by call_1" + ask,
		idlePlaceholder([]string{"a.go"}), replacedPlaceholder, unfitPlaceholder, repeatedLine(4),
		wording{}.older([]string{"a.go"}, "1-9", false),
		wording{}.command(&dialect.Action{Op: dialect.Shell, Command: "cat a.go lines 1-9 unchanged: shown above by call_1"}),
	} {
		if found := findPointers(text); len(found) > 0 {
			t.Errorf("%q: %+v", text, found)
		}
	}
}

// A placeholder shows no command that would do something else: a backslash is not another character.
func TestCommandWithBackslash(t *testing.T) {
	text := wording{}.command(&dialect.Action{Op: dialect.Shell, Command: `grep -A 10 'invalidate\(\)' tui.ts`})
	if !strings.Contains(text, "grep -A 10 'invalidate…(…)' tui.ts") {
		t.Error(text)
	}
}

// One text contains two pointers, one of each form.
func TestPointersOfBothForms(t *testing.T) {
	for _, end := range []string{"\n", escapedBreak} {
		own := findPointers("[stet: a.go lines 1-8 the same: shown above by call_6 (lines 1-8 there)]" + end + "9\tx" + end + "[stet: b.go lines 10-15 unchanged: written by call_9]")
		if len(own) != 2 || own[0].name != "a.go" || own[0].lines.last != 8 || own[1].name != "b.go" || own[1].lines.last != 15 {
			t.Errorf("%+v", own)
		}
	}
}

func FuzzPointers(f *testing.F) {
	f.Add("[stet: a.go lines 1-20 of 30 unchanged: shown above by call_1 (lines 1-20). Ask again for the full text.]\n21\tx")
	f.Fuzz(func(t *testing.T, in string) {
		for _, s := range findPointers(in) {
			if s.lines.first > s.lines.last || s.end > len(in) {
				t.Fatalf("%+v", s)
			}
			blockAfter(in[s.end:], s.lines.last+1)
		}
	})
}
