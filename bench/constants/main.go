// Constants checks the constants of package trim that were chosen by measurement. It tries other values of each on recorded
// sessions, and checks whether the choice also holds for other sessions: it chooses the value without one repository, and
// measures it on that repository, for each repository in turn. With -assumptions it tries other values of what the replay
// assumes. It prints a table in Markdown.
//
//	cd bench && go run ./constants [-only NAME,NAME] PATH...
//	cd bench && go run ./constants -assumptions PATH...
//
// A value is tried in a copy of the source (go build -overlay), so the checkout is not changed. The figure is the whole bill at
// recorded lifetimes, after recall, in per cent of that of the same sessions without a policy.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// constant is a constant that is tried with other values.
type constant struct {
	name, file string   // file is a path in the module stet
	line       string   // the line of the source, with %s for the value
	values     []string // the first is the one in the code
	row        string   // the name of the row, from rows, with which it is measured
}

var constants = []constant{
	{"least saving of a repeat, bytes (worth)", "trim/deduplicate.go", "const worth = %s\n", []string{"200", "100", "400"}, "lossless"},
	{"least run of repeated lines (minRun)", "trim/match.go", "\tminRun      = %s\n", []string{"3", "2", "6"}, "lossless"},
	{"the same, of another file (minOtherRun)", "trim/match.go", "\tminOtherRun = %s\n", []string{"6", "3", "12"}, "lossless"},
	{"newest results that stay (recent)", "trim/evict.go", "const recent = %s\n", []string{"5", "2", "3", "8", "12"}, "adaptive"},
	{"newest outputs that stay (KeepShell)", "trim/engine.go", "setDefault(&c.KeepShell, %s)", []string{"5", "2", "3", "8", "12"}, "adaptive"},
	{"turns until old content leaves (Idle)", "trim/engine.go", "setDefault(&c.Idle, %s)", []string{"30", "15", "20", "45", "60"}, "adaptive"},
	{"the same, of reads of dependencies (dependencyIdle)", "trim/evict_places.go", "const dependencyIdle = %s\n", []string{"10", "5", "20"}, "adaptive"},
	{"times as long, of reports of agents (reportWait)", "trim/evict.go", "const reportWait = %s\n", []string{"2", "1", "4"}, "adaptive"},
	{"part of Idle, where the file was changed (soon)", "trim/evict.go", "\tsoon  = %s\n", []string{"6", "3", "12"}, "bold"},
	{"part of Idle, of other reads (later)", "trim/evict.go", "\tlater = %s\n", []string{"2", "1", "4"}, "bold"},
	{"least written text that leaves, bytes (large)", "trim/evict.go", "const large = %s\n", []string{"1 << 10", "512", "2 << 10"}, "bold"},
	{"part of the turns in which a break pays (payback)", "trim/break.go", "\tpayback = %s\n", []string{"10", "5", "20"}, "bold"},
	{"chance that what the rules let leave is needed again (evictedAgain)", "trim/break.go", "\tevictedAgain = %s\n", []string{"0.03", "0.015", "0.06"}, "bold"},
	{"the same, where only thinking leaves (thinkingPayback)", "trim/break_thinking.go", "const thinkingPayback = %s\n", []string{"2", "1", "3", "5", "10"}, "adaptive"},
	{"newest turns with thinking that keep it (thinkingTurns)", "trim/thinking.go", "const thinkingTurns = %s\n", []string{"1", "2", "3", "5"}, "adaptive"},
	{"share of the cost that a break may risk (risk)", "trim/break.go", "\trisk = %s\n", []string{"0.02", "0.01", "0.04"}, "bold"},
	{"bytes between considering breaks (weighEvery)", "trim/break.go", "\tweighEvery = %s\n", []string{"20 << 10", "10 << 10", "40 << 10"}, "bold"},
	{"least that the provider clears, bytes (worthClearing)", "trim/clear.go", "\tworthClearing = %s\n", []string{"4 << 10", "2 << 10", "16 << 10"}, "bold, checked"},
	{"least result that counts for clearing, bytes (smallResult)", "trim/clear.go", "\tsmallResult = %s\n", []string{"2000", "300", "1000", "4000"}, "bold, checked"},
	{"chance that what the rules keep is needed again (neededAgain)", "trim/clear.go", "\tneededAgain = %s\n", []string{"0.25", "0.125", "0.5"}, "bold, checked"},
	{"part of the turns in which a break pays (payback)", "trim/break.go", "\tpayback = %s\n", []string{"10", "5", "20"}, "bold, checked"},
}

// assumptions are the assumptions of the replay that are in one line of its source.
var assumptions = []constant{
	{"tools and system text are in the cache even where nothing else is (with `*min(1, hit)` they are not)", "trim/replay/cache.go", "\tread := fixed%s + p.upTo(", []string{"", "*min(1, hit)"}, ""},
	{"tokens of tools and system text, where none are recorded", "trim/replay/config.go", "const defaultOverhead = %s\n", []string{"15000", "31000"}, ""},
	{"bytes from which on a repeated line is a recall", "trim/replay/check/recall.go", "const minQuote = %s\n", []string{"24", "12", "48"}, ""},
	{"tokens of a call that recalls", "trim/replay/send.go", "const recallCall = %s\n", []string{"80", "500"}, ""},
	{"price of its output, in tokens of input", "trim/replay/recall.go", "const outputPrice = %s\n", []string{"5", "8"}, ""},
}

func main() {
	only := flag.String("only", "", "try only the constants whose name has one of these in it, separated by commas")
	once := flag.String("once", "", "print the costs of this row alone, as JSON")
	assumed := flag.Bool("assumptions", false, "try what the replay assumes, and not the constants of package trim")
	flag.Parse()
	names := strings.Split(*only, ",")
	constants = slices.DeleteFunc(constants, func(c constant) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return strings.Contains(c.name, name) })
	})
	if err := run(*once, *assumed, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "constants:", err)
		os.Exit(1)
	}
}

func run(once string, assumed bool, paths []string) error {
	if once != "" {
		costs, err := measure(context.Background(), rows[once], paths)
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(costs)
	}
	dir, err := os.MkdirTemp("", "stet-constants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for i, p := range paths {
		if paths[i], err = filepath.Abs(p); err != nil {
			return err
		}
	}
	if assumed {
		return printAssumptions(dir, paths)
	}
	asWritten := make(map[string]map[string]cost) // by row
	fmt.Println("| constant | row | in the code | figure | best on all | figure | chosen without each repository | figure on those | loss | edits lost |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|")
	for _, c := range constants {
		tried := make(map[string]map[string]cost) // by value
		for i, value := range c.values {
			if i == 0 && asWritten[c.row] != nil {
				tried[value] = asWritten[c.row]
				continue
			}
			costs, err := c.try(value, dir, paths)
			if err != nil {
				return fmt.Errorf("%s = %s: %w", c.name, value, err)
			}
			if tried[value] = costs; i == 0 {
				asWritten[c.row] = costs
			}
		}
		c.print(tried)
	}
	return nil
}

// printAssumptions writes the table of the assumptions.
func printAssumptions(dir string, paths []string) error {
	columns := []string{"lossless", "adaptive", "bold", "bold, checked"}
	fmt.Println("| assumption | value | " + strings.Join(columns, " | ") + " |")
	fmt.Println("|---|---|" + strings.Repeat("---|", len(columns)))
	asWritten := make(map[string]map[string]cost) // by row
	for _, c := range assumptions {
		for i, value := range c.values {
			fmt.Printf("| %s | `%s` |", c.name, cmp.Or(value, "as written"))
			for _, c.row = range columns {
				costs := asWritten[c.row]
				if i > 0 || costs == nil {
					var err error
					if costs, err = c.try(value, dir, paths); err != nil {
						return fmt.Errorf("%s = %s: %w", c.name, value, err)
					}
				}
				if i == 0 {
					asWritten[c.row] = costs
				}
				sum := total(costs, "")
				fmt.Printf(" %s |", signed(sum.change()))
			}
			fmt.Println()
		}
	}
	return nil
}

// try returns the costs of the sessions with a value.
func (c *constant) try(value, dir string, paths []string) (map[string]cost, error) {
	file, err := filepath.Abs(filepath.Join("..", filepath.FromSlash(c.file)))
	if err != nil {
		return nil, err
	}
	source, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	was, is := fmt.Sprintf(c.line, c.values[0]), fmt.Sprintf(c.line, value)
	if strings.Count(string(source), was) != 1 {
		return nil, fmt.Errorf("%q does not stand once in %s", was, c.file)
	}
	changed, overlay, program := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "program")
	if err := os.WriteFile(changed, []byte(strings.Replace(string(source), was, is, 1)), 0o600); err != nil {
		return nil, err
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {file: changed}})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(overlay, replace, 0o600); err != nil {
		return nil, err
	}
	build := exec.Command("go", "build", "-overlay", overlay, "-o", program, "./constants")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return nil, err
	}
	play := exec.Command(program, append([]string{"-once", c.row}, paths...)...)
	play.Stderr = os.Stderr
	out, err := play.Output()
	if err != nil {
		return nil, err
	}
	var costs map[string]cost
	return costs, json.Unmarshal(out, &costs)
}

// print writes the row of a constant.
func (c *constant) print(tried map[string]map[string]cost) {
	all := c.best(tried, "")
	chosen := make(map[string]int) // number of repositories, by value
	var elsewhere cost
	for name := range tried[c.values[0]] {
		value := c.best(tried, name)
		chosen[value]++
		elsewhere.add(tried[value][name])
	}
	var choices, lost []string
	for _, value := range c.values {
		if n := chosen[value]; n > 0 {
			choices = append(choices, fmt.Sprintf("%s (%d)", value, n))
		}
		sum := total(tried[value], "")
		lost = append(lost, value+": "+strconv.Itoa(sum.Lost))
	}
	written, best := total(tried[c.values[0]], ""), total(tried[all], "")
	fmt.Printf("| %s | `%s` | %s | %s | %s | %s | %s | %s | %s | %s |\n", c.name, c.row, c.values[0], signed(written.change()), all,
		signed(best.change()), strings.Join(choices, ", "), signed(elsewhere.change()), signed(elsewhere.change()-best.change()), strings.Join(lost, ", "))
}

// best returns the value with the least cost over all repositories except without. If several are equal, it returns the first.
func (c *constant) best(tried map[string]map[string]cost, without string) string {
	best, least := "", 0.
	for _, value := range c.values {
		sum := total(tried[value], without)
		if best == "" || sum.change() < least {
			best, least = value, sum.change()
		}
	}
	return best
}

func total(costs map[string]cost, without string) (sum cost) {
	for _, name := range slices.Sorted(maps.Keys(costs)) {
		if name != without {
			sum.add(costs[name])
		}
	}
	return sum
}

func signed(rel float64) string {
	return strings.Replace(fmt.Sprintf("%+.2f", 100*rel), "-", "−", 1)
}
