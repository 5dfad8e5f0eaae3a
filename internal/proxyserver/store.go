package proxyserver

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store"
)

// openWait is how long the store may take to open: an agent waits for it.
const openWait = 2 * time.Second

// openStore opens the store of requests; nil where it cannot be kept: a proxy that
// forgets is better than no agent. note is what the person should know of it.
func openStore(ctx context.Context, where string) (kept record.Store, note string) {
	if where == "" {
		return nil, "no record is kept: there is no home directory (HOME)"
	}
	ctx, cancel := context.WithTimeout(ctx, openWait)
	defer cancel()
	opened, err := store.Open(ctx, where)
	if err != nil {
		return nil, fmt.Sprintf("no record is kept: %v", err)
	}
	return opened, ""
}

// watchedStore is a store, which may be nil, that remembers how the last write to it
// went: the proxy writes in the background.
type watchedStore struct {
	record.Store
	mu   sync.Mutex
	last error
}

// Append implements record.Store.
func (w *watchedStore) Append(ctx context.Context, b record.Batch) error {
	err := w.Store.Append(ctx, b)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = err
	return err
}

// failure says what is missing in the store, nil when nothing is.
func (w *watchedStore) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil {
		return nil
	}
	return fmt.Errorf("the record is not complete: %w", w.last)
}

// Close implements record.Store.
func (w *watchedStore) Close() error {
	if w.Store == nil {
		return nil
	}
	return w.Store.Close()
}
