package diff

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// checkParse checks that Parse returns the change from its text.
func checkParse(t *testing.T, old, new string) {
	t.Helper()
	d := Lines(old, new, Options{})
	if len(d.Hunks) == 0 {
		return
	}
	want := []File{
		{Path: "x y", Created: old == "", Diff: d},
		{Path: "two\u202e.txt", Deleted: new == "", Diff: d},
	}
	got, ok := Parse(want[0].Text() + want[1].Text())
	if !ok {
		t.Fatalf("%q to %q is not read", old, new)
	}
	if differ := cmp.Diff(want, got); differ != "" {
		t.Fatal(differ)
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ old, new string }{
		{"a\nb\n", "a\nc\n"}, {"", "new\n"}, {"gone\n", ""}, {"no end", "no end\n"}, {"a\n", "a"}, {"-- x\n++ y\n", "@@ -1 +1 @@\n\\ z\n"},
		{"\n", "\n\n"}, {"a\r\nb\r\n", "a\r\nB\r\n"}, {strings.Repeat("x\n", 40), "y\n" + strings.Repeat("x\n", 40) + "z\n"}, {"same", "same"},
	} {
		checkParse(t, c.old, c.new)
	}
	if files, ok := Parse(""); !ok || files != nil {
		t.Errorf("no text: %+v, %v", files, ok)
	}
}

// A text that [File.Text] has not made is refused completely.
func TestParseOther(t *testing.T) {
	const head = "--- a/x\n+++ b/x\n"
	for _, bad := range []string{
		"text", head, head + "@@ nonsense @@\n", head + "@@ -1,2 +1 @@\n a\n", head + "@@ -1 +1 @@\n-a\n+b\nmore\n",
		head + "@@ -1 +1 @@\n*a\n", head + "@@ -0 +1,-5 @@\n", head + "@@ -1 +1 @@\n-a\n+b\n… cut", head + "@@ -1 +1 @@\n\n",
		head + "@@ -1,99999999999 +1 @@\n", head + "@@ -1,1 +1 @@\n-a\n+b\n", head + "@@ -1 +1 @@ func\n-a\n+b\n",
		"--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", "words\n" + head + "@@ -1 +1 @@\n-a\n+b\n", "@@ -1 +1 @@\n-a\n+b\n",
	} {
		if files, ok := Parse(bad); ok {
			t.Errorf("%q: %+v", bad, files)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("a\nb\n", "a\nc", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n")
	f.Fuzz(func(t *testing.T, old, new, text string) {
		checkParse(t, old, new)
		files, ok := Parse(text)
		var again strings.Builder
		for _, file := range files {
			again.WriteString(file.Text())
		}
		if ok && again.String() != text {
			t.Errorf("%q became %q", text, again.String())
		}
	})
}
