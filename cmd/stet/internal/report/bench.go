package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/trim/replay/bench"
)

// A table writes rows of cells. The first row has the column heads. All columns but the first have numbers.
type table func(w io.Writer, title string, rows [][]string)

// column is a column of the tables: a figure of a policy.
type column struct {
	head string
	of   func(*bench.Figures) string
}

// billColumns are those of the first tables: what a policy changes of the whole bill.
var billColumns = []column{
	{"bill", func(f *bench.Figures) string { return signed(f.RelBill[bench.RecordedRule]) }},
	{"dollars", func(f *bench.Figures) string { return signed(f.RelUSD) }},
	{"95 % of draws", func(f *bench.Figures) string { return interval(f.BillInterval) }},
	{"median", func(f *bench.Figures) string { return signed(f.MedianBill) }},
	{"dearer", func(f *bench.Figures) string { return Grouped(f.Dearer) }},
	{"at any request", func(f *bench.Figures) string { return Grouped(f.DearerAtAny) }},
	{"recalled", func(f *bench.Figures) string { return portion(f.Recalled, f.Unshown) }},
	{"lost", func(f *bench.Figures) string { return Grouped(f.EditsLost) }},
	{"dangling", func(f *bench.Figures) string { return Grouped(f.Dangling) }},
}

// inputColumns are those of the last table: what a policy changes of the input, under each kind of cache.
func inputColumns() []column {
	all := []column{{"tokens", func(f *bench.Figures) string { return signed(f.RelTokens) }}}
	for _, name := range benchRules() {
		all = append(all, column{strings.ReplaceAll(name, "anthropic-", ""), func(f *bench.Figures) string { return signed(f.RelByRule[name]) }})
	}
	return append(all,
		column{"worst", func(f *bench.Figures) string { return signed(f.WorstSession) }},
		column{"recall", func(f *bench.Figures) string { return signed(f.RelRecall[prices.Anthropic5m]) }},
		column{"by name", func(f *bench.Figures) string { return signed(f.RelByName[prices.Anthropic5m]) }},
		column{"supported", func(f *bench.Figures) string { return Grouped(f.EditsSupported) }},
		column{"split", func(f *bench.Figures) string { return Grouped(f.EditsSplit) }},
		column{"peak", func(f *bench.Figures) string { return Grouped(f.Peak) }})
}

// Bench writes the most important figures of a bench for a screen of width columns; 0: any width. Its JSON has all.
func Bench(w io.Writer, width int, b *bench.Bench) {
	if b.Sessions > 0 {
		t := alignedTable(width)
		t(w, fmt.Sprintf("the whole bill of %s", Count(b.Sessions, "session")), policyRows(&b.Group, billColumns))
		for _, name := range slices.Sorted(maps.Keys(b.ByStratum)) {
			if g := b.ByStratum[name]; g.Sessions < b.Sessions {
				t(w, fmt.Sprintf("the whole bill, stratum %s: %s", name, Count(g.Sessions, "session")), policyRows(g, billColumns))
			}
		}
		t(w, fmt.Sprintf("the input of %s", Count(b.Requests, "request")), policyRows(&b.Group, inputColumns()))
		benchNotes(w, b)
		printFiles(w, "damaged: ", b.Damaged)
	}
	printFiles(w, "skipped ", b.Skipped)
}

// policyRows returns a row for each policy, and one for the same policy where the provider checks what is before thinking.
func policyRows(g *bench.Group, columns []column) [][]string {
	head := []string{"policy"}
	for _, c := range columns {
		head = append(head, c.head)
	}
	rows := [][]string{head}
	add := func(name string, f *bench.Figures) {
		row := []string{name}
		for _, c := range columns {
			row = append(row, c.of(f))
		}
		rows = append(rows, row)
	}
	for i := range g.Policies {
		if f := &g.Policies[i]; f.Name != "off" {
			add(f.Name, f)
			if f.Bound != nil {
				add(f.Name+", checked", f.Bound)
			}
		}
	}
	return rows
}

// benchRules are the names of the price rules that have a column.
func benchRules() []string {
	var names []string
	for _, r := range prices.Rules() {
		names = append(names, r.Name)
	}
	return append(names, bench.OwnRule, bench.RecordedRule)
}

// interval returns an interval in per cent.
func interval(ends [2]float64) string {
	if ends[0] == ends[1] {
		return signed(ends[0])
	}
	return signed(ends[0]) + " to " + signed(ends[1])
}

// benchNotes says what each column means, and how reliable the figures are.
func benchNotes(w io.Writer, b *bench.Bench) {
	fmt.Fprintln(w, Bold("what the columns mean; per cent are of off, except in shares"))
	for _, l := range [][2]string{
		{"bill", fmt.Sprintf("the whole bill: input and answers, by the sizes that %s of %s reported, under recorded, after recall", Grouped(b.ReportedSessions), Count(b.Sessions, "session"))},
		{"dollars", fmt.Sprintf("the same in dollars, of the requests whose price is known, in %s of %s: a session counts by what it cost", Grouped(b.PricedSessions), Count(b.Sessions, "session"))},
		{"95 % of draws", "where the bill lies in 95 % of draws of the repositories"},
		{"median", "of the sessions' bills"},
		{"dearer, at any request", "sessions that cost more than without stet: at their end, and after any request"},
		{"recalled", "the share of what was left out without a pointer for which the agent would have asked again"},
		{"checked", "the same where the provider checks what is before thinking"},
		{"tokens", "of all requests"},
		{"5m, 1h, openai, none", "what the input costs under the cache rule of that name, in plain input tokens"},
		{"own", "under the cache that a session's usage shows, or its provider's: " + ownCaches(b)},
		{"recorded", "under that cache, which lives as the usage says, whatever the clock says; plans are for what a proxy can know before a request"},
		{"worst", "the session that became most expensive under 5m"},
		{"recall", "5m with the calls by which the agent would have asked again for what its answers repeat"},
		{"by name", "recall that also counts what its answers only name, which is too much"},
		{"supported, split, lost", "edits whose old text was in the request: now in view, in pieces, or not there. A replayed agent does not react"},
		{"dangling", "pointers to something that is not whole in the same request"},
		{"peak", "tokens of the largest request"},
	} {
		fmt.Fprintf(w, "  %-23s %s\n", l[0], l[1])
	}
	if c := b.Counting; c.Requests > 0 {
		fmt.Fprintf(w, "Size of a request before it is sent: off by %.2f %% (median), %.2f %% (p90) of what was then reported, %s.\n",
			100*c.Median, 100*c.P90, Count(c.Requests, "request"))
	}
}

// ownCaches says how many sessions used each cache as their own.
func ownCaches(b *bench.Bench) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(b.Own)) {
		out = append(out, fmt.Sprintf("%s %d", name, b.Own[name]))
	}
	return strings.Join(out, ", ")
}

// alignedTable returns a table for a terminal of a number of columns; 0: any. Columns that do not fit follow below, with the first
// column repeated.
func alignedTable(columns int) table {
	return func(w io.Writer, title string, rows [][]string) {
		fmt.Fprintln(w, Bold(title))
		width := make([]int, len(rows[0]))
		for _, row := range rows {
			for i, cell := range row {
				width[i] = max(width[i], utf8.RuneCountInString(cell))
			}
		}
		for from := 1; from < len(width); {
			to, sum := from, width[0]
			for to < len(width) && (to == from || columns == 0 || sum+2+width[to] <= columns) {
				sum += 2 + width[to]
				to++
			}
			for n, row := range rows {
				line := fmt.Sprintf("%-*s", width[0], row[0])
				for i := from; i < to; i++ {
					line += fmt.Sprintf("  %*s", width[i], row[i])
				}
				if line = strings.TrimRight(line, " "); n == 0 {
					line = Faint(line)
				}
				fmt.Fprintln(w, line)
			}
			fmt.Fprintln(w)
			from = to
		}
	}
}

// signed shows a change in per cent.
func signed(rel float64) string {
	s := fmt.Sprintf("%+.1f", 100*rel)
	if s == "+0.0" || s == "-0.0" {
		return "0.0"
	}
	return strings.Replace(s, "-", "−", 1)
}

// portion shows a part in per cent.
func portion(part, whole int) string {
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(max(whole, 1)))
}
