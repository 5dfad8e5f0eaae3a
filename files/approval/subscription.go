package approval

import (
	"context"
	"slices"
	"sync"
)

// maxBehind is the limit of a subscription's unfetched events.
const maxBehind = 4096

// Event is something that happened to a queue: exactly one field is set.
type Event struct {
	Opened *Question
	Closed *Closing
}

// Subscription delivers the events of a queue. Several goroutines may wait for the next one.
type Subscription struct {
	queue *Queue
	more  chan struct{} // capacity 1: there is an event to fetch

	mu   sync.Mutex
	list []Event // not yet fetched
	err  error   // why no more events come; nil: more may come
}

// Subscribe begins with the open questions, and continues with new events. The caller must close it.
func (q *Queue) Subscribe() *Subscription {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.subscribe()
	for _, w := range q.open {
		s.add(Event{Opened: &w.question})
	}
	return s
}

// Watch is Subscribe for a front end that may have shown the queue before. It returns the open questions, and up to most of the
// questions that ended last, the oldest first. The subscription continues from there, without gaps or repeated events. The caller
// must close it.
func (q *Queue) Watch(most int) (open []Question, ended []Closing, s *Subscription) {
	q.mu.Lock()
	defer q.mu.Unlock()
	ended = slices.Clone(q.closed[max(0, len(q.closed)-most):])
	return q.questions(), ended, q.subscribe()
}

// subscribe begins an empty subscription. The caller holds mu.
func (q *Queue) subscribe() *Subscription {
	s := &Subscription{queue: q, more: make(chan struct{}, 1)}
	if q.subscriptions == nil {
		q.subscriptions = map[*Subscription]struct{}{}
	}
	q.subscriptions[s] = struct{}{}
	return s
}

// publish sends an event to the subscriptions without waiting. A subscription that is too far behind ends. The caller holds mu.
func (q *Queue) publish(e Event) {
	for s := range q.subscriptions {
		if s.add(e) > maxBehind {
			s.end(ErrSlow)
		}
	}
}

// shrink drops the content of a question that is being closed, in events that were not fetched. The caller holds mu.
func (q *Queue) shrink(w *waiting) {
	smaller := w.question.Brief()
	smaller.Editable = false
	for s := range q.subscriptions {
		s.replace(&w.question, smaller)
	}
}

// add adds an event, and returns the number of unfetched events.
func (s *Subscription) add(e Event) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.list = append(s.list, e)
		s.wake()
	}
	return len(s.list)
}

// replace replaces the question of an unfetched event.
func (s *Subscription) replace(q, by *Question) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.list, func(e Event) bool { return e.Opened == q }); i >= 0 {
		s.list[i].Opened = by
	}
}

// end ends the subscription, and drops the unfetched events. The caller holds the queue's mu.
func (s *Subscription) end(err error) {
	delete(s.queue.subscriptions, s)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err, s.list = err, nil
		s.wake()
	}
}

// Next waits for the next event. The data that an event points to must not be changed.
func (s *Subscription) Next(ctx context.Context) (Event, error) {
	for {
		if e, ok, err := s.take(); ok || err != nil {
			return e, err
		}
		select {
		case <-s.more:
		case <-ctx.Done():
			return Event{}, ctx.Err()
		}
	}
}

// take returns the next event if there is one, or why no more events come.
func (s *Subscription) take() (e Event, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ok = len(s.list) > 0; ok {
		e, s.list = s.list[0], s.list[1:]
	}
	if len(s.list) > 0 || s.err != nil {
		s.wake() // for other waiting goroutines
	}
	if !ok {
		err = s.err
	}
	return e, ok, err
}

func (s *Subscription) wake() {
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// Answer answers an open question: see Queue.Answer.
func (s *Subscription) Answer(_ context.Context, id string, a Answer) error {
	return s.queue.Answer(id, a)
}

// Content returns a copy of the text with which Edit begins.
func (s *Subscription) Content(_ context.Context, id string) ([]byte, error) {
	q, err := s.queue.Find(id)
	if err != nil {
		return nil, err
	}
	_, text, err := q.Texts()
	return []byte(text), err
}

// Close ends the subscription. Next then returns ErrClosed. Further calls do nothing.
func (s *Subscription) Close() error {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	s.end(ErrClosed)
	return nil
}
