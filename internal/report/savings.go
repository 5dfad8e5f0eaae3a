package report

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/stet-dev/stet/prices"
	"github.com/stet-dev/stet/replay"
)

// skippedShown is how many of the skipped files are named; --json names all.
const skippedShown = 10

// Savings writes a line for each session, then all of them together under each
// price model. width is the screen's, in columns; 0 is any.
func Savings(w io.Writer, width int, rep replay.Report) {
	defer printSkipped(w, rep.Skipped)
	t := rep.Totals
	if len(rep.Sessions) == 0 {
		fmt.Fprintln(w, "nothing to save: no sessions found")
		return
	}
	rules, all := prices.Rules(), prices.Rules()
	below := commonDir(rep.Sessions)
	if below != "" {
		fmt.Fprintf(w, "sessions below %s\n", below)
	}
	name := 20
	for _, s := range rep.Sessions {
		name = max(name, len([]rune(s.File))-len([]rune(below)))
	}
	if width > 0 { // the costs are below in any case; a line that is wrapped is none
		const figures, cost = 54, 14
		rules = rules[:min(len(rules), max(0, (width-20-figures)/cost))]
		name = min(name, max(8, width-figures-cost*len(rules)))
	}
	head := fmt.Sprintf("%-*s %8s %13s %13s %8s %7s", name, "session", "requests", "tokens off", "tokens", "", "repeats")
	for _, r := range rules {
		head += fmt.Sprintf(" %13s", "cost "+columnName(r.Name))
	}
	fmt.Fprintln(w, Faint(strings.TrimRight(head, " ")))
	for _, s := range rep.Sessions {
		s.File = strings.TrimPrefix(s.File, below)
		if s.Error != "" {
			fmt.Fprintf(w, "%-*s %s\n", name, tail(s.File, name), s.Error)
			continue
		}
		line := fmt.Sprintf("%-*s %8s %13s %13s %8s %7s", name, tail(s.File, name), Grouped(s.Requests),
			Grouped(s.TokensOff), Grouped(s.Tokens), Change(s.TokensOff, s.Tokens), Grouped(s.Repeats))
		for _, r := range rules {
			line += fmt.Sprintf(" %13s", Change(s.CostOff[r.Name], s.Cost[r.Name]))
		}
		fmt.Fprintln(w, line)
		if s.Note != "" {
			fmt.Fprintln(w, Faint("  "+s.Note))
		}
	}
	fmt.Fprintln(w)
	fmt.Fprintf(w, "%s, %s, %s of files, policy %s\n",
		Count(len(rep.Sessions), "session"), Count(t.Requests, "request"), Count(t.Reads, "read"), t.Policy)
	if t.Repeats == 0 && t.Tokens == t.TokensOff {
		fmt.Fprintln(w, "nothing to save: no read in them repeats what is in view")
		return
	}
	fmt.Fprintf(w, "%s left out", Count(t.Repeats, "repeat"))
	if t.Dangling > 0 {
		fmt.Fprintf(w, "; %s whose content is nowhere else in the request", Count(t.Dangling, "line"))
	}
	fmt.Fprintln(w)
	fmt.Fprintln(w)
	fmt.Fprintln(w, Faint(fmt.Sprintf("%-22s %16s %16s %9s", "in all", "off", "with", "")))
	total := func(name string, off, with float64) {
		fmt.Fprintf(w, "%-22s %16s %16s %9s\n", name, Grouped(int64(off)), Grouped(int64(with)), Bold(Change(off, with)))
	}
	total("input tokens", float64(t.TokensOff), float64(t.Tokens))
	for _, r := range all {
		total("cost, "+r.Name, t.CostOff[r.Name], t.Cost[r.Name])
	}
	fmt.Fprintln(w, Faint("Costs are in plain input tokens. A replayed agent does not react to what it no longer sees."))
}

func printSkipped(w io.Writer, skipped []replay.Skip) { printFiles(w, "skipped ", skipped) }

// printFiles names files, and why each is named; no more than skippedShown.
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

// commonDir is the directory that all sessions are below, with the separator
// at its end; empty where they have none or there is one session only.
func commonDir(rows []replay.Row) string {
	if len(rows) < 2 {
		return ""
	}
	dir := rows[0].File
	for _, r := range rows {
		for !strings.HasPrefix(r.File, dir) || !strings.HasSuffix(dir, string(filepath.Separator)) {
			i := strings.LastIndexByte(strings.TrimSuffix(dir, string(filepath.Separator)), filepath.Separator)
			if i < 0 {
				return ""
			}
			dir = dir[:i+1]
		}
	}
	return dir
}

// columnName is a price model's name as a column has room for it.
func columnName(name string) string {
	return strings.ReplaceAll(name, "anthropic-", "")
}
