package report

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/colorprofile"

	"github.com/stet-dev/stet/trim/replay/bench"
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

// Each column of the tables is explained below them.
func TestBenchNotes(t *testing.T) {
	var b strings.Builder
	Bench(colorprofile.NewWriter(&b, nil), 0, &bench.Bench{Group: bench.Group{Sessions: 1, Requests: 1}})
	_, notes, found := strings.Cut(b.String(), "what the columns mean")
	if !found {
		t.Fatal(b.String())
	}
	explained := map[string]bool{}
	for line := range strings.Lines(notes) {
		if head, _, ok := strings.Cut(strings.TrimSpace(line), "  "); ok {
			for _, name := range strings.Split(head, ", ") {
				explained[name] = true
			}
		}
	}
	for _, c := range append(billColumns, inputColumns()...) {
		if !explained[c.head] {
			t.Errorf("%q is not explained", c.head)
		}
	}
}
