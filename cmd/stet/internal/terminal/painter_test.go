package terminal

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/tool"
)

// hazards: escape sequences, newlines and bidirectional characters are shown as escapes.
func TestVisible(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"plain text\twith tab", "plain text\twith tab"},
		{"日本語 ä é ∑ 👍", "日本語 ä é ∑ 👍"},
		{"\x1b[2J\x1b]0;title\a", `<\x1b>[2J<\x1b>]0;title<\x07>`},
		{"a\r\n", `a<\r><\n>`},
		{"access\u202e\u2066// check\u2069", `access<\u202e><\u2066>// check<\u2069>`},
		{"zero\u200bwidth\ufeff\u00ad", `zero<\u200b>width<\ufeff><\u00ad>`},
		{"no-break\u00a0space\u3000", `no-break<\u00a0>space<\u3000>`},
		{"variation\ufe0f\U000e0100", `variation<\ufe0f><\U000e0100>`},
		{"tag\U000e0041", `tag<\U000e0041>`},
		{"filler\u3164\u2800", `filler<\u3164><\u2800>`},
		{"bad\xff\xc3utf8", `bad<\xff><\xc3>utf8`},
		{"c1\u009b31m\x7f", `c1<\u009b>31m<\x7f>`},
		{"line\u2028sep\u2029", `line<\u2028>sep<\u2029>`},
	} {
		if got := (painter{}).visible("", test.in); got != test.want {
			t.Errorf("%q: %s, want %s", test.in, got, test.want)
		}
	}
}

// After a long difference, or many files, the last lines of a question are its title and its cautions again.
func TestCautionsStayInSight(t *testing.T) {
	long := tool.Diff{Other: strings.Repeat("+line\n", 40)}
	var files []approval.File
	for i := range 20 {
		files = append(files, approval.File{Path: fmt.Sprint(i, ".go"), Before: "a", After: "b", Action: approval.Change})
	}
	for name, q := range map[string]approval.Question{
		"a long difference": {Tool: "write_file", Path: "a.go", Write: true, Diff: long, Warnings: []string{"be careful"}},
		"many files":        {Tool: "edit_files", Write: true, Files: files, Warnings: []string{"be careful"}},
		"both, cut":         {Tool: "edit_files", Write: true, Files: files, Diff: long, Warnings: []string{"be careful"}},
	} {
		for _, most := range []int{-1, 18} {
			lines, _ := painter{}.question(q, most)
			if want := []string{q.Title(), "! be careful"}; !slices.Equal(lines[len(lines)-2:], want) {
				t.Errorf("%s, %d: it ends with %q, want %q", name, most, lines[len(lines)-2:], want)
			}
		}
	}
}
