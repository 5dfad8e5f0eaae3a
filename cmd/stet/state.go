package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/stet-dev/stet/internal/config"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store/sqlite"
)

// opening is how long the account may take to open: an agent waits for it.
const opening = 2 * time.Second

// openStore opens the account; nil where none is wanted, or where it cannot be
// kept: a proxy that forgets is better than no agent. note is what the person
// should know of it.
func (p *program) openStore(ctx context.Context, o *config.Config) (store record.Store, note string) {
	if !o.Record {
		return nil, ""
	}
	path := p.xdg("XDG_STATE_HOME", ".local/state", "stet.db")
	if path == "" {
		return nil, "no record is kept: there is no home directory (HOME)"
	}
	ctx, cancel := context.WithTimeout(ctx, opening)
	defer cancel()
	kept, err := sqlite.Open(ctx, path)
	if err != nil {
		return nil, fmt.Sprintf("no record is kept: %v", err)
	}
	return kept, ""
}

// witness is a store, which may be nil, and how the last write to it went: the
// proxy writes while nobody is looking.
type witness struct {
	record.Store
	mu   sync.Mutex
	last error
}

// Append implements record.Store.
func (w *witness) Append(ctx context.Context, b record.Batch) error {
	err := w.Store.Append(ctx, b)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = err
	return err
}

// failure says what is missing in the store, nil when nothing is.
func (w *witness) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil {
		return nil
	}
	return fmt.Errorf("the record is not complete: %w", w.last)
}

// Close implements record.Store.
func (w *witness) Close() error {
	if w.Store == nil {
		return nil
	}
	return w.Store.Close()
}

// openLog opens the log file, and returns a logger that writes nothing where
// none is asked for.
func (p *program) openLog(file string) (*slog.Logger, io.Closer, error) {
	if file == "" {
		return slog.New(slog.DiscardHandler), io.NopCloser(nil), nil
	}
	f, err := os.OpenFile(p.absolute(file), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, misconfigured(fmt.Errorf("log: %w", err))
	}
	return slog.New(slog.NewTextHandler(f, &slog.HandlerOptions{Level: slog.LevelDebug})), f, nil
}
