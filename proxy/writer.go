package proxy

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/stet-dev/stet/record"
)

const (
	maxQueued   = 20_000           // rows that wait at most, of all kinds
	maxWrite    = 15 * time.Second // time that one write may take
	maxNow      = 2 * time.Second  // time that a write may take for which a request waits
	writeDelay  = 200 * time.Millisecond
	writeTrials = 2
	pruneEvery  = 6 * time.Hour
)

// writer appends rows to the store in a goroutine of its own, so that no
// request waits for a disk.
type writer struct {
	store   record.Store
	keep    Keep
	pruned  time.Time // when the store was pruned last; the goroutine's own
	log     *slog.Logger
	metrics *metrics

	mu      sync.Mutex
	queue   record.Batch
	failure error // of the last write

	more    chan struct{} // holds a token when the queue is not empty
	ending  chan struct{}
	stopped chan struct{}
}

// newWriter returns a running writer, nil without a store.
func newWriter(store record.Store, keep Keep, log *slog.Logger, m *metrics) *writer {
	if store == nil {
		return nil
	}
	w := &writer{
		store: store, keep: keep, log: log, metrics: m,
		more: make(chan struct{}, 1), ending: make(chan struct{}), stopped: make(chan struct{}),
	}
	go w.run()
	return w
}

// rowsOf counts the rows of a batch.
func rowsOf(b record.Batch) int { return len(b.Requests) + len(b.Trims) + len(b.Turns) }

// add queues rows. When too many wait already, they are dropped and counted.
func (w *writer) add(b record.Batch) {
	if w == nil || b.Empty() {
		return
	}
	w.mu.Lock()
	full := rowsOf(w.queue)+rowsOf(b) > maxQueued
	if !full {
		w.queue.Requests = append(w.queue.Requests, b.Requests...)
		w.queue.Trims = append(w.queue.Trims, b.Trims...)
		w.queue.Turns = append(w.queue.Turns, b.Turns...)
	}
	w.mu.Unlock()
	if full {
		w.metrics.lost.Add(float64(rowsOf(b)))
		return
	}
	select {
	case w.more <- struct{}{}:
	default:
	}
}

// now writes turns at once, beside the queue. It waits no longer than maxNow.
func (w *writer) now(turns []record.Turn) {
	ctx, cancel := context.WithTimeout(context.Background(), maxNow)
	defer cancel()
	if err := w.store.Append(ctx, record.Batch{Turns: turns}); err != nil {
		w.log.Warn("a decision is not recorded before its request goes out", "error", err)
	}
}

// stop writes what is queued and ends the goroutine. It is called once.
func (w *writer) stop() {
	if w == nil {
		return
	}
	close(w.ending)
	<-w.stopped
}

// trouble is what went wrong with the last write, nil if nothing did.
func (w *writer) trouble() error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failure
}

func (w *writer) run() {
	defer close(w.stopped)
	for {
		select {
		case <-w.ending:
			w.write()
			return
		case <-w.more:
		}
		select { // let a few rows come together
		case <-w.ending:
		case <-time.After(writeDelay):
		}
		w.write()
	}
}

// write appends all that is queued.
func (w *writer) write() {
	w.mu.Lock()
	b := w.queue
	w.queue = record.Batch{}
	w.mu.Unlock()
	if b.Empty() {
		return
	}
	var err error
	for range writeTrials { // a second time changes nothing if the first came through
		if err = w.append(b); err == nil {
			break
		}
	}
	w.mu.Lock()
	w.failure = err
	w.mu.Unlock()
	if err != nil {
		w.metrics.lost.Add(float64(rowsOf(b)))
		w.log.Error("requests are not recorded", "requests", len(b.Requests), "error", err)
		return
	}
	if time.Since(w.pruned) > pruneEvery {
		w.pruned = time.Now()
		w.prune()
	}
}

func (w *writer) append(b record.Batch) error {
	ctx, cancel := context.WithTimeout(context.Background(), maxWrite)
	defer cancel()
	return w.store.Append(ctx, b)
}

// prune has the store forget what is not to be kept.
func (w *writer) prune() {
	ctx, cancel := context.WithTimeout(context.Background(), maxWrite)
	defer cancel()
	removed, err := w.store.Prune(ctx, w.keep.limits(time.Now()))
	switch {
	case err != nil:
		w.log.Warn("old records stay", "error", err)
	case removed > 0:
		w.log.Info("old records are gone", "requests", removed)
	}
}
