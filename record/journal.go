package record

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/stet-dev/stet/internal/repeats"
)

// Journal writes to a trail. Now writes at once what must be there before something
// happens; Later collects other entries, and writes them together a little later. The
// zero Journal records nothing. It may be used concurrently.
type Journal struct {
	Trail Trail         // nil: nothing is recorded
	Delay time.Duration // how long an entry may wait for others; 0: 500 ms
	Log   *slog.Logger  // nil: silence

	mu      sync.Mutex
	waiting []Entry
	writer  bool  // a goroutine will write what is waiting
	failed  error // of the newest try to write to the trail; nil: it can be written
	trouble repeats.Filter
	now     chan struct{} // of capacity 1: to write without more delay
	closed  chan struct{}
	done    bool
	wg      sync.WaitGroup
}

// maxDelay is how long entries wait at most, after tries that failed.
const maxDelay = 5 * time.Second

// From many waiting entries on, they are written without more delay. From tooMany on,
// the call that brings another entry writes them. Neither is so if the last try failed.
// From most on, no more entries are taken.
const (
	many    = 250
	tooMany = 5_000
	most    = 10_000
)

// patience is how long one write to the trail may take.
const patience = 15 * time.Second

var errMany = errors.New("the audit trail cannot be written: too many entries wait")

// Later takes an entry that is to be written within Delay. An error says that
// the trail has not been writable for a while, has lost entries (ErrLost), or is
// closed: what the entry is about should not be done.
func (j *Journal) Later(e Entry) error {
	if j.Trail == nil {
		return nil
	}
	stamp(&e)
	n, err := j.add(e)
	if n < tooMany && !errors.Is(err, ErrLost) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err != nil { // unless the trail was put back meanwhile
		_, err = j.Now(ctx, e)
		return err
	}
	_ = j.Flush(ctx) // which has reported the error, and keeps the entries
	return nil
}

// add returns how many entries wait then, if it is of use to write them now.
func (j *Journal) add(e Entry) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.done:
		return 0, ErrClosed
	case len(j.waiting) >= most:
		return 0, errors.Join(errMany, j.failed)
	case errors.Is(j.failed, ErrLost):
		return 0, j.failed
	}
	j.waiting = append(j.waiting, e)
	j.schedule()
	if j.failed != nil {
		return 0, nil
	}
	if len(j.waiting) == many {
		j.hurry()
	}
	return len(j.waiting), nil
}

// log writes to the trail, and reports when that begins to fail, that it still
// fails, and when it succeeds again.
func (j *Journal) log(ctx context.Context, entries []Entry) ([]Entry, error) {
	chained, err := j.Trail.Log(ctx, entries...)
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return chained, err // the caller gave up, which says nothing about the trail
	}
	j.mu.Lock()
	waiting := len(j.waiting)
	failures, after, report := j.tried(err)
	j.mu.Unlock()
	after = after.Round(time.Millisecond)
	switch {
	case j.Log == nil || !report:
	case err == nil: // at the level of the failures, so that both are heard
		j.Log.Error("audit trail: it can be written again", "failures", failures, "after", after)
	case failures == 1:
		j.Log.Error("audit trail", "err", err)
	default:
		j.Log.Error("audit trail: it still cannot be written", "failures", failures, "after", after, "waiting", waiting, "err", err)
	}
	return chained, err
}

// tried notes how a try to write to the trail has ended: how many have failed one after
// the other, since when, and whether that is to be reported. The caller holds mu.
func (j *Journal) tried(err error) (failures int, after time.Duration, report bool) {
	j.failed = err
	if err == nil {
		failures, after = j.trouble.Over()
		return failures, after, failures > 0
	}
	j.trouble.First = time.Minute
	_, report = j.trouble.Say("")
	failures, after = j.trouble.Run()
	return failures, after, report
}

// Now writes entries, all or none, after those that wait, and returns them as
// they are in the trail.
func (j *Journal) Now(ctx context.Context, entries ...Entry) ([]Entry, error) {
	if j.Trail == nil {
		return entries, ctx.Err()
	}
	before := j.take()
	all := append(slices.Clip(before), entries...)
	for i := range all {
		stamp(&all[i])
	}
	chained, err := j.log(ctx, all)
	if err != nil {
		j.giveBack(before)
		return nil, err
	}
	return chained[len(before):], nil
}

// Flush writes what waits.
func (j *Journal) Flush(ctx context.Context) error {
	entries := j.take()
	if len(entries) == 0 {
		return nil
	}
	_, err := j.log(ctx, entries)
	if err != nil {
		j.giveBack(entries)
	}
	return err
}

// Close writes what waits. Nothing is taken after it. More calls do nothing.
func (j *Journal) Close() error {
	j.mu.Lock()
	if j.done {
		j.mu.Unlock()
		return nil
	}
	j.done = true
	if j.closed != nil {
		close(j.closed)
	}
	j.mu.Unlock()
	j.wg.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return j.Flush(ctx)
}

func (j *Journal) take() []Entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	entries := j.waiting
	j.waiting = nil
	return entries
}

// giveBack puts entries that could not be written before those that wait.
func (j *Journal) giveBack(entries []Entry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(entries) > 0 {
		j.waiting = slices.Concat(entries, j.waiting)
		j.schedule()
	}
}

// schedule sees to it that what waits is written. The caller holds mu.
func (j *Journal) schedule() {
	if j.writer || j.done {
		return
	}
	if j.closed == nil {
		j.closed = make(chan struct{})
		j.now = make(chan struct{}, 1)
	}
	j.writer = true
	delay := j.Delay
	if delay <= 0 {
		delay = 500 * time.Millisecond
	}
	failures, _ := j.trouble.Run()
	delay = max(delay, min(delay<<min(failures, 10), maxDelay))
	j.wg.Go(func() { j.write(delay) })
}

// hurry has what waits written at once. The caller holds mu.
func (j *Journal) hurry() {
	select {
	case j.now <- struct{}{}:
	default:
	}
}

func (j *Journal) write(delay time.Duration) {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-j.now:
	case <-j.closed: // Close writes the rest
		return
	}
	j.mu.Lock()
	j.writer = false
	j.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_ = j.Flush(ctx) // which has reported the error, and keeps the entries
}

func stamp(e *Entry) {
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
}
