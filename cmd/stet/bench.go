package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/cmd/stet/internal/report"
	"github.com/stet-dev/stet/trim/replay"
	"github.com/stet-dev/stet/trim/replay/bench"
	"github.com/stet-dev/stet/trim/transcript"
)

// benchCommand is stet bench.
type benchCommand struct {
	command
	json, exact bool
	policies    []string
}

func newBench(p *program) *cobra.Command {
	c := &benchCommand{}
	cmd := p.runs(&cobra.Command{
		Use:   "bench [flags] PATH...",
		Short: "Compare policies on recorded sessions",
		Long: `Replay recorded sessions request by request under every policy: stet's own, and those
of other tools by their documented rules. For each policy, show the input tokens, their
cost under each kind of cache, the edits whose old text is not in the request any more,
the placeholders that point at nothing, and the session that became most expensive.
PATH is a session file or a directory of them. Nothing is sent anywhere.

Tokens are estimated at 3.6 characters a token, with 15,000 for tools and system prompt
if a recording has none. Costs are in plain input tokens, and relative to the same
sessions without a policy. Under "own" each session has the cache that its recorded
usage shows; under "recorded" that cache lives as the usage says. If an index.json
beside the sessions gives them strata, there are figures for each stratum. --json
has all figures.`,
		Example: `stet bench ~/.claude/projects
stet bench --policy adaptive,last-10 PATH...
stet bench --json PATH... > bench.json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(cmd, errors.New("name a PATH: a session file or a directory of them"))
			}
			return nil
		},
	}, &c.command, c.Run)
	f := cmd.Flags()
	f.BoolVar(&c.json, "json", false, "print one JSON object")
	f.StringSliceVar(&c.policies, "policy", nil, "only these `POLICIES`: names, separated by commas")
	f.BoolVar(&c.exact, "exact-cache", false, "also simulate the details that providers document of their caches: breakpoints, minimum lengths, steps and lookback")
	_ = cmd.RegisterFlagCompletionFunc("policy", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var names []string
		for _, policy := range benchPolicies() {
			names = append(names, policy.Name)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	})
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
			Config:   replay.Config{Open: transcript.Opener{SQLite: openReadOnly}, ExactCache: c.exact},
			Policies: policies, About: newIndex().of, Progress: bar.Show,
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
		return cmp.Or(unread(b.Skipped), errors.New("no sessions found"))
	})
}

// index has the data about session files in an index.json, in the same or the parent directory.
type index struct {
	read map[string]map[string]bench.About // by directory and path
}

func newIndex() *index { return &index{read: make(map[string]map[string]bench.About)} }

// of returns the data about a session file; the zero value if there is none.
func (x *index) of(file string) bench.About {
	dir := filepath.Dir(file)
	for range 2 {
		if x.read[dir] == nil {
			x.read[dir] = readIndex(dir)
		}
		if about, ok := x.read[dir][file]; ok {
			return about
		}
		dir = filepath.Dir(dir)
	}
	return bench.About{}
}

// readIndex reads the index of a directory: a list of objects with a file's path, stratum and repository. Another format counts as
// no index.
func readIndex(dir string) map[string]bench.About {
	out := make(map[string]bench.About)
	f, err := os.Open(filepath.Join(dir, "index.json"))
	if err != nil {
		return out
	}
	defer f.Close()
	var list []struct {
		File, Stratum string
		Repository    string `json:"source_repo"`
	}
	if json.NewDecoder(io.LimitReader(f, 64<<20)).Decode(&list) != nil {
		return out
	}
	for _, e := range list {
		if path := filepath.Join(dir, filepath.FromSlash(e.File)); out[path] == (bench.About{}) {
			out[path] = bench.About{Stratum: e.Stratum, Repository: e.Repository}
		}
	}
	return out
}
