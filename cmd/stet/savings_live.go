package main

import (
	"context"
	"errors"
	"time"

	"github.com/stet-dev/stet/cmd/stet/internal/report"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store"
	"github.com/stet-dev/stet/trim/replay"
	"github.com/stet-dev/stet/trim/transcript"
)

// recorded is what the proxy's record has of a time.
type recorded struct {
	rows         []record.Request
	meters, caps []record.Note
	sets         []record.ToolSet
	calls        []record.ToolCalls
}

// errNoRequests says that the proxy has no record.
var errNoRequests = errors.New("nothing is recorded yet: run an agent with stet wrap, or through stet proxy")

// recorded reads the proxy's record.
func (p *program) recorded(ctx context.Context, of record.Query) (r recorded, err error) {
	where, err := p.storeThere()
	if err != nil {
		return r, errNoRequests
	}
	opened, err := store.Open(ctx, where)
	if err != nil {
		return r, err
	}
	var all [4]error
	r.rows, all[0] = opened.Requests(ctx, of)
	r.meters, all[1] = opened.Notes(ctx, record.NoteMeter)
	r.caps, all[2] = opened.Notes(ctx, record.NoteCap)
	r.sets, r.calls, all[3] = opened.Tools(ctx, of.From)
	return r, errors.Join(errors.Join(all[:]...), opened.Close())
}

// live prints what the proxy has recorded of one's own traffic.
func (c *savingsCommand) live(ctx context.Context, catalog *prices.Catalog, since, until time.Time) error {
	r, err := c.recorded(ctx, record.Query{From: since, To: until})
	if err != nil {
		return err
	}
	l := report.LiveOf(r.rows, record.Meters(r.meters, time.Now()), record.Caps(r.caps, time.Now()), catalog)
	if l.Requests == 0 {
		return errors.New("no request with usage is recorded in this time: run an agent with stet wrap, or through stet proxy")
	}
	if c.json {
		return c.printJSON(l)
	}
	l.Print(c.screen(c.out), time.Now())
	return nil
}

// habits prints what costs money again and again, in recorded sessions and in the proxy's record.
func (c *savingsCommand) habits(ctx context.Context, catalog *prices.Catalog, since, until time.Time) error {
	paths, err := c.sessionPaths(c.args)
	if err != nil {
		return misconfigured(err)
	}
	var account report.Cache
	titles, open := map[string]string{}, map[string]string{}
	err = transcript.Opener{SQLite: openReadOnly}.Walk(paths, func(path string, sessions []*transcript.Session, err error) error {
		if err != nil && !transcript.Skipped(err) {
			c.say("left out: %v", err)
		}
		for _, s := range sessions {
			if n := len(account.Sessions); titles[s.ID] == "" {
				account.AddRecording(s, catalog)
				if len(account.Sessions) > n {
					titles[s.ID], _ = replay.TitlesOf(s)
					open[s.ID] = "stet cache " + path
				}
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	account.Within(since, until)
	r, err := c.recorded(ctx, record.Query{From: since, To: until})
	if err != nil && len(account.Sessions) == 0 {
		return err
	}
	var live []record.Request // an agent's own file says the same of a session, and more
	for _, row := range r.rows {
		if open[row.Conversation] == "" {
			live = append(live, row)
		}
	}
	account.AddRequests(live, catalog)
	h := report.HabitsOf(&account, titles, open)
	h.AddTools(r.rows, r.sets, r.calls, catalog)
	if c.json {
		return c.printJSON(h)
	}
	h.Print(c.screen(c.out))
	return nil
}
