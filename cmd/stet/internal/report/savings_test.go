package report

import (
	"bytes"
	"cmp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/colorprofile"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim"
	"github.com/stet-dev/stet/trim/replay"
)

// On a terminal of any width, no line of the tables is wrapped. 80 columns are enough for all of them.
func TestSavingsWidth(t *testing.T) {
	rep := replay.Report{Totals: replay.Sums{CostOff: map[string]float64{}, Cost: map[string]float64{}}}
	for i, name := range []string{"rename the flag", strings.Repeat("a long title ", 9), ""} {
		sums := replay.Sums{
			Requests: 1234, LeftOut: 7, USD: &replay.Dollars{Without: 12345.6, With: 99.5 * float64(i)},
			Why: map[trim.Reason]int64{trim.Repeat: 12345678, trim.Command: 1},
		}
		rep.Sessions = append(rep.Sessions, replay.Row{
			File: "/home/me/a-rather-long-directory/a-rather-long-name.jsonl", Title: name, Agent: "agent " + name, Sums: sums,
		})
		rep.Totals.Add(sums)
	}
	rep.Groups = map[string][]replay.Group{
		replay.ByDay:   {{Name: "date unknown", Requests: 3702, USD: rep.Totals.USD}},
		replay.ByAgent: {{Name: "agent a", Requests: 1, Unpriced: 1, USD: rep.Totals.USD}, {Name: strings.Repeat("agent", 30), Requests: 3701, Unpriced: 3701}},
	}
	for _, width := range []int{0, 40, 60, 80, 200} {
		var b bytes.Buffer
		Savings(colorprofile.NewWriter(&b, nil), width, rep, nil)
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > max(width, 80) && width > 0 || width == 40 && n > 40 && strings.Contains(line, "  ") {
				t.Errorf("at %d columns a line has %d: %s", width, n, line)
			}
		}
		for _, want := range []string{"all sessions", "3,702", "by agent", "$37,037", "date unknown", "    + ?\n", "a long title"} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("at %d columns %q is missing:\n%s", width, want, b.String())
			}
		}
	}
}

// Sessions that begin with the same words are told apart by the next prompt, or else by their names.
func TestSavingsTitles(t *testing.T) {
	var rep replay.Report
	for _, row := range []replay.Row{{ID: "one", Then: "rename the flag"}, {ID: "two", Then: "add a test"}, {ID: "three"}, {ID: "four", Title: "alone", Then: "more"}} {
		row.Title, row.Sums = cmp.Or(row.Title, "what is here?"), replay.Sums{Requests: 1}
		rep.Sessions = append(rep.Sessions, row)
	}
	var b bytes.Buffer
	Savings(colorprofile.NewWriter(&b, nil), 0, rep, nil)
	for _, want := range []string{"  what is here? · rename the flag\n", "  what is here? · add a test\n", "  what is here? · session three\n", "  alone\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing:\n%s", want, b.String())
		}
	}
}

// BILL-3: an unknown price is a question mark, not zero; the model is named, and what to do. The bill is there also if nothing
// can be saved.
func TestSavingsUnknown(t *testing.T) {
	sums := replay.Sums{Requests: 3, Unpriced: 3, Policy: trim.Off}
	answers := []replay.Billed{{Model: "claude-sonnet-5-5", Family: "claude-sonnet-5"}, {Model: "claude-sonnet-5-5", Family: "claude-sonnet-5"}, {Model: "gpt-5", Usage: llm.Usage{Tier: "ultra"}}}
	rep := replay.Report{Totals: sums, Sessions: []replay.Row{{File: "a.jsonl", Model: "mine", Sums: sums, Answers: answers}}}
	var b bytes.Buffer
	Savings(colorprofile.NewWriter(&b, nil), 0, rep, nil)
	for _, want := range []string{
		"all sessions                3         ?         ?         ?\n", "nothing to save: the policy off leaves nothing out",
		"claude-sonnet-5-5 with the cache rule of claude-sonnet-5 (2 requests), gpt-5, ultra (1 request)", `configuration key "prices"`,
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "$") {
		t.Error(b.String())
	}
}

func TestDollars(t *testing.T) {
	for v, want := range map[float64]string{0: "$0", 0.00004: "$0", 0.0012: "$0.0012", 0.02: "$0.0200", -1.5: "-$1.50", 999.994: "$999.99", 12345.6: "$12,346"} {
		if got := inDollars(v); got != want {
			t.Errorf("inDollars(%v) = %q, want %q", v, got, want)
		}
	}
}

// A bar fits any width.
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
