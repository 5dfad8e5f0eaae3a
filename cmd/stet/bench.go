package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/cmd/stet/internal/report"
	"github.com/stet-dev/stet/trim"
	"github.com/stet-dev/stet/trim/replay"
	"github.com/stet-dev/stet/trim/replay/bench"
	"github.com/stet-dev/stet/trim/transcript"
)

// benchCommand is stet bench.
type benchCommand struct {
	command
	json     bool
	policies []string
}

func newBench(p *program) *cobra.Command {
	c := &benchCommand{}
	cmd := p.runs(&cobra.Command{
		Use:   "bench [flags] PATH...",
		Short: "Compare policies on recorded sessions",
		Long: `Replay recorded sessions request by request under every policy. For each policy, show the input tokens, their
cost under each kind of cache, the edits whose old text is not in the request any more,
the placeholders that point at nothing, and the session that became most expensive.
PATH is a session file or a directory of them. Nothing is sent anywhere.

Tokens are estimated from the text, with 15,000 for tools and system prompt
if a recording has none. Costs are in plain input tokens, and relative to the same
sessions without a policy. Under "own" each session has the cache that its recorded
usage shows; under "recorded" that cache lives as the usage says. If an index.json
beside the sessions gives them strata, there are figures for each stratum. --json
has all figures.`,
		Example: `stet bench ~/.claude/projects
stet bench --policy adaptive,bold PATH...
stet bench --json PATH... > bench.json`,
		Args: nArgs(1, -1, "a PATH: a session file or a directory of them"),
	}, &c.command, c.Run)
	f := cmd.Flags()
	f.BoolVar(&c.json, "json", false, "print one JSON object")
	f.StringSliceVar(&c.policies, "policy", nil, "only these `POLICIES`: names, separated by commas")
	return cmd
}

func (c *benchCommand) Run(ctx context.Context) error {
	return interruptible(ctx, func(ctx context.Context) error {
		policies, err := chosenPolicies(c.policies)
		if err != nil {
			return misconfigured(err)
		}
		paths, err := c.sessionPaths(c.args)
		if err != nil {
			return misconfigured(err)
		}
		bar := c.newProgress(ctx, paths)
		b, err := bench.Run(ctx, paths, bench.Config{
			Config:   replay.Config{Open: transcript.Opener{SQLite: openReadOnly}},
			Policies: policies, About: bench.NewIndex(os.Open).Of, Progress: bar.Show,
		})
		bar.Clear()
		if err != nil || ctx.Err() != nil {
			return err
		}
		if c.json {
			err = c.printJSON(b)
		} else {
			report.Bench(c.screen(c.out), columns(c.out), b)
		}
		if err != nil || b.Sessions > 0 {
			return err
		}
		return cmp.Or(unread(b.Skipped), errNoSessions)
	})
}

// chosenPolicies returns the policies of these names, in the order of the table; without names, all. off is always compared.
func chosenPolicies(names []string) ([]bench.Policy, error) {
	all, err := bench.Stet()
	if err != nil || len(names) == 0 {
		return all, err
	}
	known := []string{string(trim.Off)}
	for _, p := range all {
		known = append(known, p.Name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("unknown policy %q: choose from %s", name, strings.Join(known, ", "))
		}
	}
	return slices.DeleteFunc(all, func(p bench.Policy) bool { return !slices.Contains(names, p.Name) }), nil
}
