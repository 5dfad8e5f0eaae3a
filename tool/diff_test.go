package tool

import (
	"encoding/json"
	"testing"
)

// In JSON a diff is its text, byte for byte, as in older versions. A text of an older program can be read, and a text that is not a
// diff is kept unchanged.
func TestDiffJSON(t *testing.T) {
	type frame struct {
		Diff Diff `json:"diff,omitzero"`
	}
	change, created := CompareTexts("a b.txt", "one\n<two>", "one\n2\n"), CompareTexts("new\u202e", "", "x")
	created.Created = true
	both := Diff{Files: []FileDiff{change, created}}
	for _, c := range []struct {
		text  string
		files int
	}{
		{both.Text(), 2},
		{"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", 1},
		{"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n… cut", 0},
		{"{\n  \"to\": \"<b>stage</b>\"\n}\n", 0},
		{"", 0},
	} {
		want, err := json.Marshal(struct {
			Diff string `json:"diff,omitempty"`
		}{c.text})
		if err != nil {
			t.Fatal(err)
		}
		var f frame
		if err := json.Unmarshal(want, &f); err != nil {
			t.Fatal(err)
		}
		if len(f.Diff.Files) != c.files || f.Diff.Empty() != (c.text == "") {
			t.Errorf("%q: %+v", c.text, f.Diff)
		}
		if got, err := json.Marshal(f); err != nil || string(got) != string(want) {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
}
