package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/cmd/stet/internal/report"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store"
	"github.com/stet-dev/stet/trim/transcript"
)

// cacheCommand is stet cache.
type cacheCommand struct {
	command
	live  bool
	watch bool
	last  uint32
	json  bool
}

func newCache(p *program) *cobra.Command {
	c := &cacheCommand{}
	cmd := p.runs(&cobra.Command{
		Use:   "cache [flags] SESSION | --live [CONVERSATION] | --watch",
		Short: "Show what the provider's prompt cache saved, and where it broke",
		Long: `Show what happened in the provider's prompt cache: for each request, how many tokens
were read from the cache and written to it, and where cached tokens were not read
again. Each such break has a cause and a price. Where stet cannot tell the cause, it is
the one that the provider's own diagnostics name. The causes:

  gap       more time had passed than the cache lives
  model     another model answered
  context   the agent began a new context
  tools     the descriptions of tools changed; also: system, message
  stet      stet left out what had been sent, so that later requests are shorter
  marker    the request had no marker that the provider found
  settings  the cache key, the service tier or another setting changed
  dropped   everything was sent again, and the provider had dropped it

SESSION is an agent's recorded session with usage. There a break is found
by how far the cache was read. --live uses the requests that the proxy has recorded,
of a CONVERSATION with its sub-agents, or of all.
--watch says until when the caches of these conversations live, and what the next
request costs before and after that, again and again until it is interrupted.
Prices are those of the file that the configuration key "prices" names, then those
that stet knows.`,
		Example: `stet cache ~/.claude/projects/p/session.jsonl
stet cache --live --last 100
stet cache --watch`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case c.watch && len(args) > 0 || len(args) > 1:
				return usage(cmd, fmt.Errorf("want one SESSION or CONVERSATION, and with --watch none, not %q", args))
			case c.watch && (c.live || c.json):
				return usage(cmd, errors.New("--watch goes with neither --live nor --json"))
			case !c.live && !c.watch && (len(args) != 1 || args[0] == ""):
				return usage(cmd, errors.New("want one SESSION, or --live, or --watch"))
			}
			return nil
		},
	}, &c.command, c.Run)
	cmd.Flags().BoolVar(&c.live, "live", false, "use what the proxy has recorded")
	cmd.Flags().BoolVar(&c.watch, "watch", false, "show until when the caches of the conversations live, until interrupted")
	cmd.Flags().Uint32Var(&c.last, "last", 1000, "of what the proxy has recorded: the newest N requests; 0 is all")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cacheCommand) Run(ctx context.Context) error {
	o, err := c.settings("")
	if err != nil {
		return err
	}
	catalog, err := c.models(o.Prices)
	if err != nil {
		return err
	}
	if c.watch {
		return interruptible(ctx, func(ctx context.Context) error { return c.warm(ctx, catalog) })
	}
	var account report.Cache
	if c.live {
		err = c.addRecorded(ctx, catalog, &account)
	} else {
		err = addRecordings(c.absolute(c.args[0]), catalog, &account)
	}
	if err != nil {
		return err
	}
	account.Sum(catalog)
	if c.json {
		return c.printJSON(account)
	}
	account.Print(c.screen(c.out), columns(c.out))
	return nil
}

// models returns the models of a file, which may be "", and the built-in models.
func (p *program) models(file string) (*prices.Catalog, error) {
	c, err := prices.Embedded()
	if err != nil || file == "" {
		return c, err
	}
	data, err := os.ReadFile(p.absolute(file))
	if err == nil {
		err = c.Load(data)
	}
	if err != nil {
		return nil, misconfigured(fmt.Errorf("prices: %w", err))
	}
	return c, nil
}

// addRecordings adds the account of each session in a file.
func addRecordings(path string, catalog *prices.Catalog, to *report.Cache) error {
	sessions, err := transcript.Opener{SQLite: openReadOnly}.Open(path)
	if err != nil {
		return err
	}
	for _, s := range sessions {
		to.AddRecording(s, catalog)
	}
	if len(to.Sessions) == 0 {
		return fmt.Errorf("%s: the recording has no usage", path)
	}
	return nil
}

// warm shows the caches of the conversations again and again, on a screen in place of what it showed before.
func (c *cacheCommand) warm(ctx context.Context, catalog *prices.Catalog) error {
	const pause = 5 * time.Second
	tick := time.NewTicker(pause)
	defer tick.Stop()
	shown := ""
	for {
		rows, meters, err := c.recorded(ctx)
		if err != nil {
			return err
		}
		var text strings.Builder
		report.PrintWarm(&text, report.NextRequests(rows, catalog), time.Now())
		report.PrintMeters(&text, meters, time.Now())
		if text.String() != shown {
			if columns(c.out) > 0 {
				fmt.Fprint(c.out, "\x1b[H\x1b[2J")
			}
			shown = text.String()
			fmt.Fprint(c.screen(c.out), shown)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// recorded returns the requests that the proxy has recorded, and the meters.
func (c *cacheCommand) recorded(ctx context.Context) (rows []record.Request, meters []record.Meter, err error) {
	err = c.inRecord(ctx, func(s store.Store) error {
		var errs [2]error
		q := record.Query{Limit: int(c.last)}
		if len(c.args) > 0 {
			q.Tree = c.args[0]
		}
		rows, errs[0] = s.Requests(ctx, q)
		notes, err := s.Notes(ctx, record.NoteMeter)
		meters, errs[1] = record.Meters(notes, time.Now()), err
		return errors.Join(errs[:]...)
	})
	return rows, meters, err
}

// addRecorded adds the account of the proxy's record.
func (c *cacheCommand) addRecorded(ctx context.Context, catalog *prices.Catalog, to *report.Cache) error {
	rows, meters, err := c.recorded(ctx)
	if err != nil {
		return err
	}
	to.Meters = meters
	to.AddRequests(rows, catalog)
	if len(to.Sessions) == 0 {
		return errors.New("no recorded request has usage: run an agent with stet wrap, or through stet proxy")
	}
	return nil
}

// coldCosts returns guard.Config.Costs: what says that a session's prompt cache has ended, and what its next request costs, if that is known and matters.
// When a session begins anew is stored, for guards that start later.
func (p *program) coldCosts(records record.Store, o *config.Config, log *slog.Logger) func(ctx context.Context, session string, since time.Time, anew bool) string {
	catalog, err := p.models(o.Prices)
	if err != nil {
		return nil // the proxy says it
	}
	return func(ctx context.Context, session string, since time.Time, anew bool) string {
		now := time.Now()
		if anew {
			err := records.Append(ctx, record.Batch{Notes: []record.Note{{Kind: record.NoteAnew, Key: session, Text: "{}", Time: since}}})
			if err != nil {
				log.Warn("guard: a compaction could not be stored: if the guard starts again, it may say a price that is too high, once", "err", err)
			}
			return ""
		}
		if since.IsZero() {
			notes, err := records.Notes(ctx, record.NoteAnew, session)
			if err != nil {
				return ""
			}
			for _, n := range notes {
				since = n.Time
			}
		}
		rows, err := records.Requests(ctx, record.Query{Conversation: session, From: since, Limit: 100})
		if err != nil {
			return ""
		}
		for _, next := range report.NextRequests(rows, catalog) {
			if now.After(next.Until) {
				return next.Says(now)
			}
		}
		return ""
	}
}
