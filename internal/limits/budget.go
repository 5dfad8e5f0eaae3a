// Package limits has what bounds a peer: the bytes that are held in memory for it at once (Budget), how often it may do something
// (Rate), the strings and lists that it chooses (Strings), and how often a repeated message is logged (Repeats).
//
// Before a caller holds bytes, it acquires their number from one budget of each level that applies: the workspace's, the token's and
// the process's. It releases them when the bytes are no longer held:
//
//	release, err := limits.Acquire(ctx, n, workspaces.Of("project"), tokens.Of(id), process)
//	if err != nil { … }
//	defer release()
package limits

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/semaphore"
)

var (
	// ErrTooLarge says that the number of bytes is above the limit of a budget, so waiting does not help.
	ErrTooLarge = errors.New("larger than the memory budget")
	// ErrFull says that a budget has no capacity now.
	ErrFull = errors.New("the memory budget is full")
)

// Level is the level of a budget. Acquire takes from lower levels first. So a caller that waits for capacity in a workspace holds no
// capacity of the process. The fixed order also means that two callers never wait for each other.
type Level int

// The levels, in the order in which Acquire takes from them.
const (
	Workspace Level = iota
	Token
	Process
)

func (l Level) String() string {
	return [...]string{"workspace", "token", "process"}[l]
}

// Budget is a number of bytes that may be held at once. A nil *Budget has no limit.
type Budget struct {
	level Level
	limit int64

	capacity *semaphore.Weighted // nil: use the semaphore of the entry in the family
	family   *Family
	key      string
}

// NewBudget returns a budget of limit bytes. limit must be above 0.
func NewBudget(level Level, limit int64) *Budget {
	return &Budget{level: level, limit: limit, capacity: semaphore.NewWeighted(limit)}
}

// Limit returns how many bytes may be held at once.
func (b *Budget) Limit() int64 { return b.limit }

// use returns the semaphore. It stays in use until unuse.
func (b *Budget) use() *semaphore.Weighted {
	if b.family == nil {
		return b.capacity
	}
	return b.family.use(b.key)
}

func (b *Budget) unuse() {
	if b.family != nil {
		b.family.unuse(b.key)
	}
}

// Acquire takes n bytes from all budgets or from none, and waits until they have capacity or ctx ends. There is at most one budget of
// each level. Bytes that the caller holds already make other callers wait. So a caller that needs more bytes for the same thing
// calls TryAcquire, or releases first.
//
// release gives the bytes back; further calls do nothing. The error is ErrTooLarge if n is above a limit, otherwise the error of
// ctx.
func Acquire(ctx context.Context, n int64, budgets ...*Budget) (release func(), err error) {
	return acquire(n, budgets, func(s *semaphore.Weighted, _ *Budget) error { return s.Acquire(ctx, n) })
}

// TryAcquire is Acquire without waiting. If a budget has no capacity now, the error is ErrFull and names the budget.
func TryAcquire(n int64, budgets ...*Budget) (release func(), err error) {
	return acquire(n, budgets, func(s *semaphore.Weighted, b *Budget) error {
		if !s.TryAcquire(n) {
			return fmt.Errorf("%d bytes for this %s: %w", n, b.level, ErrFull)
		}
		return nil
	})
}

func acquire(n int64, budgets []*Budget, take func(*semaphore.Weighted, *Budget) error) (func(), error) {
	budgets = slices.DeleteFunc(slices.Clone(budgets), func(b *Budget) bool { return b == nil })
	slices.SortFunc(budgets, func(a, b *Budget) int { return cmp.Compare(a.level, b.level) })
	for _, b := range budgets {
		if n > b.limit {
			return nil, fmt.Errorf("%d bytes, of at most %d for a %s: %w", n, b.limit, b.level, ErrTooLarge)
		}
	}
	var taken []func()
	release := sync.OnceFunc(func() {
		for _, give := range slices.Backward(taken) {
			give()
		}
	})
	for _, b := range budgets {
		s := b.use()
		if err := take(s, b); err != nil {
			b.unuse()
			release()
			return nil, err
		}
		taken = append(taken, func() {
			s.Release(n)
			b.unuse()
		})
	}
	return release, nil
}

// Family has budgets of one level and one limit, by key: one for each token, or one for each workspace. An unused budget takes no
// memory.
type Family struct {
	level Level
	limit int64

	mu sync.Mutex
	in map[string]*entry
}

// entry has the capacity of one key, and the number of callers that hold bytes of it or wait for them.
type entry struct {
	capacity *semaphore.Weighted
	users    int
}

// NewFamily returns a family of budgets of limit bytes each. limit must be above 0.
func NewFamily(level Level, limit int64) *Family {
	return &Family{level: level, limit: limit, in: map[string]*entry{}}
}

// Of returns the budget of a key. The caller may keep it or ask again. A nil *Family has no limits.
func (f *Family) Of(key string) *Budget {
	if f == nil {
		return nil
	}
	return &Budget{level: f.level, limit: f.limit, family: f, key: key}
}

func (f *Family) use(key string) *semaphore.Weighted {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.in[key]
	if e == nil {
		e = &entry{capacity: semaphore.NewWeighted(f.limit)}
		f.in[key] = e
	}
	e.users++
	return e.capacity
}

func (f *Family) unuse(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.in[key]
	if e.users--; e.users == 0 {
		delete(f.in, key)
	}
}
