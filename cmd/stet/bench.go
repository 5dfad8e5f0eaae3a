package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/replay"
	"github.com/stet-dev/stet/transcript"
)

// benchOptions are what `stet bench` is asked for.
type benchOptions struct {
	json, markdown, exact bool
	policies              []string
}

func (p *program) benchCommand() *cobra.Command {
	var o benchOptions
	cmd := &cobra.Command{
		Use:   "bench [flags] PATH...",
		Short: "Compare policies on recorded sessions",
		Long: `Replay recorded sessions request by request under every policy, stet's own and
those of other tools, each by its documented rule, and say what each comes to:
input tokens, their cost under each price model, edits whose old text is no longer
in view, lines that point at nothing, the dearest session. PATH is a session
file or a directory of them. Nothing is sent anywhere.

Tokens are estimated at 3.6 characters a token, with 15,000 for tools and system
prompt where a recording has none. Costs are in plain input tokens, and relative to
what the same sessions cost as they were; under "own", each session has the cache
that its recorded usage shows. Where an index.json beside the sessions
names a stratum for them, there are figures for each. --json has all figures.`,
		Example: `stet bench ~/.claude/projects
stet bench --policy adaptive,last-10 PATH...
stet bench --json PATH... > bench.json
stet bench --markdown PATH...`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(cmd, errors.New("name a PATH: a session file or a directory of them"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return p.runBench(cmd.Context(), o, args) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	f.BoolVar(&o.markdown, "markdown", false, "print Markdown tables")
	f.StringSliceVar(&o.policies, "policy", nil, "only these `POLICIES`, by name and with commas between")
	f.BoolVar(&o.exact, "exact-cache", false, "play breakpoints, least lengths, steps and lookback of the caches too")
	cmd.MarkFlagsMutuallyExclusive("json", "markdown")
	_ = cmd.RegisterFlagCompletionFunc("policy", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var names []string
		for _, policy := range benchPolicies() {
			names = append(names, policy.Name)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

func (p *program) runBench(ctx context.Context, o benchOptions, args []string) error {
	signals := notify(endSignals)
	defer signal.Stop(signals)
	ctx, stop := lastCall(ctx, signals)
	defer stop()
	policies, err := chosenPolicies(o.policies)
	if err != nil {
		return misconfigured(err)
	}
	paths, err := p.sessionPaths(args)
	if err != nil {
		return misconfigured(err)
	}
	bar := p.newProgress(ctx, paths)
	b, err := replay.RunBench(ctx, paths, replay.BenchConfig{
		Config:   replay.Config{Open: transcript.Opener{SQLite: openReadOnly}, ExactCache: o.exact},
		Policies: policies, Stratum: newStrata().of, Progress: bar.show,
	})
	bar.clear()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	if err := p.printBench(o, b); err != nil {
		return err
	}
	if b.Sessions > 0 {
		return nil
	}
	if unread := slices.IndexFunc(b.Skipped, func(s replay.Skip) bool { return s.Unread }); unread >= 0 {
		return fmt.Errorf("nothing could be read: %s: %s", b.Skipped[unread].File, b.Skipped[unread].Reason)
	}
	return errors.New("nothing to compare: no sessions found")
}

func (p *program) printBench(o benchOptions, b *replay.Bench) error {
	switch {
	case o.json:
		enc := json.NewEncoder(p.out)
		enc.SetIndent("", "  ")
		return enc.Encode(b)
	case b.Sessions == 0:
		printSkipped(p.out, b.Skipped)
	case o.markdown:
		benchTables(p.out, markdownTable, b)
	default:
		out := p.screen(p.out)
		benchTables(out, alignedTable(columns(p.out)), b)
		printFiles(out, "damaged: ", b.Damaged)
		printSkipped(out, b.Skipped)
	}
	return nil
}

// strata tells of which stratum session files are, by the index.json beside
// them or in the directory above.
type strata struct {
	read map[string]map[string]string // by directory: strata by path
}

func newStrata() *strata { return &strata{read: make(map[string]map[string]string)} }

// of returns the stratum of a session file, empty where none is named.
func (s *strata) of(file string) string {
	dir := filepath.Dir(file)
	for range 2 {
		if s.read[dir] == nil {
			s.read[dir] = readStrata(dir)
		}
		if stratum, ok := s.read[dir][file]; ok {
			return stratum
		}
		dir = filepath.Dir(dir)
	}
	return ""
}

// readStrata reads the index of a directory: a list of objects that have the
// path of a file and a stratum. What is not that is no index.
func readStrata(dir string) map[string]string {
	out := make(map[string]string)
	f, err := os.Open(filepath.Join(dir, "index.json"))
	if err != nil {
		return out
	}
	defer f.Close()
	var list []struct{ File, Stratum string }
	if json.NewDecoder(io.LimitReader(f, 64<<20)).Decode(&list) != nil {
		return out
	}
	for _, e := range list {
		if path := filepath.Join(dir, filepath.FromSlash(e.File)); out[path] == "" {
			out[path] = e.Stratum
		}
	}
	return out
}
