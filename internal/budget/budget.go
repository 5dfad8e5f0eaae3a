// Package budget bounds how many bytes are held in memory at once, on several levels:
// for a workspace, for a token, and for the whole process.
//
// Who is about to hold bytes acquires their number from one budget of each level that
// applies, and releases it when the bytes are no longer held:
//
//	release, err := budget.Acquire(ctx, n, workspaces.Of("project"), tokens.Of(id), process)
//	if err != nil { … }
//	defer release()
//
// All functions may be called concurrently.
package budget

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
	// ErrTooLarge says that a number of bytes alone is over the limit of a budget. To
	// wait has no sense.
	ErrTooLarge = errors.New("larger than the memory budget")
	// ErrFull says that a budget has no room for a number of bytes at this moment.
	ErrFull = errors.New("the memory budget is full")
)

// Level is what a budget is for. Acquire takes from lower levels first, so that who
// waits for room in a workspace holds no room of the process meanwhile. The fixed
// order also means that two callers never wait for each other.
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

	room   *semaphore.Weighted // nil: that of the entry in the family
	family *Family
	key    string
}

// New returns a budget of limit bytes, which is more than 0.
func New(level Level, limit int64) *Budget {
	return &Budget{level: level, limit: limit, room: semaphore.NewWeighted(limit)}
}

// Limit is how many bytes may be held at once.
func (b *Budget) Limit() int64 { return b.limit }

// use returns the semaphore, which is in use until unuse.
func (b *Budget) use() *semaphore.Weighted {
	if b.family == nil {
		return b.room
	}
	return b.family.use(b.key)
}

func (b *Budget) unuse() {
	if b.family != nil {
		b.family.unuse(b.key)
	}
}

// Acquire takes n bytes from all budgets, and waits until they have room or ctx ends.
// It takes from all or from none. Of each level there is at most one budget. What is
// held already by the caller makes others wait: so who needs more bytes for the same
// thing calls TryAcquire, or releases first.
//
// release gives the bytes back; more calls do nothing. The error is ErrTooLarge where
// n is over a limit, else that of ctx.
func Acquire(ctx context.Context, n int64, budgets ...*Budget) (release func(), err error) {
	return acquire(n, budgets, func(s *semaphore.Weighted, _ *Budget) error { return s.Acquire(ctx, n) })
}

// TryAcquire is Acquire that does not wait: the error is ErrFull where a budget has no
// room now, and says which.
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

// Family is budgets of one level and one limit, by a key: one for each token, or one
// for each workspace. A budget that is not in use takes no memory.
type Family struct {
	level Level
	limit int64

	mu sync.Mutex
	in map[string]*entry
}

// entry is the room of one key, and how many callers hold bytes of it or wait for them.
type entry struct {
	room  *semaphore.Weighted
	users int
}

// NewFamily returns a family of budgets of limit bytes each, which is more than 0.
func NewFamily(level Level, limit int64) *Family {
	return &Family{level: level, limit: limit, in: map[string]*entry{}}
}

// Of returns the budget of a key. It may be kept, and asked for again. A nil *Family
// has no limits.
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
		e = &entry{room: semaphore.NewWeighted(f.limit)}
		f.in[key] = e
	}
	e.users++
	return e.room
}

func (f *Family) unuse(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.in[key]
	if e.users--; e.users == 0 {
		delete(f.in, key)
	}
}
