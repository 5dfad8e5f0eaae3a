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

	"github.com/stet-dev/stet/internal/budget"
)

// What a Queue answers.
var (
	ErrFull     = errors.New("too many questions are open")
	ErrUnknown  = errors.New("no such question")
	ErrAnswered = errors.New("no longer open") // answered, withdrawn or expired: the error says which
	ErrSlow     = errors.New("too far behind: subscribe again")
)

// Queue holds open questions for whoever answers them: any number of people on
// any number of fronts. The first answer counts. The zero Queue is empty and
// ready. It may be used concurrently.
type Queue struct {
	Limit int // open questions; 0: 1000
	// Bytes is how many bytes of memory the open questions may take, all together;
	// those of one workspace may take three quarters of it. 0: 64 MB.
	Bytes int64

	once       sync.Once
	all        *budget.Budget
	workspaces *budget.Family

	mu     sync.Mutex
	open   []*waiting // the oldest first
	closed []Ended    // the newest last
	subs   map[*Subscription]struct{}
}

var _ Approver = (*Queue)(nil)

type waiting struct {
	q      Question
	answer chan Answer // of capacity 1
}

// Closing says how a question came to its end.
type Closing struct {
	ID  string `json:"id"`
	How string `json:"how"`          // the verdict, "expired" or "withdrawn"
	By  string `json:"by,omitempty"` // who answered
}

// Ended is a question that is no longer open, for those who did not see it go.
type Ended struct {
	Closing
	Path string
	At   time.Time
}

// keepClosed is how many closings are remembered for late answers; behind is
// how many events a subscriber may be.
const (
	keepClosed = 1000
	behind     = 4096
)

// maxBytes is Queue.Bytes where nothing else is said.
const maxBytes = 64 << 20

// hold takes the room in memory that a question needs while it is open.
func (q *Queue) hold(question Question) (release func(), err error) {
	q.once.Do(func() {
		limit := q.Bytes
		if limit == 0 {
			limit = maxBytes
		}
		q.all = budget.New(budget.Process, limit)
		q.workspaces = budget.NewFamily(budget.Workspace, max(limit*3/4, 1))
	})
	release, err = budget.TryAcquire(question.bytes(), q.all, q.workspaces.Of(question.Root))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFull, err)
	}
	return release, nil
}

// Ask implements Approver: it waits until somebody calls Answer.
func (q *Queue) Ask(ctx context.Context, question Question) (Answer, error) {
	release, err := q.hold(question)
	if err != nil {
		return Answer{}, err
	}
	defer release()
	w := &waiting{question, make(chan Answer, 1)}
	w.q.ID = newID()
	w.q.count()
	q.mu.Lock()
	limit := q.Limit
	if limit == 0 {
		limit = 1000
	}
	if len(q.open) >= limit {
		q.mu.Unlock()
		return Answer{}, ErrFull
	}
	q.open = append(q.open, w)
	q.publish(Event{Opened: &w.q})
	q.mu.Unlock()

	select {
	case a := <-w.answer:
		return a, nil
	case <-ctx.Done():
	}
	how := "withdrawn"
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		how = "expired"
	}
	if !q.withdraw(w.q.ID, how) {
		return <-w.answer, nil // an answer came first
	}
	return Answer{}, ctx.Err()
}

// withdraw takes a question out that has no answer. It reports whether that was
// so.
func (q *Queue) withdraw(id, how string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := q.find(id)
	if i < 0 {
		return false
	}
	q.close(i, Closing{id, how, ""})
	return true
}

// Answer answers an open question. An answer that does not fit the question is
// an error, and leaves it open. One that holds for the session or a pattern
// answers the session's other open questions too that it covers, and these are
// closed first. (FILE-6)
func (q *Queue) Answer(id string, a Answer) error {
	a.Content = slices.Clone(a.Content)
	q.mu.Lock()
	defer q.mu.Unlock()
	i := q.find(id)
	if i < 0 {
		return q.gone(id)
	}
	asked, now := q.open[i].q, time.Now()
	if asked.expired(now) {
		return fmt.Errorf("question %s is %w: expired", id, ErrAnswered)
	}
	if err := asked.Check(a); err != nil {
		return err
	}
	for i := 0; i < len(q.open); {
		other := q.open[i].q
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

// answer hands an answer over. The caller holds mu.
func (q *Queue) answer(i int, a Answer) {
	w := q.open[i]
	w.answer <- a
	q.close(i, Closing{w.q.ID, string(a.Verdict), a.By})
}

// close takes a question out. The caller holds mu.
func (q *Queue) close(i int, c Closing) {
	w := q.open[i]
	ended := Ended{c, w.q.Path, time.Now()}
	for s := range q.subs {
		s.ease(w)
	}
	q.open = slices.Delete(q.open, i, i+1)
	if q.closed = append(q.closed, ended); len(q.closed) > 2*keepClosed {
		q.closed = slices.Clone(q.closed[keepClosed:])
	}
	q.publish(Event{Closed: &c})
}

func newID() string { return strings.ToLower(rand.Text()[:10]) }

func (q *Queue) find(id string) int {
	return slices.IndexFunc(q.open, func(w *waiting) bool { return w.q.ID == id })
}

func (q *Queue) gone(id string) error {
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
	return q.open[i].q, true
}

// questions are the open ones. The caller holds mu.
func (q *Queue) questions() []Question {
	out := make([]Question, len(q.open))
	for i, w := range q.open {
		out[i] = w.q
	}
	return out
}
