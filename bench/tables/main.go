// Tables writes the tables of docs/measurements.md, in Markdown, from the output of ../policies or `stet bench --json`. All of them are of the whole
// bill of all sessions with the cache lifetimes that were recorded, after recall, but for that of the input's cost at five minutes.
//
//	cd bench && go run ./policies PATH | go run ./tables
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/trim"
	"github.com/stet-dev/stet/trim/replay/bench"
)

const fiveMinutes = prices.Anthropic5m

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "tables:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	var b bench.Bench
	if err := json.NewDecoder(in).Decode(&b); err != nil {
		return fmt.Errorf("read the output of stet bench --json: %w", err)
	}
	g := &b.Group
	if len(g.Policies) == 0 || g.Policies[0].EditsSupported+g.Requests == 0 {
		return fmt.Errorf("there is no session in the output of stet bench")
	}
	fmt.Fprintf(out, "%d sessions of %d repositories, %d requests, %d edits. The provider reported the sizes of %d; %d have a known price, $%.0f without stet. Tools and system text have %d tokens in the middle one.\n",
		g.Sessions, len(g.ByRepository), g.Requests, g.Policies[0].EditsSupported, g.ReportedSessions, g.PricedSessions, g.Policies[0].USD, g.Head)
	table(out, bills(g.Policies))
	table(out, inputs(g.Policies))
	table(out, places("repository", g.ByRepository))
	table(out, places("agent", g.ByAgent))
	table(out, reasons(g))
	return nil
}

// table writes rows. The first row is the head.
func table(out io.Writer, rows [][]string) {
	fmt.Fprintln(out)
	for i, row := range rows {
		fmt.Fprintln(out, "| "+strings.Join(row, " | ")+" |")
		if i == 0 {
			fmt.Fprintln(out, strings.Repeat("|---", len(row))+"|")
		}
	}
}

// bills is the first table: the whole bill with the lifetimes that were recorded, after recall.
func bills(policies []bench.Figures) [][]string {
	rows := [][]string{{"policy", "whole bill", "in dollars", "95 % of draws", "median session", "sessions dearer", "at any request", "recalled", "edits lost", "dangling"}}
	add := func(name string, f *bench.Figures) {
		rows = append(rows, []string{
			name, signed(f.RelBill[bench.RecordedRule]), signed(f.RelUSD), signed(f.BillInterval[0]) + " to " + signed(f.BillInterval[1]), signed(f.MedianBill),
			fmt.Sprint(f.Dearer), fmt.Sprint(f.DearerAtAny), portion(f.Recalled, f.Unshown), fmt.Sprint(f.EditsLost), fmt.Sprint(f.Dangling),
		})
	}
	for i := range policies {
		if f := &policies[i]; f.Name != "off" && !strings.HasPrefix(f.Name, "bound-") {
			add(code(f.Name), f)
			if f.Bound != nil {
				add(code(f.Name)+", checked", f.Bound)
			}
		}
	}
	return rows
}

// inputs is the table of the cost of the input, where a cache lives five minutes.
func inputs(policies []bench.Figures) [][]string {
	rows := [][]string{{"policy", "tokens", "before recall", "after recall", "by name", "median session", "dearest session"}}
	for _, f := range policies[1:] {
		row := []string{code(f.Name), signed(f.RelTokens), signed(f.Rel), "", "", "", ""}
		if !strings.HasPrefix(f.Name, "bound-") {
			row = append(row[:3], signed(f.RelRecall[fiveMinutes]), signed(f.RelByName[fiveMinutes]), signed(f.MedianRecall), signed(f.WorstRecall[fiveMinutes]))
		}
		rows = append(rows, row)
	}
	return rows
}

// compared are the policies of the tables by repository and agent.
var compared = []string{string(trim.Lossless), string(trim.Adaptive), string(trim.Bold), "clear-100k"}

// places is the table of the whole bill, by repository or agent.
func places(of string, groups map[string]*bench.Group) [][]string {
	head := []string{of, "sessions"}
	for _, name := range compared {
		head = append(head, code(name))
	}
	rows := [][]string{append(head, "`adaptive`, checked", "`bold`, checked")}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		g := groups[name]
		row := []string{name, fmt.Sprint(g.Sessions)}
		for _, policy := range compared {
			row = append(row, bill(figures(g, policy)))
		}
		for _, policy := range []trim.Policy{trim.Adaptive, trim.Bold} {
			bound := bench.Figures{}
			if f := figures(g, string(policy)); f.Bound != nil {
				bound = *f.Bound
			}
			row = append(row, bill(bound))
		}
		rows = append(rows, row)
	}
	return rows
}

func figures(g *bench.Group, policy string) bench.Figures {
	i := slices.IndexFunc(g.Policies, func(f bench.Figures) bool { return f.Name == policy })
	if i < 0 {
		return bench.Figures{}
	}
	return g.Policies[i]
}

// reasons is the table of the share of all tokens that was left out, by reason.
func reasons(g *bench.Group) [][]string {
	of := []bench.Figures{figures(g, string(trim.Lossless)), figures(g, string(trim.Adaptive)), figures(g, string(trim.Bold))}
	if bound := of[2].Bound; bound != nil {
		of = append(of, *bound)
	}
	all := make(map[trim.Reason]bool)
	for _, f := range of {
		for why := range f.Omitted {
			all[why] = true
		}
	}
	rows := [][]string{{"reason", "`lossless`", "`adaptive`", "`bold`", "`bold`, thinking checked"}}
	for _, why := range slices.Sorted(maps.Keys(all)) {
		row := []string{code(string(why))}
		for _, f := range of {
			row = append(row, signed(-float64(f.Omitted[why])/float64(g.Policies[0].Tokens)))
		}
		rows = append(rows, row)
	}
	return rows
}

func bill(f bench.Figures) string { return signed(f.RelBill[bench.RecordedRule]) }

func code(name string) string { return "`" + name + "`" }

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
