package approval

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stet-dev/stet/internal/limits"
)

// Errors of a Queue.
var (
	ErrFull     = errors.New("too many questions are open")
	ErrUnknown  = errors.New("no such question")
	ErrAnswered = errors.New("no longer open") // answered, withdrawn or expired; the error's text says which
	ErrSlow     = errors.New("too far behind: subscribe again")
)

// Queue holds open questions, the oldest first. Several people may answer at several front ends, and the first answer counts. A
// question is open until it is answered, its call ends, or its time is over. All subscriptions are told of each change. The zero
// value is ready to use. A Queue may be used concurrently, and does not wait under a lock.
type Queue struct {
	Limit int // limit of open questions; 0: 1000
	// Bytes is the limit of memory for all open questions, in bytes. The questions of one workspace may take three quarters of it.
	// 0: 64 MB.
	Bytes int64

	once       sync.Once
	all        *limits.Budget
	workspaces *limits.Family

	mu            sync.Mutex
	open          []*waiting // the oldest first
	closed        []Ended    // the newest last
	subscriptions map[*Subscription]struct{}
}

var _ Approver = (*Queue)(nil)

// waiting is an open question whose call waits for the answer.
type waiting struct {
	question Question
	answer   chan Answer // of capacity 1
}

// Closing says how a question ended.
type Closing struct {
	ID  string `json:"id"`
	How string `json:"how"`          // the verdict, "expired" or "withdrawn"
	By  string `json:"by,omitempty"` // the person who answered
}

// Ended is a question that is no longer open, for subscribers that did not see it close.
type Ended struct {
	Closing
	Path string
	At   time.Time
}

const (
	defaultLimit = 1000
	defaultBytes = 64 << 20
	keepClosed   = 1000 // number of closings kept, for late answers
)

// reserve takes the memory that a question needs while it is open.
func (q *Queue) reserve(question Question) (release func(), err error) {
	q.once.Do(func() {
		limit := q.Bytes
		if limit == 0 {
			limit = defaultBytes
		}
		q.all = limits.NewBudget(limits.Process, limit)
		q.workspaces = limits.NewFamily(limits.Workspace, max(limit*3/4, 1))
	})
	release, err = limits.TryAcquire(question.bytes(), q.all, q.workspaces.Of(question.Root))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFull, err)
	}
	return release, nil
}

// Ask implements Approver. It waits until a front end calls Answer.
func (q *Queue) Ask(ctx context.Context, question Question) (Answer, error) {
	release, err := q.reserve(question)
	if err != nil {
		return Answer{}, err
	}
	defer release()
	w := &waiting{question, make(chan Answer, 1)}
	w.question.ID = newID()
	w.question.count()
	q.mu.Lock()
	limit := q.Limit
	if limit == 0 {
		limit = defaultLimit
	}
	if len(q.open) >= limit {
		q.mu.Unlock()
		return Answer{}, ErrFull
	}
	q.open = append(q.open, w)
	q.publish(Event{Opened: &w.question})
	q.mu.Unlock()

	select {
	case a := <-w.answer:
		return a, nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	i := q.find(w.question.ID)
	if i < 0 {
		return <-w.answer, nil // the answer came first
	}
	how := "withdrawn"
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) || question.expired(time.Now()) {
		how = "expired"
	}
	q.close(i, Closing{ID: w.question.ID, How: how})
	return Answer{}, ctx.Err()
}

// Answer answers an open question. If the answer does not fit the question, it returns an error and the question stays open. A
// grant also answers the session's other open questions that it covers. These are closed first. (FILE-6)
func (q *Queue) Answer(id string, a Answer) error {
	a.Content = slices.Clone(a.Content)
	q.mu.Lock()
	defer q.mu.Unlock()
	i := q.find(id)
	if i < 0 {
		return q.notOpen(id)
	}
	asked, now := q.open[i].question, time.Now()
	if asked.expired(now) {
		return fmt.Errorf("question %s is %w: expired", id, ErrAnswered)
	}
	if err := asked.Check(a); err != nil {
		return err
	}
	for i := 0; i < len(q.open); {
		other := q.open[i].question
		if other.ID != id && !other.expired(now) && asked.covers(a, other) {
			a.Seal = other.Seal
			q.answer(i, a)
			continue
		}
		i++
	}
	a.Seal = asked.Seal
	q.answer(q.find(id), a)
	return nil
}

// answer delivers an answer. The caller holds mu.
func (q *Queue) answer(i int, a Answer) {
	w := q.open[i]
	w.answer <- a
	q.close(i, Closing{w.question.ID, string(a.Verdict), a.By})
}

// close removes a question, and remembers how it ended. The caller holds mu.
func (q *Queue) close(i int, c Closing) {
	w := q.open[i]
	ended := Ended{c, w.question.Path, time.Now()}
	q.shrink(w)
	q.open = slices.Delete(q.open, i, i+1)
	if q.closed = append(q.closed, ended); len(q.closed) > 2*keepClosed {
		q.closed = slices.Clone(q.closed[keepClosed:])
	}
	q.publish(Event{Closed: &c})
}

func newID() string { return strings.ToLower(rand.Text()[:10]) }

// find returns the index of an open question, or -1. The caller holds mu.
func (q *Queue) find(id string) int {
	return slices.IndexFunc(q.open, func(w *waiting) bool { return w.question.ID == id })
}

// notOpen returns the error that says why a question is not open. The caller holds mu.
func (q *Queue) notOpen(id string) error {
	for _, c := range slices.Backward(q.closed) {
		if c.ID == id {
			return fmt.Errorf("question %s is %w: %s", id, ErrAnswered, c.Closing)
		}
	}
	return fmt.Errorf("question %q: %w", id, ErrUnknown)
}

// String says how the question ended, for people.
func (c Closing) String() string {
	how := map[string]string{
		string(Approve): "approved", string(ForSession): "approved for the session", string(ForPattern): "approved by pattern",
		string(Edit): "edited and approved", string(Reject): "rejected", string(Cancel): "cancelled",
	}[c.How]
	if how == "" {
		how = c.How
	}
	if c.By != "" {
		how += " by " + c.By
	}
	return how
}

// Open lists the open questions, the oldest first.
func (q *Queue) Open() []Question {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.questions()
}

// Find returns an open question.
func (q *Queue) Find(id string) (_ Question, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := q.find(id)
	if i < 0 {
		return Question{}, false
	}
	return q.open[i].question, true
}

// content returns the text with which Edit of an open question begins. It must not be changed.
func (q *Queue) content(id string) ([]byte, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := q.find(id)
	if i < 0 {
		return nil, q.notOpen(id)
	}
	switch question := q.open[i].question; {
	case !question.Editable:
		return nil, errNotEditable
	case len(question.Content) > maxShown:
		return nil, errors.New("this is too large to be edited here")
	default:
		return question.Content, nil
	}
}

// questions returns the open questions. The caller holds mu.
func (q *Queue) questions() []Question {
	out := make([]Question, len(q.open))
	for i, w := range q.open {
		out[i] = w.question
	}
	return out
}
