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
	"strings"
	"time"

	"github.com/spf13/cobra"
	_ "modernc.org/sqlite" // for opencode's session database

	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/cmd/stet/internal/report"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store"
	"github.com/stet-dev/stet/trim/replay"
	"github.com/stet-dev/stet/trim/transcript"
)

// errNoSessions says that no PATH has a session.
var errNoSessions = errors.New("no sessions found: name a file or a directory in which an agent keeps its sessions, for example ~/.claude/projects")

// savingsCommand is stet savings.
type savingsCommand struct {
	command
	json         bool
	own, waste   bool // --live, --habits
	by           []string
	since, until string
}

func newSavings(p *program) *cobra.Command {
	c := &savingsCommand{}
	cmd := p.runs(&cobra.Command{
		Use:   "savings [flags] [PATH... | --live]",
		Short: "Show what your sessions cost, without stet and with it",
		Long: `Replay recorded sessions request by request, and show in dollars what they cost
without stet and with it: the whole bill, by day or month, project, model, agent and
session. PATH is a session file or a directory of them. Without one, stet takes the
sessions that your agents keep on this machine. Nothing is sent anywhere.

Each request counts on its own day, in your time zone. --since and --until leave out
the requests of other days.

Where the recording has the tokens that the provider charged for, the bill goes by
them. Elsewhere it is estimated from the text, with 15,000 tokens for
tools and system prompt. Every answer that was charged is in it, also on branches that
you left; copies of it in other sessions are not. Where a recording shows more output
than it reports, the difference is estimated (≈) and in the total. A session that ran
through stet was charged the price "with"; its price "without" is the estimate. "?"
means that the price of exactly this model is not known: stet takes no other model's.
The configuration key "prices" adds prices.

--live shows two numbers for the requests that went through stet: what was left out of
them, priced by what the provider counted, and, with holdout = N in the configuration,
how conversations with stet differ from those without, with an interval of 95 %.
--habits shows what costs more than any text: cold resumes, other models in
mid-session, system texts or tools that change, and tools that are never used.

--json also has tokens, and costs in plain input tokens under each kind of cache: 1 is
the price of a token that is neither read from a cache nor written to it.`,
		Example: `stet savings
stet savings --since 2026-11-01 --by project,model
stet savings --live
stet savings --policy keep-latest --keep 3 ~/.codex/sessions`,
	}, &c.command, c.Run)
	config.AddFlags(cmd.Flags(), "policy", "keep")
	cmd.Flags().StringSliceVar(&c.by, "by", nil, "group only by these: "+strings.Join(replay.Groupings(), ", "))
	cmd.Flags().StringVar(&c.since, "since", "", "only requests of this day (YYYY-MM-DD) and later")
	cmd.Flags().StringVar(&c.until, "until", "", "only requests of this day (YYYY-MM-DD) and earlier")
	cmd.Flags().BoolVar(&c.own, "live", false, "show what stet did for the requests that the proxy has recorded")
	cmd.Flags().BoolVar(&c.waste, "habits", false, "show what costs money again and again, with examples and advice")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *savingsCommand) Run(ctx context.Context) error {
	o, err := c.settings("")
	if err != nil {
		return err
	}
	for _, how := range c.by {
		if !slices.Contains(replay.Groupings(), how) {
			return misconfigured(fmt.Errorf("--by %q: want %s", how, strings.Join(replay.Groupings(), ", ")))
		}
	}
	since, err := day("since", c.since)
	if err != nil {
		return err
	}
	until, err := day("until", c.until)
	if err != nil {
		return err
	}
	if !until.IsZero() {
		if until.Before(since) {
			return c.usage(fmt.Errorf("--until %s is before --since %s", c.until, c.since))
		}
		until = until.AddDate(0, 0, 1)
	}
	if c.own && (len(c.args) > 0 || c.waste) || (c.own || c.waste) && len(c.by) > 0 {
		return c.usage(errors.New("--live, --habits and --by do not go together, and --live takes no PATH"))
	}
	catalog, err := c.models(o.Prices)
	if err != nil {
		return err
	}
	return interruptible(ctx, func(ctx context.Context) error {
		switch {
		case c.own:
			return c.live(ctx, catalog, since, until)
		case c.waste:
			return c.habits(ctx, catalog, since, until)
		}
		paths, err := c.sessionPaths(c.args)
		if err != nil {
			return misconfigured(err)
		}
		through, err := c.throughStet(ctx)
		if err != nil {
			c.say("which sessions ran through stet is not known: %v", err)
		}
		bar := c.newProgress(ctx, paths)
		rep, err := replay.Savings(ctx, paths, replay.Config{
			History: o.History(""), Open: transcript.Opener{SQLite: openReadOnly}, Models: catalog.Lookup, Through: through,
			OneRule: !c.json, Since: since, Until: until,
		}, bar.Show)
		bar.Clear()
		if err != nil || ctx.Err() != nil {
			return err
		}
		if c.json {
			err = c.printJSON(rep)
		} else {
			report.Savings(c.screen(c.out), columns(c.out), rep, c.by)
		}
		if err == nil && len(rep.Sessions) == 0 {
			if err = unread(rep.Skipped); err == nil && len(c.args) == 0 {
				c.say("work with an agent first, or name a PATH")
			} else if err == nil && (since.IsZero() && until.IsZero() || len(rep.Skipped) > 0) {
				err = errNoSessions
			}
		}
		return err
	})
}

// day reads the day of a flag in the machine's own time zone; empty: the zero time.
func day(flag, value string) (time.Time, error) {
	if value == "" {
		return time.Time{}, nil
	}
	at, err := time.ParseInLocation(time.DateOnly, value, time.Local)
	if err != nil {
		return at, misconfigured(fmt.Errorf("--%s %q: want a day, for example 2026-11-01", flag, value))
	}
	return at, nil
}

// throughStet returns the requests in the proxy's record that were answered; nil: there is no record.
func (c *savingsCommand) throughStet(ctx context.Context) (through *replay.Through, err error) {
	err = c.inRecord(ctx, func(s store.Store) (err error) {
		through, err = passed(ctx, s)
		return err
	})
	if errors.Is(err, errNoRequests) {
		return nil, nil
	}
	return through, err
}

// passed returns the requests of a record as replay wants them.
func passed(ctx context.Context, s record.Store) (*replay.Through, error) {
	var all []replay.Passed
	var chains record.Chains
	err := record.Each(ctx, s, record.Query{}, func(r *record.Request) {
		all = append(all, replay.Passed{Session: r.Conversation, Time: r.Time, Usage: r.Usage, Whole: r.Without(chains.Next(r))})
	})
	return replay.NewThrough(all), err
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
