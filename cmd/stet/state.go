package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store/sqlite"
)

// tee is a store that writes to two and reads from the first: the account of
// one run, and the account of all runs.
type tee struct {
	record.Store // of this run
	kept         record.Store
}

func (t tee) Append(ctx context.Context, b record.Batch) error {
	return errors.Join(t.Store.Append(ctx, b), t.kept.Append(ctx, b))
}

func (t tee) Close() error { return errors.Join(t.kept.Close(), t.Store.Close()) }

// openStore opens the account. Without a state directory that can be written,
// or where none is wanted, it is kept for this run only: a proxy that forgets
// is better than no agent. note is what the person should know of it.
func (p *program) openStore(ctx context.Context, o *options) (store record.Store, note string) {
	run := new(record.Memory)
	if !o.Record {
		return run, ""
	}
	path := p.xdg("XDG_STATE_HOME", ".local/state", "stet.db")
	if path == "" {
		return run, "no record is kept: there is no home directory (HOME)"
	}
	kept, err := sqlite.Open(ctx, path)
	if err != nil {
		return run, fmt.Sprintf("no record is kept: %v", err)
	}
	return tee{run, kept}, ""
}

// summarise sums up what the store holds of this run. Every request of a
// conversation counts all reads in it; the largest count is the conversation's.
func summarise(ctx context.Context, store record.Store) (summary, error) {
	rows, err := store.Requests(ctx, record.Query{})
	if err != nil {
		return summary{}, err
	}
	trims, err := store.Trims(ctx, record.Query{})
	if err != nil {
		return summary{}, err
	}
	s := summary{Shortened: len(trims)}
	reads := map[[2]string]int{}
	for _, r := range rows {
		s.Totals.Add(r)
		key := [2]string{r.Conversation, r.Agent}
		reads[key] = max(reads[key], r.Reads)
	}
	s.Totals.Reads = 0
	for _, n := range reads {
		s.Totals.Reads += n
	}
	return s, nil
}

// openLog opens the log file, and returns a logger that writes nothing where
// none is asked for.
func (p *program) openLog(o *options) (*slog.Logger, io.Closer, error) {
	if o.Log == "" {
		return slog.New(slog.DiscardHandler), io.NopCloser(nil), nil
	}
	f, err := os.OpenFile(p.absolute(o.Log), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, misconfigured(fmt.Errorf("log: %w", err))
	}
	return slog.New(slog.NewTextHandler(f, &slog.HandlerOptions{Level: slog.LevelDebug})), f, nil
}
