package approval

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/tool"
)

// Errors of a Queue.
var (
	ErrFull     = errors.New("too many questions are open")
	ErrUnknown  = errors.New("no such question")
	ErrAnswered = errors.New("no longer open") // answered, withdrawn or expired; the error's text says which
	ErrSlow     = errors.New("too far behind: subscribe again")
)

// Queue holds open questions, the oldest first. Several people may answer at several front ends, and the first answer counts. A
// question is open until it is answered, its call ends, or its time is over. All subscriptions get each change. The zero
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
	closed        []Closing  // the newest last
	subscriptions map[*Subscription]struct{}
}

var _ Approver = (*Queue)(nil)

// waiting is an open question whose call waits for the answer.
type waiting struct {
	question Question
	answer   chan Answer        // of capacity 1
	forward  func(Answer) error // nil: the question is this queue's own
}

// Closing says how a question ended, and what it was about.
type Closing struct {
	ID   string    `json:"id"`
	How  string    `json:"how" jsonschema:"the verdict, expired or withdrawn"`
	By   string    `json:"by,omitempty"` // the person who answered
	Text string    `json:"text" max:"4096" jsonschema:"for people"`
	Path string    `json:"path,omitempty" max:"4096"`
	At   time.Time `json:"at,omitzero"`

	Native bool `json:"-"` // as of the question
}

// Ended is the cause with which the context of a question ends that needs no answer here any more. It says how it ended, for people.
type Ended string

func (e Ended) Error() string { return string(e) }

const (
	defaultLimit = 1000
	defaultBytes = 64 << 20
	keepClosed   = 1000 // number of closings kept, for late answers
)

// reserve takes the memory that a question needs while it is open.
func (q *Queue) reserve(question Question) (release func(), err error) {
	q.once.Do(func() {
		limit := cmp.Or(q.Bytes, defaultBytes)
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
	question.ID = newID()
	return q.ask(ctx, question, nil)
}

// Mirror shows a question of another queue, under its ID, until ctx ends. An answer that fits goes to forward, and decides only if that returns
// nil: the first answer counts in the other queue.
func (q *Queue) Mirror(ctx context.Context, question Question, forward func(Answer) error) error {
	_, err := q.ask(ctx, question, forward)
	return err
}

func (q *Queue) ask(ctx context.Context, question Question, forward func(Answer) error) (Answer, error) {
	if question.Diff.Empty() && len(question.Content) > 0 && utf8.Valid(question.Content) {
		// The file was not text: the new text is shown.
		question.Diff.Files = []tool.FileDiff{tool.CompareTexts(question.Path, "", string(question.Content))}
	}
	question.Complete()
	release, err := q.reserve(question)
	if err != nil {
		return Answer{}, err
	}
	defer release()
	w := &waiting{question, make(chan Answer, 1), forward}
	q.mu.Lock()
	limit := cmp.Or(q.Limit, defaultLimit)
	if len(q.open) >= limit || q.find(question.ID) >= 0 {
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
	c := Closing{ID: w.question.ID, How: how}
	if ended, ok := errors.AsType[Ended](context.Cause(ctx)); ok {
		c.Text = string(ended)
	}
	q.close(i, c)
	return Answer{}, ctx.Err()
}

// Answer answers an open question. If the answer does not fit the question, it returns an error and the question stays open. A
// grant also answers the session's other open questions that it covers. These are closed first.
func (q *Queue) Answer(id string, a Answer) error {
	a.Content = slices.Clone(a.Content)
	forward, err := q.take(id, &a)
	if err == nil && forward != nil {
		return forward(a)
	}
	return err
}

// take delivers an answer that fits, unless the question is mirrored: then it returns where the answer goes.
func (q *Queue) take(id string, a *Answer) (forward func(Answer) error, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := q.find(id)
	if i < 0 {
		return nil, q.notOpen(id)
	}
	asked, now := q.open[i].question, time.Now()
	if asked.expired(now) {
		return nil, fmt.Errorf("question %s is %w: expired", id, ErrAnswered)
	}
	if err := asked.Check(*a); err != nil {
		return nil, err
	}
	if a.Verdict == Edit && a.Content == nil {
		if a.Content, err = asked.kept(a.Keep); err != nil {
			return nil, err
		}
	}
	a.Keep = nil
	if q.open[i].forward != nil {
		return q.open[i].forward, nil
	}
	for i := 0; i < len(q.open); {
		other := q.open[i].question
		if other.ID != id && !other.expired(now) && asked.covers(*a, other) {
			a.Seal = other.Seal
			q.answer(i, *a)
			continue
		}
		i++
	}
	a.Seal = asked.Seal
	q.answer(q.find(id), *a)
	return nil, nil
}

// answer delivers an answer. The caller holds mu.
func (q *Queue) answer(i int, a Answer) {
	w := q.open[i]
	w.answer <- a
	q.close(i, Closing{ID: w.question.ID, How: string(a.Verdict), By: a.By})
}

// close removes a question, and remembers how it ended. The caller holds mu.
func (q *Queue) close(i int, c Closing) {
	w := q.open[i]
	c.Text, c.Path, c.At, c.Native = c.String(), cmp.Or(w.question.Path, w.question.Command), time.Now(), w.question.Native
	q.shrink(w)
	q.open = slices.Delete(q.open, i, i+1)
	if q.closed = append(q.closed, c); len(q.closed) > 2*keepClosed {
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
			return fmt.Errorf("question %s is %w: %s", id, ErrAnswered, c)
		}
	}
	return fmt.Errorf("question %q: %w", id, ErrUnknown)
}

// Open lists the open questions, the oldest first.
func (q *Queue) Open() []Question {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.questions()
}

// Find returns an open question. The error is ErrAnswered or ErrUnknown, with how it ended.
func (q *Queue) Find(id string) (Question, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := q.find(id)
	if i < 0 {
		return Question{}, q.notOpen(id)
	}
	return q.open[i].question, nil
}

// questions returns the open questions. The caller holds mu.
func (q *Queue) questions() []Question {
	out := make([]Question, len(q.open))
	for i, w := range q.open {
		out[i] = w.question
	}
	return out
}
