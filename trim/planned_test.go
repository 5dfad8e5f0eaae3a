package trim

import (
	"strings"
	"testing"
)

// Invariant 2: a file may contain lines that begin like pointers. Only a line that is a complete pointer starts a new count of
// the line numbers after it.
func TestLinesThatOnlyBeginLikePointers(t *testing.T) {
	const form = "[stet: garden.go lines %[1]d-40 unchanged: shown above by call_1 (lines 1-40)"
	for _, behind := range []string{
		". Ask again for the full text.] garden.go",
		". Ask again for the full text.] // [garden]",
		". Ask again",
		"] garden.go",
		"",
	} {
		c := &conv{clock: noon}
		c.call("Bash", map[string]any{"command": "cat garden.go"}, lineRange(form+behind, 1, 43))
		at := c.call("Read", map[string]any{"file_path": "garden.go", "offset": 41, "limit": 3}, lineRange("%6[1]d\t"+form+behind, 41, 43))
		p := expectLeft(t, lossless(t), c, at)
		if text := p.Edits[0].Text; !strings.Contains(text, "garden.go lines 41-43 unchanged: shown above by call_1 (lines 1-43)") {
			t.Errorf("%q: %q", behind, text)
		}
	}
}
