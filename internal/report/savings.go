package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/replay"
)

const (
	skippedShown  = 10 // files that are named; --json names all
	sessionsShown = 20 // sessions that have a line; --json has all
	daysShown     = 14 // more days than this are shown as months
)

// Savings writes the cost of sessions without stet and with it: the total, then by date, agent and session. width is the screen's
// number of columns; 0: any.
func Savings(w io.Writer, width int, rep replay.Report) {
	defer printFiles(w, "skipped ", rep.Skipped)
	if len(rep.Sessions) == 0 {
		if !slices.ContainsFunc(rep.Skipped, func(s replay.Skip) bool { return s.Unread }) {
			fmt.Fprintln(w, "nothing to save: no sessions found")
		}
		return
	}
	defer printUnknown(w, rep)
	t := rep.Totals
	fmt.Fprintf(w, "%s, %s, policy %s\n", Count(len(rep.Sessions), "session"), Count(t.Requests, "request"), t.Policy)
	if t.LeftOut == 0 && t.Tokens == t.TokensOff {
		fmt.Fprintln(w, "nothing to save: no text in them repeats, and none is old at a time when the cache is cold")
		printDamage(w, rep.Sessions)
		return
	}
	s := newSavingsTable(w, width, rep.Sessions)
	s.head("the whole bill")
	s.row("all sessions", t)
	s.groups("by date", byDate(rep.Sessions))
	if agents := byAgent(rep.Sessions); len(agents) > 1 {
		s.groups("by agent", agents)
	}
	s.sessions(rep.Sessions)
	printWhy(w, t)
	printNotes(w, rep)
	printDamage(w, rep.Sessions)
}

// savingsTable prints rows of a name and figures.
type savingsTable struct {
	w    io.Writer
	name int // columns of the name
}

// figureColumns are the columns of a row's figures, the blank before each of them included.
const figureColumns = 47

func newSavingsTable(w io.Writer, width int, rows []replay.Row) savingsTable {
	widest := 20
	for _, r := range rows {
		widest = max(widest, len([]rune(sessionName(r))))
	}
	if width > 0 {
		widest = min(widest, max(8, width-figureColumns))
	}
	return savingsTable{w, widest}
}

func (s savingsTable) head(name string) {
	fmt.Fprintln(s.w)
	fmt.Fprintln(s.w, Faint(strings.TrimRight(fmt.Sprintf("%-*s %8s %9s %9s %9s", s.name, Cropped(name, s.name), "requests", "without", "with", "saved"), " ")))
}

func (s savingsTable) row(name string, t replay.Sums) {
	without, with, saved, change := "?", "?", "?", ""
	if d := t.USD; d != nil {
		without, with, saved, change = inDollars(d.Without), inDollars(d.With), inDollars(d.Saved()), Bold(fmt.Sprintf("%7s", wholeChange(d.Without, d.With)))
	}
	line := fmt.Sprintf("%-*s %8s %9s %9s %9s %s", s.name, Cropped(name, s.name), Grouped(t.Requests), without, with, saved, change)
	fmt.Fprintln(s.w, strings.TrimRight(line, " "))
}

// group has the sums of a group of sessions.
type group struct {
	name string
	sums replay.Sums
}

func (s savingsTable) groups(title string, all []group) {
	s.head(title)
	for _, g := range all {
		s.row(g.name, g.sums)
	}
}

// sessions prints the sessions in which most was saved.
func (s savingsTable) sessions(rows []replay.Row) {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b replay.Row) int { return cmp.Compare(savedIn(b), savedIn(a)) })
	name := "by session"
	if len(rows) > sessionsShown {
		name = "by session, most saved first"
	}
	s.head(name)
	for _, r := range rows[:min(len(rows), sessionsShown)] {
		if r.Error != "" {
			fmt.Fprintf(s.w, "%s: %s\n", Cropped(sessionName(r), s.name), r.Error)
			continue
		}
		s.row(sessionName(r), r.Sums)
	}
	if more := len(rows) - sessionsShown; more > 0 {
		fmt.Fprintln(s.w, Faint(fmt.Sprintf("and %d more; --json has all", more)))
	}
}

func savedIn(r replay.Row) float64 {
	if r.USD == nil {
		return 0
	}
	return r.USD.Saved()
}

// sessionName is a session's title, or the end of its file's name.
func sessionName(r replay.Row) string {
	if r.Title != "" {
		return OneLine(r.Title)
	}
	return tail(r.File, 24)
}

// byDate sums sessions by day, or by month if there are many days, the newest last.
func byDate(rows []replay.Row) []group {
	layout, days := "2006-01-02", map[string]bool{}
	for _, r := range rows {
		if !r.Started.IsZero() {
			days[r.Started.Local().Format(layout)] = true
		}
	}
	if len(days) > daysShown {
		layout = "2006-01"
	}
	return grouped(rows, func(r replay.Row) string {
		if r.Started.IsZero() {
			return "date unknown"
		}
		return r.Started.Local().Format(layout)
	}, func(a, b group) int { return strings.Compare(a.name, b.name) })
}

// byAgent sums sessions by agent, the most expensive first.
func byAgent(rows []replay.Row) []group {
	return grouped(rows, func(r replay.Row) string { return r.Agent }, func(a, b group) int {
		return cmp.Or(cmp.Compare(bill(b.sums), bill(a.sums)), strings.Compare(a.name, b.name))
	})
}

func bill(s replay.Sums) float64 {
	if s.USD == nil {
		return 0
	}
	return s.USD.Without
}

func grouped(rows []replay.Row, name func(replay.Row) string, order func(a, b group) int) []group {
	var all []group
	for _, r := range rows {
		n := name(r)
		i := slices.IndexFunc(all, func(g group) bool { return g.name == n })
		if i < 0 {
			i, all = len(all), append(all, group{n, replay.Sums{CostOff: map[string]float64{}, Cost: map[string]float64{}}})
		}
		all[i].sums.Add(r.Sums)
	}
	slices.SortStableFunc(all, order)
	return all
}

// printWhy prints what was left out, and what unnecessary omissions cost.
func printWhy(w io.Writer, t replay.Sums) {
	var repeats, folds, evictions int64
	for why, n := range t.Why {
		switch {
		case why == history.Folded:
			folds += n
		case why.Evicts() || why == history.Older || why == history.Terminal:
			evictions += n
		default:
			repeats += n
		}
	}
	all := repeats + folds + evictions
	fmt.Fprintln(w)
	fmt.Fprintln(w, Faint(fmt.Sprintf("%-58s %14s", "why requests were smaller", "tokens less")))
	for _, line := range []struct {
		name string
		n    int64
	}{
		{"repeat: the lines are already in the request", repeats},
		{"fold: a long report keeps its ends and its failures", folds},
		{"eviction: old text, left out when the cache is cold", evictions},
	} {
		if line.n != 0 {
			fmt.Fprintf(w, "%-58s %14s %5s\n", line.name, Grouped(line.n), share(int(line.n), int(all)))
		}
	}
	if t.Dangling > 0 {
		fmt.Fprintf(w, "%s whose content is nowhere else in the request\n", Count(t.Dangling, "line"))
	}
	recalled, wrong := "?", "?"
	if t.USD != nil {
		recalled, wrong = inDollars(t.USD.Recalled), inDollars(t.USD.WrongGuess)
	}
	fmt.Fprintf(w, "%s left out; the agent would ask again for %s\n", Count(t.LeftOut, "text"), Grouped(t.Recalled))
	fmt.Fprintf(w, "in \"with\": %s for asking again, %s where the cache was not cold\n", recalled, wrong)
}

// printUnknown prints what stands in several sessions, what the bill estimates, and what no reader knows.
func printUnknown(w io.Writer, rep replay.Report) {
	if d := rep.Totals.USD; d != nil && d.Unreported > 0 {
		fmt.Fprintf(w, "\nreported %s, with unreported output ≈ %s: recordings show ≈ %s more than their usage\n",
			inDollars(d.Reported), inDollars(d.Reported+d.Unreported), inDollars(d.Unreported))
	}
	if rep.Copies > 0 {
		fmt.Fprintf(w, "left out: %s that stand in another session, too, and are billed there\n", Count(rep.Copies, "answer"))
	}
	for _, key := range slices.Sorted(maps.Keys(rep.UnknownUsage)) {
		fmt.Fprintf(w, "not in the bill: usage that stet does not know, %s (%s)\n", key, Count(rep.UnknownUsage[key], "time"))
	}
}

// printNotes prints how the figures were made.
func printNotes(w io.Writer, rep replay.Report) {
	through, unpriced, estimated := 0, []string{}, 0
	for _, r := range rep.Sessions {
		switch {
		case r.Error != "":
		case r.USD == nil:
			unpriced = append(unpriced, cmp.Or(r.Model, "unknown"))
		case r.ThroughStet:
			through++
		case r.USD.Estimated:
			estimated++
		}
	}
	fmt.Fprintln(w)
	note := func(format string, a ...any) { fmt.Fprintln(w, Faint(fmt.Sprintf(format, a...))) }
	note("Input, answers and thinking, at the prices of each session's model and cache.")
	note("A replay: agents do not react to what they no longer see.")
	if through > 0 {
		note("Ran through stet: %s. There \"with\" was charged, and \"without\" is estimated.", Count(through, "session"))
	}
	if estimated > 0 {
		note("Estimated from the text, because no usage is recorded: %s.", Count(estimated, "session"))
	}
	if len(unpriced) > 0 {
		n := len(unpriced)
		slices.Sort(unpriced)
		note("Not in the dollars, because the price of the model is not known: %s", Count(n, "session"))
		note("(%s). The configuration key \"prices\" adds prices.", Cropped(strings.Join(slices.Compact(unpriced), ", "), 40))
	}
}

// printDamage prints which sessions could not be read completely.
func printDamage(w io.Writer, rows []replay.Row) {
	var damaged []replay.Skip
	for _, r := range rows {
		if r.Note != "" {
			damaged = append(damaged, replay.Skip{File: r.File, Reason: r.Note})
		}
	}
	printFiles(w, "not read whole: ", damaged)
}

// printFiles prints at most skippedShown file names with their reasons.
func printFiles(w io.Writer, what string, files []replay.Skip) {
	if len(files) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s%s:\n", what, Count(len(files), "file"))
	for _, s := range files[:min(len(files), skippedShown)] {
		fmt.Fprintf(w, "  %s: %s\n", s.File, s.Reason)
	}
	if more := len(files) - skippedShown; more > 0 {
		fmt.Fprintf(w, "  and %d more; --json lists all\n", more)
	}
}

// inDollars returns a known price: in cents, and with more digits below ten cents.
func inDollars(v float64) string {
	sign := ""
	if v < 0 {
		sign, v = "-", -v
	}
	switch {
	case v < 0.00005:
		return "$0"
	case v < 0.1:
		return fmt.Sprintf("%s$%.4f", sign, v)
	case v < 1000:
		return fmt.Sprintf("%s$%.2f", sign, v)
	}
	return sign + "$" + Grouped(int64(v+0.5))
}

// wholeChange returns the change from a to b, in whole per cent if it is large.
func wholeChange(a, b float64) string {
	c := Change(a, b)
	if len(c) > 7 {
		return fmt.Sprintf("%+.0f %%", 100*(b-a)/a)
	}
	return c
}
