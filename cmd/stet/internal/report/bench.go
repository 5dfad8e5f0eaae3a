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

// Bench writes all tables of a bench for a screen of width columns; 0: any width.
func Bench(w io.Writer, width int, b *bench.Bench) {
	if b.Sessions > 0 {
		benchTables(w, alignedTable(width), b)
		printFiles(w, "damaged: ", b.Damaged)
	}
	printFiles(w, "skipped ", b.Skipped)
}

func benchTables(w io.Writer, t table, b *bench.Bench) {
	t(w, fmt.Sprintf("the whole bill of %s", Count(b.Sessions, "session")), billRows(&b.Group))
	for _, name := range slices.Sorted(maps.Keys(b.ByStratum)) {
		if g := b.ByStratum[name]; g.Sessions < b.Sessions {
			t(w, fmt.Sprintf("the whole bill, stratum %s: %s", name, Count(g.Sessions, "session")), billRows(g))
		}
	}
	t(w, fmt.Sprintf("%s, %s", Count(b.Sessions, "session"), Count(b.Requests, "request")), policyRows(&b.Group))
	for _, name := range slices.Sorted(maps.Keys(b.ByStratum)) {
		g := b.ByStratum[name]
		if g.Sessions < b.Sessions {
			t(w, fmt.Sprintf("stratum %s: %s, %s", name, Count(g.Sessions, "session"), Count(g.Requests, "request")), policyRows(g))
		}
	}
	t(w, "where the provider checks what stands before thinking: all sessions", boundRows(b.Policies))
	for _, name := range slices.Sorted(maps.Keys(b.ByStratum)) {
		if g := b.ByStratum[name]; g.Sessions < b.Sessions {
			t(w, "where the provider checks what stands before thinking: stratum "+name, boundRows(g.Policies))
		}
	}
	if len(b.ByRepository) > 1 {
		t(w, "cost under "+prices.Anthropic5m+" by repository, after recall", repositoryRows(b))
	}
	if len(b.ByFormat) > 1 {
		t(w, "cost under "+prices.Anthropic5m+" by format", formatRows(b))
	}
	if b.Reported.Sessions > 0 {
		t(w, fmt.Sprintf("by the sizes that the providers reported: %s, %s", Count(b.Reported.Sessions, "session"),
			Count(b.Reported.Requests, "request")), policyRows(b.Reported))
	}
	if len(b.Cache) > 0 {
		t(w, "simulated caches next to the recorded ones", cacheRows(b))
	}
	benchNotes(w, b)
}

// cacheRows shows how accurate the simulated caches are: with the rules used for the figures, and with breakpoints, minimum
// lengths, steps and lookback.
func cacheRows(b *bench.Bench) [][]string {
	rows := [][]string{{
		"cache", "requests", "prompt", "read", "simulated", "within 5 %", "hit, missed", "missed, hit", "exact", "within 5 %", "hit, missed", "missed, hit",
	}}
	for _, name := range slices.Sorted(maps.Keys(b.Cache)) {
		c := b.Cache[name]
		row := []string{name, Grouped(c.Requests), millions(c.Prompt), millions(c.Read)}
		for _, p := range []bench.Prediction{c.Simple, c.Exact} {
			row = append(row, millions(p.Read), portion(p.Within, c.Requests), portion(p.FalseHits, c.Requests), portion(p.FalseMisses, c.Requests))
		}
		rows = append(rows, row)
	}
	return rows
}

// billRows returns the first table: what each policy changes of the whole bill, and the same if thinking is checked.
func billRows(g *bench.Group) [][]string {
	rows := [][]string{{"policy", "bill", "dollars", "95 % of draws", "median", "dearer", "at any request", "recalled", "lost", "dangling"}}
	add := func(name string, f *bench.Figures) {
		rows = append(rows, []string{
			name, signed(f.RelBill[bench.RecordedRule]), signed(f.RelUSD), interval(f.BillInterval), signed(f.MedianBill), Grouped(f.Dearer), Grouped(f.DearerAtAny),
			portion(f.Recalled, f.Unshown), Grouped(f.EditsLost), Grouped(f.Dangling),
		})
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

// policyRows returns the table of the policies over some sessions.
func policyRows(g *bench.Group) [][]string {
	head := []string{"policy", "tokens"}
	rules := benchRules()
	for _, name := range rules {
		head = append(head, columnName(name))
	}
	rows := [][]string{append(head, "median", "worst", "recall", "recalled", "by name", "bill", "95 % of draws", "without dearest", "supported", "split", "lost", "dangling", "peak")}
	for _, f := range g.Policies {
		row := []string{f.Name, signed(f.RelTokens)}
		if f.Name == "off" {
			row[1] = millions(f.Tokens)
		}
		for _, name := range rules {
			cell := signed(f.RelByRule[name])
			if f.Name == "off" {
				cell = millions(int64(f.Cost[name]))
			}
			row = append(row, cell)
		}
		row = append(row, signed(f.MedianSession), signed(f.WorstSession), signed(f.RelRecall[prices.Anthropic5m]), portion(f.Recalled, f.Unshown),
			signed(f.RelByName[prices.Anthropic5m]), signed(f.RelBill[bench.RecordedRule]), interval(f.Interval[prices.Anthropic5m]), signed(f.WithoutDearest[prices.Anthropic5m]),
			Grouped(f.EditsSupported), Grouped(f.EditsSplit), Grouped(f.EditsLost), Grouped(f.Dangling), Grouped(f.Peak))
		rows = append(rows, row)
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

// boundRows returns the table of the policies that can run if thinking is checked.
func boundRows(policies []bench.Figures) [][]string {
	rows := [][]string{{"policy", "tokens", "5m", "own", "recorded", "median", "worst", "recall", "recalled", "by name", "bill", "95 % of draws", "lost", "dangling"}}
	for i := range policies {
		f := policies[i].Bound
		if f == nil {
			continue
		}
		rows = append(rows, []string{
			f.Name, signed(f.RelTokens), signed(f.RelByRule[prices.Anthropic5m]), signed(f.RelByRule[bench.OwnRule]), signed(f.RelByRule[bench.RecordedRule]),
			signed(f.MedianSession), signed(f.WorstSession), signed(f.RelRecall[prices.Anthropic5m]), portion(f.Recalled, f.Unshown),
			signed(f.RelByName[prices.Anthropic5m]), signed(f.RelBill[bench.RecordedRule]), interval(f.Interval[prices.Anthropic5m]), Grouped(f.EditsLost), Grouped(f.Dangling),
		})
	}
	return rows
}

// repositoryRows returns the cost of every policy on each repository, and if thinking is checked.
func repositoryRows(b *bench.Bench) [][]string {
	head := []string{"repository", "sessions"}
	for _, f := range b.Policies[1:] {
		head = append(head, f.Name)
		if f.Bound != nil {
			head = append(head, "checked")
		}
	}
	rows := [][]string{head}
	for _, name := range slices.Sorted(maps.Keys(b.ByRepository)) {
		g := b.ByRepository[name]
		row := []string{name, Grouped(g.Sessions)}
		for _, f := range g.Policies[1:] {
			row = append(row, signed(f.RelRecall[prices.Anthropic5m]))
			if f.Bound != nil {
				row = append(row, signed(f.Bound.RelRecall[prices.Anthropic5m]))
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// formatRows returns the cost of every policy on each format.
func formatRows(b *bench.Bench) [][]string {
	formats := slices.Sorted(maps.Keys(b.ByFormat))
	head := []string{"policy"}
	for _, name := range formats {
		head = append(head, fmt.Sprintf("%s (%d)", name, b.ByFormat[name].Sessions))
	}
	rows := [][]string{head}
	for i, f := range b.Policies {
		if f.Name == "off" {
			continue
		}
		row := []string{f.Name}
		for _, name := range formats {
			row = append(row, signed(b.ByFormat[name].Policies[i].Rel))
		}
		rows = append(rows, row)
	}
	return rows
}

// benchNotes says what each column means, how the figures were made, and how reliable they are.
func benchNotes(w io.Writer, b *bench.Bench) {
	fmt.Fprintln(w, Bold("what the columns mean; per cent are of off, except in shares"))
	for _, l := range [][2]string{
		{"bill", fmt.Sprintf("the whole bill: input and answers, by the sizes that %s of %s reported, under recorded, after recall", Grouped(b.ReportedSessions), Count(b.Sessions, "session"))},
		{"dollars", fmt.Sprintf("the same in dollars, of the requests whose price is known, in %s of %s: a session counts by what it cost", Grouped(b.PricedSessions), Count(b.Sessions, "session"))},
		{"95 % of draws", "where the figure lies in 95 % of draws of the repositories: in the first tables of bill, in the others of recall"},
		{"median, worst", "of the sessions: in the first tables of their bills, in the others of 5m"},
		{"dearer, at any request", "sessions that cost more than without stet: at their end, and after any request"},
		{"checked", "the same where the provider checks what is before thinking"},
		{"tokens", "of all requests"},
		{"5m, 1h, openai, none", "what the input costs under the cache rule of that name, in plain input tokens"},
		{"own", "under the cache that a session's usage shows, or its provider's: " + ownCaches(b)},
		{"recorded", "under that cache, which lives as the usage says, whatever the clock says; plans are for what a proxy can know before a request"},
		{"recall", "5m with the calls by which the agent would have asked again for what its answers repeat"},
		{"recalled", "the share of what was left out without a pointer for which it would have asked again"},
		{"by name", "recall that also counts what its answers only name, which is too much"},
		{"without dearest", "recall without the session that costs most"},
		{"supported, split, lost", "edits whose old text was in the request: now in view, in pieces, or not there. A replayed agent does not react"},
		{"dangling", "pointers to something that is not whole in the same request"},
		{"peak", "tokens of the largest request"},
		{"read, simulated", "tokens that the provider reported as read from its cache, and that the rule reads"},
		{"within 5 %", "the share of requests for which both differ by at most that; the others were hits or misses in one of the two alone"},
	} {
		fmt.Fprintf(w, "  %-23s %s\n", l[0], l[1])
	}
	if c := b.Counting; c.Requests > 0 {
		fmt.Fprintf(w, "Size of a request before it is sent: off by %.2f %% (median), %.2f %% (p90) of what was then reported, %s.\n",
			100*c.Median, 100*c.P90, Count(c.Requests, "request"))
	}
	fmt.Fprintln(w)
	for _, f := range b.Policies {
		if f.Source != "" {
			fmt.Fprintf(w, "- %s: %s.\n", f.Name, f.Source)
		}
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

// millions shows a number of tokens.
func millions(n int64) string { return fmt.Sprintf("%.1f M", float64(n)/1e6) }

// portion shows a part in per cent.
func portion(part, whole int) string {
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(max(whole, 1)))
}

// columnName returns a price rule's name, short enough for a column.
func columnName(name string) string {
	return strings.ReplaceAll(name, "anthropic-", "")
}
