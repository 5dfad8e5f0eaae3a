package approval

import (
	"context"
	"slices"

	"github.com/stet-dev/stet/tool"
)

// Event is something that happened to a queue: exactly one field is set.
type Event struct {
	Opened *Question
	Closed *Closing
}

// maxBehind is how many events a subscription may be behind.
const maxBehind = 4096

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
	s := q.subscribe()
	for _, w := range q.open {
		s.events = append(s.events, Event{Opened: &w.question})
	}
	if len(s.events) > 0 {
		s.wake()
	}
	return s
}

// Watch is Subscribe for a front end that may have shown the queue before. It returns
// what is open now, and the questions that ended last, at most so many, the oldest
// first. The subscription goes on from there: nothing is told twice, and nothing is
// left out. Close it when done.
func (q *Queue) Watch(most int) (open []Question, ended []Ended, s *Subscription) {
	q.mu.Lock()
	defer q.mu.Unlock()
	ended = slices.Clone(q.closed[max(0, len(q.closed)-most):])
	return q.questions(), ended, q.subscribe()
}

// subscribe begins a subscription that has nothing yet. The caller holds mu.
func (q *Queue) subscribe() *Subscription {
	s := &Subscription{q: q, more: make(chan struct{}, 1)}
	if q.subscriptions == nil {
		q.subscriptions = map[*Subscription]struct{}{}
	}
	q.subscriptions[s] = struct{}{}
	return s
}

// publish tells the subscribers. It waits for none: one that is too far behind
// is cut off. The caller holds mu.
func (q *Queue) publish(e Event) {
	for s := range q.subscriptions {
		if len(s.events) >= maxBehind {
			s.end(ErrSlow)
			continue
		}
		s.events = append(s.events, e)
		s.wake()
	}
}

// shrink makes an event that was not fetched yet small: it tells of a question that is
// about to be closed. The caller holds the queue's mu.
func (s *Subscription) shrink(w *waiting) {
	for i, e := range s.events {
		if e.Opened == &w.question {
			brief := w.question
			brief.Diff, brief.Content, brief.Editable = tool.Diff{}, nil, false
			s.events[i] = Event{Opened: &brief}
			return
		}
	}
}

func (s *Subscription) wake() {
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// end ends the subscription. The caller holds the queue's mu.
func (s *Subscription) end(err error) {
	if s.err == nil {
		s.err, s.events = err, nil
		delete(s.q.subscriptions, s)
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
