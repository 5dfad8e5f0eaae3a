package web

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stet-dev/stet/internal/diff"
)

// texts are made of few different lines, so that they have much in common.
func texts() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "", "-- x", "++ y", `\ No newline at end of file`, "@@ -1 +1 @@", "d\r"}), 0, 40).Draw(t, "lines")
		s := strings.Join(lines, "\n")
		if rapid.Bool().Draw(t, "end") {
			s += "\n"
		}
		return s
	})
}

// apply makes the chosen changes to the text before: what keep does, from the
// other side.
func apply(before string, hunks []diff.Hunk, kept []int) string {
	lines := slices.Collect(strings.Lines(before))
	var b strings.Builder
	at := 0
	for n, h := range hunks {
		start := h.OldStart
		if h.OldLines > 0 {
			start--
		}
		b.WriteString(strings.Join(lines[at:start], ""))
		at = start + h.OldLines
		if !slices.Contains(kept, n) {
			b.WriteString(strings.Join(lines[start:at], ""))
			continue
		}
		for _, l := range h.Lines {
			if l.Kind != diff.Removed {
				b.WriteString(l.Text)
			}
		}
	}
	b.WriteString(strings.Join(lines[at:], ""))
	return b.String()
}

// Any choice of changes gives the text that has them and no others, byte for
// byte. (FILE-6)
func TestKeep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := texts().Draw(t, "before"), texts().Draw(t, "after")
		context := rapid.SampledFrom([]int{0, 1, -1}).Draw(t, "context")
		d := diff.Lines(before, after, diff.Options{Context: context})
		files, err := parseDiff(d.Unified("a/x y", "b/x y"))
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Hunks) == 0 {
			if len(files) > 0 {
				t.Fatalf("%d files in the diff of equal texts", len(files))
			}
			return
		}
		if len(files) != 1 || files[0].Path != "x y" || len(files[0].Hunks) != len(d.Hunks) {
			t.Fatalf("parsed: %+v", files)
		}
		var kept []int
		for n := range d.Hunks {
			if rapid.Bool().Draw(t, "keep") {
				kept = append(kept, n)
			}
		}
		got, err := keep(after, files[0].Hunks, kept)
		if err != nil {
			t.Fatal(err)
		}
		if want := apply(before, d.Hunks, kept); got != want {
			t.Fatalf("changes %v of\n%q to\n%q:\n%q, want\n%q", kept, before, after, got, want)
		}
	})
}

// A diff of several files is told apart, with names that are quoted.
func TestParseFiles(t *testing.T) {
	text := diff.Lines("a\n", "b\n", diff.Options{}).Unified("a/one.txt", "b/one.txt") +
		diff.Lines("", "new\n", diff.Options{}).Unified("/dev/null", "b/two\u202e.txt") +
		diff.Lines("old\n", "", diff.Options{}).Unified("a/three.txt", "/dev/null")
	files, err := parseDiff(text)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Path)
	}
	if want := []string{"one.txt", "two\u202e.txt", "three.txt"}; !slices.Equal(names, want) {
		t.Errorf("files %q, want %q", names, want)
	}
}

// A text that is not the one of the diff is refused, never written wrong.
func TestKeepOther(t *testing.T) {
	files, err := parseDiff(diff.Lines("a\nb\nc\n", "a\nB\nc\n", diff.Options{}).Unified("a/x", "b/x"))
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{"", "a\n", "a\nb\nc\n", "x\na\nB\nc\n"} {
		if got, err := keep(other, files[0].Hunks, nil); err == nil {
			t.Errorf("%q became %q", other, got)
		}
	}
	for _, k := range []int{-1, 1} {
		if _, err := keep("a\nB\nc\n", files[0].Hunks, []int{k}); err == nil {
			t.Errorf("there is a change %d", k)
		}
	}
}

func FuzzParseDiff(f *testing.F) {
	f.Add(diff.Lines("a\nb", "a\nc\n", diff.Options{}).Unified("a/x", "b/x"), "a\nc\n")
	f.Add("@@ -1,99999999999 +1 @@\n", "")
	f.Add("@@ -0,0 +9,2 @@\n+a\n+b\n", "x\n")
	f.Add("--- \n+++ \n@@ -1 +1 @@\n\n", "")
	f.Fuzz(func(t *testing.T, text, after string) {
		files, err := parseDiff(text)
		if err != nil {
			return
		}
		for _, file := range files {
			_, _ = keep(after, file.Hunks, []int{0}) // it must not panic
		}
	})
}
