package proxy

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stet-dev/stet/internal/repeats"
	"github.com/stet-dev/stet/record"
)

const (
	maxQueued   = 20_000           // rows that wait at most, of all kinds
	maxWrite    = 15 * time.Second // time that one write may take
	maxPrune    = 2 * time.Minute  // time that removing old rows may take
	maxNow      = time.Second      // time that a request waits for a write
	lateDelay   = 2 * time.Second  // between trials of writes that are late
	maxLate     = 32 << 20         // bytes of forms that wait for such a trial
	writeDelay  = 200 * time.Millisecond
	writeTrials = 2
	pruneEvery  = 6 * time.Hour
	tellAfter   = 10 * time.Minute // between the first two times that a failure is logged
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
	late    []lateWrite

	failures repeats.Filter // writes that failed
	lost     int            // requests that were not recorded since one was logged; the goroutine's own
	hangs    atomic.Bool    // a write that a request waited for takes too long

	more    chan struct{} // holds a token when the queue is not empty
	ending  chan struct{}
	stopped chan struct{}
}

// lateWrite is what was to be written past the queue, and was not yet. kept may be nil.
type lateWrite struct {
	rows record.Batch
	kept func()
}

// newWriter returns a running writer, nil without a store.
func newWriter(store record.Store, keep Keep, log *slog.Logger, m *metrics) *writer {
	if store == nil {
		return nil
	}
	w := &writer{
		store: store, keep: keep, log: log, metrics: m, failures: repeats.Filter{First: tellAfter},
		more: make(chan struct{}, 1), ending: make(chan struct{}), stopped: make(chan struct{}),
	}
	go w.run()
	return w
}

// rowsOf counts the rows of a batch.
func rowsOf(b record.Batch) int {
	return len(b.Requests) + len(b.Trims) + len(b.Turns) + len(b.ToolSets) + len(b.ToolCalls)
}

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
		w.queue.ToolSets = append(w.queue.ToolSets, b.ToolSets...)
		w.queue.ToolCalls = append(w.queue.ToolCalls, b.ToolCalls...)
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

// writeNow writes rows at once, past the queue, in a goroutine that calls done at its
// end, and kept, which may be nil, if they are written. The returned channel is closed when they are written or cannot be. It is nil if
// an earlier such write hangs. What cannot be written now is written later.
func (w *writer) writeNow(b record.Batch, kept, done func()) <-chan struct{} {
	if w.hangs.Load() {
		w.later(lateWrite{b, kept})
		done()
		return nil
	}
	written := make(chan struct{})
	go func() {
		defer done()
		err := w.append(b)
		switch {
		case err != nil:
			w.log.Debug("turns are not written before their answers", "error", err) // what is queued tells
			w.later(lateWrite{b, kept})
		case kept != nil:
			kept()
		}
		close(written)
		w.hangs.Store(false) // after close: see wait
		if err == nil {
			w.writeLate()
		}
	}()
	return written
}

// later keeps rows until they can be written. When too many wait, or too many bytes, the oldest are dropped and counted: a form that is
// not written is in the later writes of its conversation too.
func (w *writer) later(late lateWrite) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.late = append(w.late, late)
	w.dropLate()
}

// dropLate drops the oldest of what is late, if it is too much. w.mu is held.
func (w *writer) dropLate() {
	bytes := 0
	for i, l := range slices.Backward(w.late) {
		for _, f := range l.rows.Forms {
			bytes += len(f.Edits)
		}
		if len(w.late)-i > maxQueued || bytes > maxLate {
			for _, l := range w.late[:i+1] {
				w.metrics.lost.Add(float64(rowsOf(l.rows)))
			}
			w.late = slices.Delete(w.late, 0, i+1)
			return
		}
	}
}

// writeLate writes what is late: other processes look there for how conversations were sent.
func (w *writer) writeLate() {
	w.mu.Lock()
	late := w.late
	w.late = nil
	w.mu.Unlock()
	for i, l := range late {
		if err := w.append(l.rows); err != nil {
			w.mu.Lock()
			w.late = append(late[i:], w.late...)
			w.dropLate()
			w.mu.Unlock()
			return
		}
		if l.kept != nil {
			l.kept()
		}
	}
}

// wait waits for a write, but not for ever: a store that hangs holds up no requests.
func (w *writer) wait(written <-chan struct{}) {
	if w == nil || written == nil || w.hangs.Load() {
		return
	}
	late := time.NewTimer(maxNow)
	defer late.Stop()
	select {
	case <-written:
	case <-late.C:
		w.hangs.Store(true)
		select {
		case <-written: // just now, and nothing else may clear the mark
			w.hangs.Store(false)
			return
		default:
		}
		w.log.Warn("the store does not answer: what was sent to a provider may be forgotten if this process is killed")
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
	retry := time.NewTicker(lateDelay)
	defer retry.Stop()
	for {
		select {
		case <-w.ending:
			w.write()
			w.writeLate()
			return
		case <-retry.C:
			if !w.hangs.Load() {
				w.writeLate()
			}
			continue
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
		w.lost += len(b.Requests)
		if _, report := w.failures.Say(""); report {
			w.log.Error("requests are not recorded", "requests", w.lost, "error", err)
			w.lost = 0
		}
		return
	}
	if failures, _ := w.failures.Over(); failures > 0 {
		w.log.Info("requests are recorded again", "lost", w.lost)
		w.lost = 0
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
	ctx, cancel := context.WithTimeout(context.Background(), maxPrune)
	defer cancel()
	go func() { // the end of the process waits for it no longer than for a write
		select {
		case <-w.ending:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(maxWrite):
			cancel()
		case <-ctx.Done():
		}
	}()
	now, err := believed(ctx, w.store)
	if err != nil {
		w.log.Warn("old records stay", "error", err)
		return
	}
	removed, err := w.store.Prune(ctx, w.keep.limits(now))
	switch {
	case errors.Is(err, context.Canceled): // another process does it
	case err != nil:
		w.log.Warn("old records stay", "error", err)
	case removed > 0:
		w.log.Info("old records are gone", "requests", removed)
	}
}
