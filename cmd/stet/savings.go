package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os/signal"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	_ "modernc.org/sqlite" // opencode keeps its sessions in such a file

	"github.com/stet-dev/stet/internal/config"
	"github.com/stet-dev/stet/replay"
	"github.com/stet-dev/stet/transcript"
)

func (p *program) savingsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "savings [flags] [PATH...]",
		Short: "Say what stet would have saved in recorded sessions",
		Long: `Replay recorded sessions request by request under a policy, and say what it would
have saved: requests, input tokens and their cost, without and with, under each
price model. PATH is a session file or a directory of them; without one, the
sessions that agents keep on this machine are taken. Nothing is sent anywhere.

Tokens are estimated at 3.6 characters a token, with 15,000 for tools and system
prompt where a recording has none. Costs are in plain input tokens: 1 is the
price of one that is neither read from a cache nor written to it.`,
		Example: `stet savings
stet savings --json PATH...
stet savings --policy keep-latest --keep 3 ~/.codex/sessions`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := p.config(cmd, p.dir, "")
			if err != nil {
				return err
			}
			return p.runSavings(cmd.Context(), o, args, asJSON)
		},
	}
	config.AddFlags(cmd.Flags(), "policy", "keep")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (p *program) runSavings(ctx context.Context, o *config.Config, args []string, asJSON bool) error {
	signals := notify(endSignals)
	defer signal.Stop(signals)
	ctx, stop := lastCall(ctx, signals)
	defer stop()
	paths, err := p.sessionPaths(args)
	if err != nil {
		return misconfigured(err)
	}
	bar := p.newProgress(ctx, paths)
	rep, err := replay.Savings(ctx, paths, replay.Config{
		History: o.History(""), Open: transcript.Opener{SQLite: openReadOnly},
	}, bar.show)
	bar.clear()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	if asJSON {
		enc := json.NewEncoder(p.out)
		enc.SetIndent("", "  ")
		if err := enc.Encode(rep); err != nil {
			return err
		}
	} else {
		printSavings(p.screen(p.out), columns(p.out), rep)
	}
	if unread := slices.IndexFunc(rep.Skipped, func(s replay.Skip) bool { return s.Unread }); unread >= 0 && len(rep.Sessions) == 0 {
		return fmt.Errorf("nothing could be read: %s: %s", rep.Skipped[unread].File, rep.Skipped[unread].Reason)
	}
	return nil
}

// sessionPaths returns the paths asked for, absolute, or those where agents
// keep their sessions on this machine.
func (p *program) sessionPaths(args []string) ([]string, error) {
	var paths []string
	for _, a := range args {
		if a == "" {
			return nil, errors.New("a PATH is empty")
		}
		paths = append(paths, p.absolute(a))
	}
	if len(args) == 0 {
		for _, s := range transcript.Find(p.home(), p.getenv) {
			paths = append(paths, s.Path)
		}
	}
	return paths, nil
}

// openReadOnly opens an SQLite file that another program may be writing.
func openReadOnly(path string) (*sql.DB, error) {
	name, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	source := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(name), RawQuery: "mode=ro&_pragma=busy_timeout(2000)"}
	db, err := sql.Open("sqlite", source.String())
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return db, nil
}
