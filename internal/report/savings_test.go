package report

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/colorprofile"

	"github.com/stet-dev/stet/prices"
	"github.com/stet-dev/stet/replay"
)

// However narrow the terminal, no row of the report is wrapped.
func TestSavingsWidth(t *testing.T) {
	costs := map[string]float64{}
	for _, r := range prices.Rules() {
		costs[r.Name] = 1e6
	}
	sums := replay.Sums{Requests: 1234, TokensOff: 12345678, Tokens: 2345678, Reads: 9, Repeats: 3, CostOff: costs, Cost: costs}
	rep := replay.Report{Totals: sums}
	for _, name := range []string{"/home/me/project/sessions/2026/05/a-rather-long-name.jsonl", "/home/me/project/other/b.jsonl"} {
		rep.Sessions = append(rep.Sessions, replay.Row{File: name, Sums: sums})
	}
	for width, most := range map[int]int{0: len(costs), 66: 0, 80: 0, 100: 1, 131: len(costs), 200: len(costs)} {
		var b bytes.Buffer
		Savings(colorprofile.NewWriter(&b, nil), width, rep)
		rows := strings.Split(b.String(), "\n")[1:4]
		for _, row := range rows {
			if n := utf8.RuneCountInString(row); width > 0 && n > width {
				t.Errorf("at %d columns a row has %d: %s", width, n, row)
			}
		}
		if n := strings.Count(rows[0], "cost "); n != min(most, len(costs)) {
			t.Errorf("at %d columns there are %d costs, want %d: %s", width, n, most, rows[0])
		}
		if n := strings.Count(b.String(), "cost, "); n != len(costs) {
			t.Errorf("at %d columns there are %d costs in all", width, n)
		}
	}
}

// A bar fits whatever there is.
func TestProgressWidth(t *testing.T) {
	for width, most := range map[int]int{0: 0, 1: 0, 2: 1, 20: 19} {
		var out bytes.Buffer
		b := &Progress{Out: &out, Width: width, Started: time.Now().Add(-time.Hour)}
		b.Show(replay.Progress{Files: 1})
		b.Clear()
		shown := strings.Split(out.String(), "\r\x1b[K")[1]
		if n := utf8.RuneCountInString(shown); n != most {
			t.Errorf("%d columns: %d characters, want %d: %q", width, n, most, shown)
		}
	}
	(*Progress)(nil).Show(replay.Progress{})
	(*Progress)(nil).Clear()
}
