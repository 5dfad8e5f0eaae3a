package acp

import (
	"strings"
	"testing"

	"github.com/stet-dev/stet/internal/diff"
)

func TestHunks(t *testing.T) {
	for _, c := range []struct{ before, after string }{
		{"a\nb\n", "a\nc\n"}, {"", "new\n"}, {"gone\n", ""}, {"no end", "no end\n"}, {"a\n", "a"}, {"-- x\n++ y\n", "@@ -1 +1 @@\n\\ z\n"},
		{"\n", "\n\n"}, {"a\r\nb\r\n", "a\r\nB\r\n"}, {strings.Repeat("x\n", 40), "y\n" + strings.Repeat("x\n", 40) + "z\n"},
	} {
		checkHunks(t, c.before, c.after)
	}
	for _, bad := range []string{
		"", "text", "--- a\n+++ b\n", "--- a\n+++ b\n@@ nonsense @@\n", "--- a\n+++ b\n@@ -1,2 +1 @@\n a\n", "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\nmore\n",
		"--- a\n+++ b\n@@ -1 +1 @@\n*a\n", "--- a\n+++ b\n@@ -0 +1,-5 @@\n", "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n… cut",
	} {
		if got, ok := hunks(bad); ok && len(got) > 0 {
			t.Errorf("%q: %+v", bad, got)
		}
	}
}

// checkHunks reads the diff of two texts, and makes the second of the first by
// what was read.
func checkHunks(t *testing.T, before, after string) {
	t.Helper()
	d := diff.Lines(before, after, diff.Options{})
	unified := d.Unified("a/x", "b/x")
	if unified == "" {
		return
	}
	all, ok := hunks(unified)
	if !ok || len(all) != len(d.Hunks) {
		t.Fatalf("%q to %q: not read: %s", before, after, unified)
	}
	var made strings.Builder
	rest, at := before, 1
	for i, h := range all {
		start := d.Hunks[i].OldStart
		if d.Hunks[i].OldLines == 0 {
			start++
		}
		for ; at < start; at++ {
			line, tail, _ := strings.Cut(rest, "\n")
			made.WriteString(line + "\n")
			rest = tail
		}
		var found bool
		if rest, found = strings.CutPrefix(rest, h.before); !found {
			t.Fatalf("%q to %q: %q is not where it should be", before, after, h.before)
		}
		at += d.Hunks[i].OldLines
		made.WriteString(h.after)
	}
	if got := made.String() + rest; got != after {
		t.Fatalf("%q to %q: %q", before, after, got)
	}
}

func FuzzHunks(f *testing.F) {
	f.Add("a\nb\n", "a\nc", "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n")
	f.Fuzz(func(t *testing.T, before, after, any string) {
		checkHunks(t, before, after)
		hunks(any)
		diffContent("/x", any, false)
	})
}
