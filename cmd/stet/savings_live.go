package main

import (
	"context"
	"errors"
	"time"

	"github.com/stet-dev/stet/cmd/stet/internal/report"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store"
	"github.com/stet-dev/stet/trim/transcript"
)

// errNoRequests says that the proxy has no record.
var errNoRequests = errors.New("nothing is recorded yet: run an agent with stet wrap, or through stet proxy")

// inRecord calls do with the proxy's record.
func (p *program) inRecord(ctx context.Context, do func(store.Store) error) error {
	where, err := p.storeThere()
	if err != nil {
		return errNoRequests
	}
	opened, err := store.Open(ctx, where)
	if err != nil {
		return err
	}
	return errors.Join(do(opened), opened.Close())
}

// eachRequest calls fn with each request of a time, the oldest first, and shows on a terminal how far it is.
func (p *program) eachRequest(ctx context.Context, s store.Store, since, until time.Time, fn func(*record.Request)) error {
	bar, end := p.newBar(), until
	if end.IsZero() {
		end = time.Now()
	}
	var first time.Time
	n := 0
	err := record.Each(ctx, s, record.Query{From: since, To: until}, func(r *record.Request) {
		if n++; n == 1 {
			first = r.Time
		}
		fn(r)
		bar.ShowRequests(n, float64(r.Time.Sub(first))/float64(end.Sub(first)+1))
	})
	bar.Clear()
	return err
}

// live prints what the proxy has recorded of one's own traffic.
func (c *savingsCommand) live(ctx context.Context, catalog *prices.Catalog, since, until time.Time) error {
	sums := report.NewLive(catalog)
	var meters, caps []record.Note
	err := c.inRecord(ctx, func(s store.Store) error {
		var errs [3]error
		errs[0] = c.eachRequest(ctx, s, since, until, sums.Add)
		meters, errs[1] = s.Notes(ctx, record.NoteMeter)
		caps, errs[2] = s.Notes(ctx, record.NoteCap)
		return errors.Join(errs[:]...)
	})
	if err != nil {
		return err
	}
	l := sums.Live(record.Meters(meters, time.Now()), record.Caps(caps, time.Now()))
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
	h := report.NewHabits(catalog, since, until)
	found := 0
	err = transcript.Opener{SQLite: openReadOnly}.Walk(paths, func(path string, sessions []*transcript.Session, err error) error {
		if err != nil && !transcript.Skipped(err) {
			c.say("left out: %v", err)
		}
		for _, s := range sessions {
			h.AddRecording(s, path)
		}
		found += len(sessions)
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	if len(c.args) > 0 && found == 0 {
		return errNoSessions
	}
	err = c.inRecord(ctx, func(s store.Store) error {
		sets, calls, err := s.Tools(ctx, since)
		if err != nil {
			return err
		}
		h.Offered(sets, calls)
		if err := c.eachRequest(ctx, s, since, until, h.AddRequest); err != nil {
			return err
		}
		return c.eachRequest(ctx, s, since, until, h.AddTools)
	})
	if err != nil && (h.Sessions == 0 || !errors.Is(err, errNoRequests)) {
		return err
	}
	if c.json {
		return c.printJSON(h)
	}
	h.Print(c.screen(c.out))
	return nil
}
