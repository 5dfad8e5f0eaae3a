package report

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/colorprofile"
)

// On a terminal of any width, no row of a table is wrapped, and no number is missing.
func TestAlignedTable(t *testing.T) {
	rows := [][]string{{"policy", "tokens", "5m", "dearest"}, {"off", "1.0 M", "2.0 M", "0.0"}, {"bound-lossless", "−18.1", "+5.0", "−1,234.5"}}
	for width, parts := range map[int]int{0: 1, 23: 3, 29: 2, 39: 1, 200: 1} {
		var b strings.Builder
		alignedTable(width)(colorprofile.NewWriter(&b, nil), "all", rows)
		if got := strings.Count(b.String(), "policy"); got != parts {
			t.Errorf("%d columns: %d parts, want %d\n%s", width, got, parts, b.String())
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(line) - 1; width > 0 && n > max(width, 24) {
				t.Errorf("%d columns: a line has %d: %s", width, n, line)
			}
		}
		for _, row := range rows {
			for _, cell := range row {
				if !strings.Contains(b.String(), cell) {
					t.Errorf("%d columns: %q is missing", width, cell)
				}
			}
		}
	}
}
