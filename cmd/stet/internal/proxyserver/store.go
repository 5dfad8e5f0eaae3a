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

// openStore opens the store of requests. It returns nil if there can be none: a proxy without a store is better than no proxy. note
// is a message for the person.
func openStore(ctx context.Context, where string) (kept store.Store, note string) {
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

// watchedStore is a store, which may be nil. It remembers the result of the last write, because the proxy writes in the background.
type watchedStore struct {
	store.Store
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

// failure returns what is missing in the store, or nil.
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
