package approval

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stet-dev/stet/internal/diff"
	"github.com/stet-dev/stet/tool"
)

// texts have few different lines, so that they have much in common.
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

// apply applies the chosen hunks to the text before. The result must equal that of keep.
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

// Any choice of changes gives the text with exactly these changes, byte for byte. (FILE-6)
func TestKeep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := texts().Draw(t, "before"), texts().Draw(t, "after")
		context := rapid.SampledFrom([]int{0, 1, -1}).Draw(t, "context")
		d := diff.Lines(before, after, diff.Options{Context: context})
		var kept []int
		for n := range d.Hunks {
			if rapid.Bool().Draw(t, "keep") {
				kept = append(kept, n)
			}
		}
		got, err := keep(after, d.Hunks, kept)
		if err != nil {
			t.Fatal(err)
		}
		if want := apply(before, d.Hunks, kept); got != want {
			t.Fatalf("changes %v of\n%q to\n%q:\n%q, want\n%q", kept, before, after, got, want)
		}
	})
}

// A text that does not belong to the diff is refused, and never written wrong.
func TestKeepOther(t *testing.T) {
	hunks := diff.Lines("a\nb\nc\n", "a\nB\nc\n", diff.Options{}).Hunks
	for _, other := range []string{"", "a\n", "a\nb\nc\n", "x\na\nB\nc\n"} {
		if got, err := keep(other, hunks, nil); err == nil {
			t.Errorf("%q became %q", other, got)
		}
	}
	for _, k := range []int{-1, 1} {
		if _, err := keep("a\nB\nc\n", hunks, []int{k}); err == nil {
			t.Errorf("there is a change %d", k)
		}
	}
}

// Hunks also come from other processes: no hunk and no text makes keep panic.
func FuzzKeep(f *testing.F) {
	f.Add(diff.Lines("a\nb", "a\nc\n", diff.Options{}).Unified("a/x", "b/x"), "a\nc\n")
	f.Add("--- a/x\n+++ b/x\n@@ -0,0 +9,2 @@\n+a\n+b\n", "x\n")
	f.Fuzz(func(t *testing.T, text, after string) {
		for _, file := range tool.ParseDiff(text).Files {
			_, _ = keep(after, file.Hunks, []int{0})
		}
	})
}
