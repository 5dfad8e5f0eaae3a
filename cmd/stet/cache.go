package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/prices"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/replay"
	"github.com/stet-dev/stet/store/sqlite"
	"github.com/stet-dev/stet/tokens"
	"github.com/stet-dev/stet/transcript"
)

// cacheFlags choose what the account is of.
type cacheFlags struct {
	live         bool
	conversation string
	last         int
	json         bool
}

func (p *program) cacheCommand() *cobra.Command {
	var f cacheFlags
	cmd := &cobra.Command{
		Use:   "cache [flags] SESSION | --live",
		Short: "Say what a provider's cache was worth, and where it broke",
		Long: `Give the account of the provider's prompt cache: for every request what was read
from it and written to it, and where what had been cached was not read again:
because too much time had passed (gap), another model answered (model), the agent
began its context anew (context), or because the request departed from the one
before at its tools, its system text, a message, or had no marker that the
provider found. Each break has its price: what its tokens cost more than
reading them had.

SESSION is an agent's recorded session with usage, of which a break's place is
told by how far the cache was read: what the provider dropped by itself looks the
same. --live takes what the proxy has recorded, which saw the requests; where all
was sent again as it was, the provider had dropped it (dropped). Prices are those
of "prices" in the configuration (a file in the form of stet's own,
prices/models.json), then those that stet knows.`,
		Example: `stet cache ~/.claude/projects/p/session.jsonl
stet cache --live --last 100
stet cache --json session.jsonl`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.live && len(args) > 0:
				return usage(cmd, fmt.Errorf("--live takes no SESSION, have %q", args[0]))
			case !f.live && (len(args) != 1 || args[0] == ""):
				return usage(cmd, errors.New("want one SESSION, or --live"))
			case f.last < 0:
				return usage(cmd, fmt.Errorf("--last: want a number of requests, 0 is all, not %d", f.last))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			catalog, err := p.catalog(cmd)
			if err != nil {
				return err
			}
			var all cacheReport
			if f.live {
				err = p.liveAccounts(cmd.Context(), f, catalog, &all)
			} else {
				err = sessionAccounts(p.absolute(args[0]), catalog, &all)
			}
			if err != nil {
				return err
			}
			all.sum(catalog)
			if !f.json {
				all.print(p.screen(p.out))
				return nil
			}
			enc := json.NewEncoder(p.out)
			enc.SetIndent("", "  ")
			return enc.Encode(all)
		},
	}
	cmd.Flags().BoolVar(&f.live, "live", false, "of what the proxy has recorded")
	cmd.Flags().StringVar(&f.conversation, "conversation", "", "with --live: only of this one")
	cmd.Flags().IntVar(&f.last, "last", 1000, "with --live: so many requests, the newest; 0 is all")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
	return cmd
}

// catalog returns the models with their prices, the user's first.
func (p *program) catalog(cmd *cobra.Command) (*prices.Catalog, error) {
	c, err := p.config(cmd, p.dir, "")
	if err != nil {
		return nil, err
	}
	return p.models(c.Prices)
}

// models returns the models of a file, which may be "", and those that stet knows.
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

// sessionAccounts adds the account of each session in a file.
func sessionAccounts(path string, c *prices.Catalog, all *cacheReport) error {
	sessions, err := transcript.Opener{SQLite: openReadOnly}.Open(path)
	if err != nil {
		return err
	}
	for _, s := range sessions {
		counter := &tokens.Memo{Counter: tokens.EstimateFor(s.Model)}
		if entries := replay.Account(replay.Requests(s, counter), c.Lookup); len(entries) > 0 {
			all.Sessions = append(all.Sessions, newCacheSession(s.ID, "", entries))
		}
	}
	if len(all.Sessions) == 0 {
		return fmt.Errorf("%s: the recording carries no usage", path)
	}
	return nil
}

// liveAccounts adds the account of each conversation, and of each sub-agent in
// it, that the proxy has recorded.
func (p *program) liveAccounts(ctx context.Context, f cacheFlags, c *prices.Catalog, all *cacheReport) error {
	path := p.xdg("XDG_STATE_HOME", ".local/state", "stet.db")
	if _, err := os.Stat(path); path == "" || err != nil {
		return fmt.Errorf("nothing is recorded yet: run an agent with stet wrap, or through stet proxy")
	}
	store, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	rows, err := store.Requests(ctx, record.Query{Conversation: f.conversation, Limit: f.last})
	if err = errors.Join(err, store.Close()); err != nil {
		return err
	}
	type name struct{ conversation, agent string }
	asked := make(map[name][]replay.Asked)
	var order []name
	for _, r := range rows {
		n := name{r.Conversation, r.Agent}
		if asked[n] == nil {
			order = append(order, n)
		}
		asked[n] = append(asked[n], askedOf(&r, asked[n]))
	}
	for _, n := range order {
		if entries := replay.Account(asked[n], c.Lookup); len(entries) > 0 {
			all.Sessions = append(all.Sessions, newCacheSession(n.conversation, n.agent, entries))
		}
	}
	if len(all.Sessions) == 0 {
		return errors.New("no recorded request carries usage")
	}
	return nil
}

// partDropped is where nothing broke: the provider kept no cache, or not for as long
// as it is taken to.
const partDropped replay.Part = "dropped"

// askedOf is a recorded row as the account wants it, behind those before it.
func askedOf(r *record.Request, before []replay.Asked) replay.Asked {
	a := replay.Asked{
		Number: len(before) + 1, Time: r.Time, Gap: r.Cache.Gap, Model: r.Model, Usage: llm.Usage(r.Usage), Lifetime: r.Cache.Lifetime,
		Part: replay.Part(r.Cache.Broke), At: r.Cache.BrokeAt,
	}
	switch {
	case a.Part != "" || r.Cache.Gap == 0: // it is known, or no earlier request is
	case r.Cache.Gap > r.Cache.Lifetime:
		a.Part = replay.PartGap
	case len(before) > 0 && before[len(before)-1].Model == r.Model:
		a.Part = partDropped
	}
	return a
}

// clock writes the time of a request for people.
func clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format("01-02 15:04:05")
}
