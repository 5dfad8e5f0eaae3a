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

	mu     sync.Mutex
	open   []*waiting // the oldest first
	closed []Closing  // the newest last
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

// keepClosed is how many closings are remembered for late answers; behind is
// how many events a subscriber may be.
const (
	keepClosed = 1000
	behind     = 4096
)

// Ask implements Approver: it waits until somebody calls Answer.
func (q *Queue) Ask(ctx context.Context, question Question) (Answer, error) {
	w := &waiting{question, make(chan Answer, 1)}
	w.q.ID = newID()
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
	if _, err := q.remove(w.q.ID, Closing{w.q.ID, how, ""}, nil); err != nil {
		return <-w.answer, nil // an answer came first
	}
	return Answer{}, ctx.Err()
}

// Answer answers an open question. An answer that does not fit the question is
// an error, and leaves it open.
func (q *Queue) Answer(id string, a Answer) error {
	a.Content = slices.Clone(a.Content)
	_, err := q.remove(id, Closing{id, string(a.Verdict), a.By}, &a)
	return err
}

// remove takes a question out, if the answer fits, and hands the answer over.
func (q *Queue) remove(id string, c Closing, a *Answer) (Question, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := q.find(id)
	if i < 0 {
		return Question{}, q.gone(id)
	}
	w := q.open[i]
	if a != nil {
		if !w.q.Expires.IsZero() && !time.Now().Before(w.q.Expires) {
			return Question{}, fmt.Errorf("question %s is %w: expired", id, ErrAnswered)
		}
		if err := w.q.Check(*a); err != nil {
			return Question{}, err
		}
		w.answer <- *a
	}
	q.open = slices.Delete(q.open, i, i+1)
	if q.closed = append(q.closed, c); len(q.closed) > 2*keepClosed {
		q.closed = slices.Clone(q.closed[keepClosed:])
	}
	q.publish(Event{Closed: &c})
	return w.q, nil
}

func newID() string { return strings.ToLower(rand.Text()[:10]) }

func (q *Queue) find(id string) int {
	return slices.IndexFunc(q.open, func(w *waiting) bool { return w.q.ID == id })
}

func (q *Queue) gone(id string) error {
	for _, c := range slices.Backward(q.closed) {
		if c.ID == id {
			return fmt.Errorf("question %s is %w: %s", id, ErrAnswered, c)
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
	out := make([]Question, len(q.open))
	for i, w := range q.open {
		out[i] = w.q
	}
	return out
}

// Event is something that happened to a queue: exactly one field is set.
type Event struct {
	Opened *Question
	Closed *Closing
}

// Subscription follows a queue.
type Subscription struct {
	q      *Queue
	more   chan struct{} // of capacity 1: there is something to look at
	events []Event       // guarded by Queue.mu
	err    error         // why there are no more; guarded by Queue.mu
}

// Subscribe begins with the questions that are open, and goes on with what
// happens. Close it when done.
func (q *Queue) Subscribe() *Subscription {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := &Subscription{q: q, more: make(chan struct{}, 1)}
	for _, w := range q.open {
		s.events = append(s.events, Event{Opened: &w.q})
	}
	if len(s.events) > 0 {
		s.more <- struct{}{}
	}
	if q.subs == nil {
		q.subs = map[*Subscription]struct{}{}
	}
	q.subs[s] = struct{}{}
	return s
}

// publish tells the subscribers. It waits for none: one that is too far behind
// is cut off. The caller holds mu.
func (q *Queue) publish(e Event) {
	for s := range q.subs {
		if len(s.events) >= behind {
			s.end(ErrSlow)
			continue
		}
		s.events = append(s.events, e)
		s.wake()
	}
}

func (s *Subscription) wake() {
	select {
	case s.more <- struct{}{}:
	default:
	}
}

func (s *Subscription) end(err error) {
	if s.err == nil {
		s.err, s.events = err, nil
		delete(s.q.subs, s)
		s.wake()
	}
}

// Next waits for the next event. What an event points to is not to be changed.
func (s *Subscription) Next(ctx context.Context) (Event, error) {
	for {
		s.q.mu.Lock()
		switch {
		case s.err != nil:
			err := s.err
			s.wake() // for others that wait
			s.q.mu.Unlock()
			return Event{}, err
		case len(s.events) > 0:
			e := s.events[0]
			if s.events = s.events[1:]; len(s.events) > 0 {
				s.wake()
			}
			s.q.mu.Unlock()
			return e, nil
		}
		s.q.mu.Unlock()
		select {
		case <-s.more:
		case <-ctx.Done():
			return Event{}, ctx.Err()
		}
	}
}

// Answer answers an open question: see Queue.Answer.
func (s *Subscription) Answer(_ context.Context, id string, a Answer) error { return s.q.Answer(id, a) }

// Content is what Edit begins with, the caller's own.
func (s *Subscription) Content(_ context.Context, id string) ([]byte, error) {
	b, err := s.q.content(id)
	return slices.Clone(b), err
}

// Close ends the subscription. Next then returns ErrClosed. More calls do
// nothing.
func (s *Subscription) Close() error {
	s.q.mu.Lock()
	defer s.q.mu.Unlock()
	s.end(ErrClosed)
	return nil
}
