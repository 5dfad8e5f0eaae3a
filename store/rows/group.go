package rows

import (
	"context"
	"runtime"
	"slices"
	"sync"
)

// group lets many goroutines share commits. Only the goroutine that holds the right to commit writes. It writes all waiting jobs:
// its own and those of other goroutines. A job that is added during a commit waits for the next commit. So one commit writes many
// jobs, and a job waits for at most two commits.
type group[T any] struct {
	right chan struct{} // has capacity 1; the goroutine that writes holds its one slot

	mu      sync.Mutex
	waiting []*job[T]

	last int // number of jobs in the last commit; only the holder of right uses it
}

// job is a value that one goroutine wants written.
type job[T any] struct {
	value T
	done  chan struct{} // closed when err is final
	err   error
}

func newGroup[T any]() *group[T] { return &group[T]{right: make(chan struct{}, 1)} }

// do adds value as a job, and returns when the job is written. The result is the value as write has changed it, and the error
// that write has set. write gets all jobs of one commit and sets their errors. If ctx ends before the job is in a commit, the job
// is removed and do returns the error of ctx.
func (g *group[T]) do(ctx context.Context, value T, write func([]*job[T])) (T, error) {
	if err := ctx.Err(); err != nil {
		return value, err
	}
	j := &job[T]{value: value, done: make(chan struct{})}
	g.mu.Lock()
	g.waiting = append(g.waiting, j)
	g.mu.Unlock()
	select {
	case <-j.done:
		return j.value, j.err
	case g.right <- struct{}{}:
		g.gather()
		if jobs := g.take(); len(jobs) > 0 {
			write(jobs)
			for _, done := range jobs {
				close(done.done)
			}
			g.last = len(jobs)
		}
		<-g.right
	case <-ctx.Done():
		if g.withdraw(j) {
			return value, ctx.Err()
		}
	}
	<-j.done
	return j.value, j.err
}

// gather yields the processor, so that the goroutines of the last commit can add their next jobs to this commit. Without it the
// first of them would write alone, and the others would wait.
func (g *group[T]) gather() {
	for range g.last {
		g.mu.Lock()
		n := len(g.waiting)
		g.mu.Unlock()
		if n >= g.last {
			return
		}
		runtime.Gosched()
	}
}

// take removes and returns all waiting jobs. The caller must write them.
func (g *group[T]) take() []*job[T] {
	g.mu.Lock()
	defer g.mu.Unlock()
	jobs := g.waiting
	g.waiting = nil
	return jobs
}

// withdraw removes j if it is still waiting, and reports whether it was.
func (g *group[T]) withdraw(j *job[T]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting, j)
	if i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
	return i >= 0
}

// wait waits until no goroutine writes. It returns a function that lets others write again.
func (g *group[T]) wait() (release func()) {
	g.right <- struct{}{}
	return func() { <-g.right }
}

// failAll sets err for the jobs that have no error yet.
func failAll[T any](jobs []*job[T], err error) {
	for _, j := range jobs {
		if j.err == nil {
			j.err = err
		}
	}
}
