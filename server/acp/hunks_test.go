package acp

import (
	"strings"
	"testing"

	"github.com/stet-dev/stet/internal/diff"
	"github.com/stet-dev/stet/tool"
)

// The shown hunks change the old text into the new one.
func TestSides(t *testing.T) {
	for _, c := range []struct{ before, after string }{
		{"a\nb\n", "a\nc\n"}, {"", "new\n"}, {"gone\n", ""}, {"no end", "no end\n"}, {"a\n", "a"}, {"-- x\n++ y\n", "@@ -1 +1 @@\n\\ z\n"},
		{"\n", "\n\n"}, {"a\r\nb\r\n", "a\r\nB\r\n"}, {strings.Repeat("x\n", 40), "y\n" + strings.Repeat("x\n", 40) + "z\n"},
	} {
		var made strings.Builder
		rest, at := c.before, 1
		for _, h := range diff.Lines(c.before, c.after, diff.Options{}).Hunks {
			start := h.OldStart
			if h.OldLines == 0 {
				start++
			}
			for ; at < start; at++ {
				line, tail, _ := strings.Cut(rest, "\n")
				made.WriteString(line + "\n")
				rest = tail
			}
			before, after := sides(h)
			var found bool
			if rest, found = strings.CutPrefix(rest, before); !found {
				t.Fatalf("%q to %q: %q is not where it should be", c.before, c.after, before)
			}
			at += h.OldLines
			made.WriteString(after)
		}
		if got := made.String() + rest; got != c.after {
			t.Fatalf("%q to %q: %q", c.before, c.after, got)
		}
	}
}

// If a text is not a complete diff, it is shown unchanged: a part of it must not look like the whole change.
func TestDiffContentOfText(t *testing.T) {
	text := "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n… cut"
	shown := diffContent("/x", tool.ParseDiff(text))
	if len(shown) != 1 || shown[0].Content == nil || !strings.Contains(shown[0].Content.Content.Text.Text, text) {
		t.Errorf("shown: %+v", shown)
	}
}
