package proxy

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/proxy/cachestate"
)

const (
	maxQueued   = 20_000           // rows of all kinds that may wait
	maxWrite    = 15 * time.Second // time limit for one write
	maxPrune    = 2 * time.Minute  // time limit for removing old rows
	maxNow      = time.Second      // time that a request waits for a write
	lateDelay   = 2 * time.Second  // time between tries to write late rows
	maxLate     = 32 << 20         // bytes of forms that may wait for such a try
	writeDelay  = 200 * time.Millisecond
	writeTrials = 2
	pruneEvery  = 6 * time.Hour
	tellAfter   = 10 * time.Minute // time between the first two log lines about a failure
)

// writer appends rows to the store in its own goroutine, so that no request waits for a disk.
type writer struct {
	store   record.Store
	keep    Keep
	pruned  time.Time // when the store was last pruned; used by the goroutine only
	log     *slog.Logger
	metrics *metrics

	mu      sync.Mutex
	queue   record.Batch
	kept    []func()        // called when the queue is written
	waiting []chan struct{} // closed after the next try to write the queue
	failure error           // error of the last write
	late    []lateWrite

	failures limits.Repeats // limits the log lines about failed writes
	lost     int            // requests not recorded since the last log line; used by the goroutine only
	hangs    atomic.Bool    // a write that a request waits for takes too long
	silent   atomic.Int64   // when the store was last found not to answer in time, as time.Time.UnixNano; 0: never

	more    chan struct{} // holds a token when the queue is not empty
	soon    chan struct{} // holds a token when somebody waits for the next write
	ending  chan struct{}
	stopped chan struct{}
}

// lateWrite is a write past the queue that has not succeeded yet. kept may be nil.
type lateWrite struct {
	rows record.Batch
	kept func()
}

// newWriter returns a running writer, or nil without a store.
func newWriter(store record.Store, keep Keep, log *slog.Logger, m *metrics) *writer {
	if store == nil {
		return nil
	}
	w := &writer{
		store: store, keep: keep, log: log, metrics: m, failures: limits.Repeats{First: tellAfter},
		more: make(chan struct{}, 1), soon: make(chan struct{}, 1), ending: make(chan struct{}), stopped: make(chan struct{}),
	}
	go w.run()
	return w
}

// add queues rows. If too many rows wait already, the new ones are dropped and counted.
func (w *writer) add(b record.Batch) { w.queueUp(b, nil) }

// queueUp queues rows, as add does. It calls kept, which may be nil, when they are written.
func (w *writer) queueUp(b record.Batch, kept func()) {
	if w == nil || b.Len() == 0 {
		return
	}
	w.mu.Lock()
	full := w.queue.Len()+b.Len() > maxQueued
	if !full {
		w.queue.Add(b)
		if kept != nil {
			w.kept = append(w.kept, kept)
		}
	}
	w.mu.Unlock()
	if full {
		w.metrics.lost.Add(float64(b.Len()))
		return
	}
	select {
	case w.more <- struct{}{}:
	default:
	}
}

// writeNow writes rows at once, past the queue, in a goroutine. It calls kept, which may be nil, when they are written, and done at
// the end. The returned channel is closed when the rows are written or the write failed. It is nil if an earlier write hangs. Rows that
// cannot be written now are written later.
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
			w.log.Debug("turns are not written before their answers", "error", err) // a failure of the queued writes is logged as an error
			w.fellSilent()
			w.later(lateWrite{b, kept})
		case kept != nil:
			kept()
		}
		close(written)
		if w.hangs.Swap(false) { // after close: see wait
			w.fellSilent()
		}
		if err == nil {
			w.writeLate()
		}
	}()
	return written
}

// later keeps rows until they can be written. If there are too many rows or bytes, the oldest are dropped and counted. A dropped form is
// not lost: later writes of its conversation contain it too.
func (w *writer) later(late lateWrite) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.late = append(w.late, late)
	w.dropLate()
}

// dropLate drops the oldest late writes if there are too many. The caller holds w.mu.
func (w *writer) dropLate() {
	bytes := 0
	for i, l := range slices.Backward(w.late) {
		for _, f := range l.rows.Forms {
			bytes += len(f.Edits)
		}
		if len(w.late)-i > maxQueued || bytes > maxLate {
			for _, l := range w.late[:i+1] {
				w.metrics.lost.Add(float64(l.rows.Len()))
			}
			w.late = slices.Delete(w.late, 0, i+1)
			return
		}
	}
}

// fellSilent records that the store did not answer in time until now. w may be nil.
func (w *writer) fellSilent() {
	if w != nil {
		w.silent.Store(time.Now().UnixNano())
	}
}

// silentSince reports whether the store did not answer at some time after t. What other processes sent meanwhile is stored late or not at
// all. w may be nil.
func (w *writer) silentSince(t time.Time) bool {
	return w != nil && (w.hangs.Load() || w.silent.Load() > t.UnixNano())
}

// writeLate writes the late rows. Other processes read there how conversations were sent.
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
		w.fellSilent()
		if l.kept != nil {
			l.kept()
		}
	}
}

// wait waits for a write, at most maxNow. So a store that hangs does not hold up requests.
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
		w.fellSilent()
		select {
		case <-written: // it was written just now, and no one else would clear the mark
			w.hangs.Store(false)
			return
		default:
		}
		w.log.Warn("the store does not answer: what was sent to a provider may be forgotten if this process is killed")
	}
}

// flush returns after a try to write the rows that are queued now, or the error of ctx when it ends before.
func (w *writer) flush(ctx context.Context) error {
	if w == nil {
		return nil
	}
	done := make(chan struct{})
	w.mu.Lock()
	w.waiting = append(w.waiting, done)
	w.mu.Unlock()
	for _, token := range []chan struct{}{w.soon, w.more} {
		select {
		case token <- struct{}{}:
		default:
		}
	}
	select {
	case <-done:
	case <-w.stopped:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// stop writes the queued rows and ends the goroutine. It is called once.
func (w *writer) stop() {
	if w == nil {
		return
	}
	close(w.ending)
	<-w.stopped
}

// trouble returns the error of the last write, or nil.
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
		select { // collect a few rows for one write
		case <-w.ending:
		case <-w.soon:
		case <-time.After(writeDelay):
		}
		w.write()
	}
}

// write appends all queued rows.
func (w *writer) write() {
	w.mu.Lock()
	b, kept, waiting := w.queue, w.kept, w.waiting
	w.queue, w.kept, w.waiting = record.Batch{}, nil, nil
	w.mu.Unlock()
	var err error
	for range writeTrials { // appending the same rows twice has no effect
		if b.Len() == 0 {
			break
		}
		if err = w.append(b); err == nil {
			break
		}
	}
	for _, done := range waiting {
		close(done)
	}
	if b.Len() == 0 {
		return
	}
	w.mu.Lock()
	w.failure = err
	w.mu.Unlock()
	if err != nil {
		w.metrics.lost.Add(float64(b.Len()))
		w.lost += len(b.Requests)
		if _, report := w.failures.Say(""); report {
			w.log.Error("requests are not recorded", "requests", w.lost, "error", err)
			w.lost = 0
		}
		return
	}
	for _, done := range kept {
		done()
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

// prune removes old rows from the store.
func (w *writer) prune() {
	ctx, cancel := context.WithTimeout(context.Background(), maxPrune)
	defer cancel()
	go func() { // when the process ends, pruning may take no longer than a write
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
	case errors.Is(err, context.Canceled): // the process is ending; another process will prune
	case err != nil:
		w.log.Warn("old records stay", "error", err)
	case removed > 0:
		w.log.Info("old records are gone", "requests", removed)
	}
}

// Keep limits how much is recorded. Old rows are removed when the first row is written, and then every six hours.
type Keep struct {
	For      time.Duration // 0 is 180 days; negative: for ever
	Requests int           // the newest; 0 is 500,000; negative: all
}

func (k Keep) limits(now time.Time) record.Limits {
	if k.For == 0 {
		k.For = 180 * 24 * time.Hour
	}
	if k.Requests == 0 {
		k.Requests = 500_000
	}
	l := record.Limits{Requests: max(0, k.Requests), Turns: cachestate.MaxTurns, FormBytes: maxFormBytes}
	if k.For > 0 {
		l.Since = now.Add(-k.For)
	}
	return l
}

// maxFormBytes limits the bytes of stored sent edits. A request of a long session takes some hundred bytes, so there is capacity for
// about a million requests, that is, for months.
const maxFormBytes = 256 << 20

// believeAfter is how long ago a time must have been seen before old rows are removed by it.
// So a clock that jumps ahead does not empty the store.
const believeAfter = 24 * time.Hour

// believed returns the time of the newest row that is at least believeAfter old. Without such a row it returns the zero time, by
// which nothing is too old.
func believed(ctx context.Context, store record.Store) (time.Time, error) {
	newest, err := store.Requests(ctx, record.Query{To: time.Now().Add(-believeAfter), Limit: 1})
	if err != nil || len(newest) == 0 {
		return time.Time{}, err
	}
	return newest[0].Time, nil
}
