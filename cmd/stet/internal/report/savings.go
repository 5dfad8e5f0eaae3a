package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/stet-dev/stet/trim"
	"github.com/stet-dev/stet/trim/replay"
)

const (
	skippedShown  = 10 // files that are named; --json names all
	sessionsShown = 20 // sessions that have a line; --json has all
	daysShown     = 14 // more days than this are shown as months
	groupsShown   = 20 // more models or projects than this are shown only if asked for
)

// Savings writes the bill without stet and with it: the total, then by the ways of grouping in by, and by session. width is the
// screen's number of columns; 0: any.
func Savings(w io.Writer, width int, rep replay.Report, by []string) {
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
	s := newSavingsTable(w, width, rep.Sessions)
	s.head("the whole bill")
	s.row("all sessions", replay.Group{Requests: t.Requests, Unpriced: t.Unpriced, USD: t.USD})
	if len(by) == 0 {
		by = grouped(rep)
	}
	for _, how := range by {
		s.head("by " + how)
		for _, g := range rep.Groups[how] {
			s.row(g.Name, g)
		}
	}
	s.sessions(rep.Sessions)
	if t.LeftOut == 0 && t.Tokens == t.TokensOff {
		why := "no text in them repeats, and none is old at a time when the cache is cold"
		if t.Policy == trim.Off {
			why = "the policy off leaves nothing out"
		}
		fmt.Fprintf(w, "\nnothing to save: %s\n", why)
	} else {
		printWhy(w, t)
	}
	printNotes(w, rep)
	printDamage(w, rep.Sessions)
}

// grouped returns the ways to group that say more than the total: the days, or if there are many of them the months.
func grouped(rep replay.Report) (by []string) {
	for _, how := range replay.Groupings() {
		switch n := len(rep.Groups[how]); {
		case how == replay.ByDay:
			if n <= daysShown {
				by = append(by, how)
			}
		case how == replay.ByMonth:
			if len(by) == 0 {
				by = append(by, how)
			}
		case n > 1 && n <= groupsShown:
			by = append(by, how)
		}
	}
	return by
}

// savingsTable prints rows of a name and figures.
type savingsTable struct {
	w           io.Writer
	name, width int  // columns of the name, and of the screen
	narrow      bool // the figures are below the name and the share
}

// figureColumns are the columns of a row's figures, the blank before each of them included.
const figureColumns = 47

func newSavingsTable(w io.Writer, width int, rows []replay.Row) savingsTable {
	widest := 20
	for i := range rows {
		widest = max(widest, len([]rune(sessionName(&rows[i]))))
	}
	narrow := width > 0 && width < figureColumns+8
	if narrow {
		widest = max(8, width-8)
	} else if width > 0 {
		widest = min(widest, width-figureColumns)
	}
	return savingsTable{w, widest, width, narrow}
}

func (s savingsTable) head(name string) {
	fmt.Fprintln(s.w)
	s.line(name, fmt.Sprintf("%8s %9s %9s %9s", "requests", "without", "with", "saved"), "", Faint)
}

// line prints a name, its figures, and the share of them.
func (s savingsTable) line(name, figures, share string, style func(string) string) {
	line := fmt.Sprintf("%-*s %s %s", s.name, name, figures, share)
	if s.narrow {
		line = fmt.Sprintf("%-*s %s\n%s", s.name, name, share, figures)
	}
	fmt.Fprintln(s.w, style(strings.TrimRight(line, " ")))
}

// row prints a group. A price that is not known is a question mark, also next to those that are.
func (s savingsTable) row(name string, g replay.Group) {
	without, with, saved, share := "?", "?", "?", ""
	if d := g.USD; d != nil {
		without, with, saved = inDollars(d.Without), inDollars(d.With), inDollars(d.Saved())
		if share = Bold(fmt.Sprintf("%7s", savedShare(d))); g.Unpriced > 0 {
			share = "    + ?"
		}
	}
	if len(name) > s.name { // the end of a directory tells more
		name = tail(name, s.name)
	}
	s.line(name, fmt.Sprintf("%8s %9s %9s %9s", Grouped(g.Requests), without, with, saved), share, func(line string) string { return line })
}

// savedShare returns what is saved of the bill, in per cent.
func savedShare(d *replay.Dollars) string {
	if d.Without == 0 {
		return ""
	}
	share := fmt.Sprintf("%.1f %%", 100*d.Saved()/d.Without)
	if len(share) > 7 {
		return fmt.Sprintf("%.0f %%", 100*d.Saved()/d.Without)
	}
	return share
}

// sessions prints the sessions in which most was saved, each with the first words of its task below.
func (s savingsTable) sessions(rows []replay.Row) {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b replay.Row) int {
		return cmp.Or(cmp.Compare(savedIn(b), savedIn(a)), cmp.Compare(b.Requests, a.Requests))
	})
	name := "by session"
	if len(rows) > sessionsShown {
		name = "by session, most saved"
	}
	s.head(name)
	titles := map[string]int{}
	for i := range rows {
		titles[rows[i].Title]++
	}
	for i := range rows[:min(len(rows), sessionsShown)] {
		r := &rows[i]
		if r.Error != "" {
			fmt.Fprintf(s.w, "%s: %s\n", Cropped(sessionName(r), s.name), r.Error)
			continue
		}
		s.row(sessionName(r), replay.Group{Requests: r.Requests, Unpriced: r.Unpriced, USD: r.USD})
		task := cmp.Or(OneLine(r.Title), tail(r.File, 60))
		if titles[r.Title] > 1 && r.Title != "" {
			task = Cropped(task, 50) + " · " + cmp.Or(OneLine(r.Then), "session "+r.ID)
		}
		if s.width > 0 {
			task = Cropped(task, max(8, s.width-2))
		}
		fmt.Fprintln(s.w, Faint("  "+Cropped(task, 100)))
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

// sessionName is the time of a session, its agent and its project.
func sessionName(r *replay.Row) string {
	name := r.Agent
	if !r.Started.IsZero() {
		name = r.Started.Local().Format("01-02 15:04 ") + name
	}
	if p := r.Project(); p != "" {
		name += ", " + OneLine(p)
	}
	return name
}

// printWhy prints what was left out, and what unnecessary omissions cost.
func printWhy(w io.Writer, t replay.Sums) {
	fmt.Fprintf(w, "\n%s left out; the agent would ask again for %s\n", Count(t.LeftOut, "text"), Grouped(t.Recalled))
	if t.Dangling > 0 {
		fmt.Fprintf(w, "%s whose content is nowhere else in the request\n", Count(t.Dangling, "line"))
	}
	recalled, wrong := "?", "?"
	if t.USD != nil {
		recalled, wrong = inDollars(t.USD.Recalled), inDollars(t.USD.WrongGuess)
	}
	fmt.Fprintf(w, "in \"with\": %s for asking again, %s where the cache was not cold\n", recalled, wrong)
}

// printUnknown prints what is in several sessions, what the bill estimates, and what no reader knows.
func printUnknown(w io.Writer, rep replay.Report) {
	if d := rep.Totals.USD; d != nil && d.Unreported > 0 {
		fmt.Fprintf(w, "\nreported %s, with unreported output ≈ %s: recordings show ≈ %s more than their usage\n",
			inDollars(d.Reported), inDollars(d.Reported+d.Unreported), inDollars(d.Unreported))
	}
	if rep.Copies > 0 {
		fmt.Fprintf(w, "left out: %s that are in another session, too, and are billed there\n", Count(rep.Copies, "answer"))
	}
	for _, key := range slices.Sorted(maps.Keys(rep.UnknownUsage)) {
		fmt.Fprintf(w, "not in the bill: usage that stet does not know, %s (%s)\n", key, Count(rep.UnknownUsage[key], "time"))
	}
}

// printNotes prints how the figures were made.
func printNotes(w io.Writer, rep replay.Report) {
	through, estimated := 0, 0
	unpriced := map[string]int{}
	for _, r := range rep.Sessions {
		if r.ThroughStet && r.USD != nil {
			through++
		} else if r.USD != nil && r.USD.Estimated {
			estimated++
		}
		for i := range r.Answers {
			if b := &r.Answers[i]; !b.Priced {
				unpriced[unpricedName(b)]++
			}
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
		note("The price is not known, \"?\", and not in the sums, of: %s.", timesNamed(unpriced))
		note("A newer stet may know it. Or give your own: configuration key \"prices\".")
	}
}

// unpricedName names the model of an answer whose price is not known, and on what terms it answered.
func unpricedName(b *replay.Billed) string {
	name := cmp.Or(b.Model, "a model without a name")
	for _, word := range []string{b.Usage.Speed, b.Usage.Region, b.Usage.Tier} {
		if word != "" {
			name += ", " + word
		}
	}
	if b.Family != "" {
		name += " with the cache rule of " + b.Family
	}
	return name
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
