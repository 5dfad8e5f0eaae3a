package record

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/stet-dev/stet/internal/limits"
)

// Journal writes to a trail. Now writes an entry that must be in the trail before something happens. Later collects other
// entries, and writes them together a little later. The zero Journal records nothing. A Journal may be used concurrently.
type Journal struct {
	Trail Trail         // nil: nothing is recorded
	Delay time.Duration // how long an entry may wait for others; 0: 500 ms
	Log   *slog.Logger  // nil: nothing is logged

	mu       sync.Mutex
	waiting  []Entry
	writer   bool  // a goroutine will write the waiting entries
	failed   error // the error of the newest attempt to write to the trail; nil: the trail can be written
	failures limits.Repeats
	now      chan struct{} // of capacity 1: tells the goroutine to write without more delay
	closed   chan struct{}
	done     bool
	wg       sync.WaitGroup
}

// maxDelay is the longest delay of waiting entries after failed attempts.
const maxDelay = 5 * time.Second

// These are numbers of waiting entries. At flushAt, the entries are written without more delay. From blockAt on, the call that
// adds an entry also writes them. Both apply only if the last attempt to write succeeded. At maxWaiting, Later takes no more
// entries.
const (
	flushAt    = 250
	blockAt    = 5_000
	maxWaiting = 10_000
)

// writeTimeout is the time limit of one write to the trail.
const writeTimeout = 15 * time.Second

var errMany = errors.New("the audit trail cannot be written: too many entries wait")

// Later takes an entry that is to be written within Delay. It returns an error if the trail could not be written for a
// while, if the trail has lost entries (ErrLost), or if the journal is closed (ErrClosed). After an error the caller should
// not do what the entry describes.
func (j *Journal) Later(e Entry) error {
	if j.Trail == nil {
		return nil
	}
	stamp(&e)
	n, err := j.add(e)
	if n < blockAt && !errors.Is(err, ErrLost) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	if err != nil { // the trail may have been restored meanwhile: try again
		_, err = j.Now(ctx, e)
		return err
	}
	_ = j.Flush(ctx) // log has reported the error, and the entries still wait
	return nil
}

// add adds an entry to the waiting ones. It returns their number, or 0 if the last attempt to write failed.
func (j *Journal) add(e Entry) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.done:
		return 0, ErrClosed
	case len(j.waiting) >= maxWaiting:
		return 0, errors.Join(errMany, j.failed)
	case errors.Is(j.failed, ErrLost):
		return 0, j.failed
	}
	j.waiting = append(j.waiting, e)
	j.schedule()
	if j.failed != nil {
		return 0, nil
	}
	if len(j.waiting) == flushAt {
		j.flushSoon()
	}
	return len(j.waiting), nil
}

// log writes to the trail. It logs when writing begins to fail, that it still fails, and when it succeeds again.
func (j *Journal) log(ctx context.Context, entries []Entry) ([]Entry, error) {
	chained, err := j.Trail.Log(ctx, entries...)
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return chained, err // the caller gave up: that says nothing about the trail
	}
	j.mu.Lock()
	waiting := len(j.waiting)
	failures, after, report := j.noteResult(err)
	j.mu.Unlock()
	after = after.Round(time.Millisecond)
	switch {
	case j.Log == nil || !report:
	case err == nil: // the same level as the failures, so that both are logged
		j.Log.Error("audit trail: it can be written again", "failures", failures, "after", after)
	case failures == 1:
		j.Log.Error("audit trail", "err", err)
	default:
		j.Log.Error("audit trail: it still cannot be written", "failures", failures, "after", after, "waiting", waiting, "err", err)
	}
	return chained, err
}

// noteResult records the result of an attempt to write to the trail. It returns how many attempts have failed in a row, for how
// long, and whether to log that. The caller holds mu.
func (j *Journal) noteResult(err error) (failures int, after time.Duration, report bool) {
	j.failed = err
	if err == nil {
		failures, after = j.failures.Over()
		return failures, after, failures > 0
	}
	j.failures.First = time.Minute
	_, report = j.failures.Say("")
	failures, after = j.failures.Run()
	return failures, after, report
}

// Now writes entries, all or none, after the waiting ones. It returns them as they are in the trail. If it returns an
// error, the waiting entries still wait.
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

// Flush writes the waiting entries. If it returns an error, they still wait.
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

// Close writes the waiting entries. Later returns ErrClosed after it. More calls of Close do nothing.
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
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
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

// giveBack puts entries that could not be written back before the waiting ones.
func (j *Journal) giveBack(entries []Entry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(entries) > 0 {
		j.waiting = slices.Concat(entries, j.waiting)
		j.schedule()
	}
}

// schedule starts a goroutine that writes the waiting entries, if there is none. The caller holds mu.
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
	failures, _ := j.failures.Run()
	delay = max(delay, min(delay<<min(failures, 10), maxDelay))
	j.wg.Go(func() { j.write(delay) })
}

// flushSoon makes the goroutine write without more delay. The caller holds mu.
func (j *Journal) flushSoon() {
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
	case <-j.closed: // Close writes the waiting entries
		return
	}
	j.mu.Lock()
	j.writer = false
	j.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	_ = j.Flush(ctx) // log has reported the error, and the entries still wait
}

func stamp(e *Entry) {
	limits.Cut(e)
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
}
