package postgres

import (
	"context"
	"runtime"
	"slices"
	"sync"
)

// group lets many goroutines share commits. One that finds the right to commit free writes
// what waits, its own and the others'; who comes meanwhile waits for the next commit.
// So one commit serves many, and none waits for more than two.
type group[T any] struct {
	right chan struct{} // of capacity 1: held by who writes

	mu      sync.Mutex
	waiting []*job[T]

	last int // jobs of the last commit; its owner has the right to commit
}

// job is what one goroutine wants written.
type job[T any] struct {
	value T
	done  chan struct{} // closed once err is what came of it
	err   error
}

func newGroup[T any]() *group[T] { return &group[T]{right: make(chan struct{}, 1)} }

// do hands value in and returns what came of it. write gets the jobs of one commit and sets their errors.
// When ctx ends before anything was begun, value is taken back.
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

// gather lets those come who were served by the commit before and are about to
// append again. Else the first of them would write alone, and the others wait.
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

// take returns what waits, which is then the caller's to write.
func (g *group[T]) take() []*job[T] {
	g.mu.Lock()
	defer g.mu.Unlock()
	jobs := g.waiting
	g.waiting = nil
	return jobs
}

// withdraw takes j back, if it was not begun.
func (g *group[T]) withdraw(j *job[T]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting, j)
	if i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
	return i >= 0
}

// failAll gives err to the jobs that have no error yet.
func failAll[T any](jobs []*job[T], err error) {
	for _, j := range jobs {
		if j.err == nil {
			j.err = err
		}
	}
}
