package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	_ "modernc.org/sqlite" // for opencode's session database

	"github.com/stet-dev/stet/internal/config"
	"github.com/stet-dev/stet/internal/report"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/replay"
	"github.com/stet-dev/stet/store"
	"github.com/stet-dev/stet/transcript"
)

// savingsCommand is stet savings.
type savingsCommand struct {
	command
	json bool
}

func newSavings(p *program) *cobra.Command {
	c := &savingsCommand{}
	cmd := p.runs(&cobra.Command{
		Use:   "savings [flags] [PATH...]",
		Short: "Show what your sessions cost, without stet and with it",
		Long: `Replay recorded sessions request by request, and show in dollars what they cost
without stet and with it: the whole bill, by date, by agent and by session. PATH
is a session file or a directory of them. Without one, stet takes the sessions that
your agents keep on this machine. Nothing is sent anywhere.

Where the recording has the tokens that the provider charged for, the bill goes by
them. Elsewhere it is estimated at 3.6 characters a token, with 15,000 tokens for
tools and system prompt. Every answer that was charged is in it, also on branches that
you left; copies of it in other sessions are not. Where a recording shows more output
than it reports, the difference is estimated (≈) and in the total. A session that ran through stet was charged the price
"with"; its price "without" is the estimate. "?" means that the price of the
model is not known; the configuration key "prices" adds prices.

--json also has tokens, and costs in plain input tokens under each kind of cache: 1 is
the price of a token that is neither read from a cache nor written to it.`,
		Example: `stet savings
stet savings --json PATH...
stet savings --policy keep-latest --keep 3 ~/.codex/sessions`,
	}, &c.command, c.Run)
	config.AddFlags(cmd.Flags(), "policy", "keep")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *savingsCommand) Run(ctx context.Context) error {
	o, err := c.settings("")
	if err != nil {
		return err
	}
	return interruptible(ctx, func(ctx context.Context) error {
		paths, err := c.sessionPaths(c.args)
		if err != nil {
			return misconfigured(err)
		}
		catalog, err := c.models(o.Prices)
		if err != nil {
			return err
		}
		through, err := c.throughStet(ctx)
		if err != nil {
			c.say("which sessions ran through stet is not known: %v", err)
		}
		bar := c.newProgress(ctx, paths)
		rep, err := replay.Savings(ctx, paths, replay.Config{
			History: o.History(""), Open: transcript.Opener{SQLite: openReadOnly}, Models: catalog.Lookup, ThroughStet: through,
			OneRule: !c.json,
		}, bar.Show)
		bar.Clear()
		if err != nil || ctx.Err() != nil {
			return err
		}
		if c.json {
			err = c.printJSON(rep)
		} else {
			report.Savings(c.screen(c.out), columns(c.out), rep)
		}
		if err == nil && len(rep.Sessions) == 0 {
			if err = unread(rep.Skipped); err == nil && len(c.args) == 0 {
				c.say("work with an agent first, or name a PATH")
			}
		}
		return err
	})
}

// throughStet returns a function that reports whether the proxy shortened requests of a session, by the agent's name for the
// session.
func (c *savingsCommand) throughStet(ctx context.Context) (func(session string) bool, error) {
	where, err := c.storeThere()
	if err != nil {
		return nil, nil // there is no record
	}
	opened, err := store.Open(ctx, where)
	if err != nil {
		return nil, err
	}
	rows, err := opened.Requests(ctx, record.Query{})
	if err = errors.Join(err, opened.Close()); err != nil {
		return nil, err
	}
	shortened := make(map[string]bool)
	for _, r := range rows {
		if !r.Observe && r.Tokens < r.TokensOff {
			shortened[r.Conversation] = true
		}
	}
	return func(session string) bool { return shortened[session] }, nil
}

// unread returns an error for session files that could not be read, or nil.
func unread(skipped []replay.Skip) error {
	if i := slices.IndexFunc(skipped, func(s replay.Skip) bool { return s.Unread }); i >= 0 {
		return fmt.Errorf("nothing could be read: %s: %s", skipped[i].File, skipped[i].Reason)
	}
	return nil
}

// printJSON prints one JSON object.
func (p *program) printJSON(v any) error {
	enc := json.NewEncoder(p.out)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// newProgress returns a progress bar for the files in paths; nil if standard error is not a terminal of known width.
func (p *program) newProgress(ctx context.Context, paths []string) *report.Progress {
	b := p.newBar()
	if b == nil {
		return nil
	}
	for _, path := range paths {
		_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && transcript.Likely(d.Name()) {
				b.Files++
			}
			return ctx.Err()
		})
	}
	return b
}

// newBar returns a bar, nil where newProgress does.
func (p *program) newBar() *report.Progress {
	width := columns(p.err)
	if width == 0 {
		return nil
	}
	return &report.Progress{Out: p.err, Width: width, Started: time.Now()}
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

// openReadOnly opens an SQLite file that another program may be writing to.
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
