package approval

import (
	"context"
	"slices"

	"github.com/stet-dev/stet/tool"
)

// maxBehind is the limit of a subscription's unfetched events.
const maxBehind = 4096

// Subscription delivers the events of a queue.
type Subscription struct {
	queue  *Queue
	events events
}

// Subscribe begins with the open questions, and continues with new events. The caller must close it.
func (q *Queue) Subscribe() *Subscription {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.subscribe()
	for _, w := range q.open {
		s.events.add(Event{Opened: &w.question})
	}
	return s
}

// Watch is Subscribe for a front end that may have shown the queue before. It returns the open questions, and up to most of the
// questions that ended last, the oldest first. The subscription continues from there, without gaps or repeated events. The caller
// must close it.
func (q *Queue) Watch(most int) (open []Question, ended []Ended, s *Subscription) {
	q.mu.Lock()
	defer q.mu.Unlock()
	ended = slices.Clone(q.closed[max(0, len(q.closed)-most):])
	return q.questions(), ended, q.subscribe()
}

// subscribe begins an empty subscription. The caller holds mu.
func (q *Queue) subscribe() *Subscription {
	s := &Subscription{queue: q, events: newEvents()}
	if q.subscriptions == nil {
		q.subscriptions = map[*Subscription]struct{}{}
	}
	q.subscriptions[s] = struct{}{}
	return s
}

// publish sends an event to the subscriptions without waiting. A subscription that is too far behind ends. The caller holds mu.
func (q *Queue) publish(e Event) {
	for s := range q.subscriptions {
		if s.events.add(e) > maxBehind {
			s.end(ErrSlow)
		}
	}
}

// shrink drops the content of a question that is being closed, in events that were not fetched. The caller holds mu.
func (q *Queue) shrink(w *waiting) {
	smaller := w.question
	smaller.Diff, smaller.Content, smaller.Editable = tool.Diff{}, nil, false
	for s := range q.subscriptions {
		s.events.shrink(&w.question, &smaller)
	}
}

// end ends the subscription. The caller holds the queue's mu.
func (s *Subscription) end(err error) {
	s.events.end(err, true)
	delete(s.queue.subscriptions, s)
}

// Next waits for the next event. The data that an event points to must not be changed.
func (s *Subscription) Next(ctx context.Context) (Event, error) { return s.events.next(ctx) }

// Answer answers an open question: see Queue.Answer.
func (s *Subscription) Answer(_ context.Context, id string, a Answer) error {
	return s.queue.Answer(id, a)
}

// Content returns a copy of the text with which Edit begins.
func (s *Subscription) Content(_ context.Context, id string) ([]byte, error) {
	b, err := s.queue.content(id)
	return slices.Clone(b), err
}

// Close ends the subscription. Next then returns ErrClosed. Further calls do nothing.
func (s *Subscription) Close() error {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	s.end(ErrClosed)
	return nil
}
