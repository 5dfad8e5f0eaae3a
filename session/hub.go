package session

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Hub is a Store that sends events to subscribers when they are appended through it. It may be used concurrently. It also sends
// events of other processes, in order. It finds them with Poll, or when the next event is appended through it.
type Hub struct {
	Store
	Limit int // events that may wait for a subscriber; 0: 1024
	// Poll is the time after which a waiting subscriber looks for events of other processes; 0: never. It reads the events after
	// the last one. Usually there are none.
	Poll time.Duration

	mu   sync.Mutex
	subs map[*Subscription]struct{}
}

// Subscription reads a session while events are added. Only one goroutine may call Next.
type Subscription struct {
	hub  *Hub
	id   string
	next uint64 // number of the event that Next returns next

	read []Event // events from the store, in order; they are earlier than the ones in waiting

	mu      sync.Mutex
	waiting []Event
	cut     error
	news    chan struct{} // has capacity 1; has a value when waiting or cut has changed
}

// Append implements Store.
func (h *Hub) Append(ctx context.Context, batches ...Batch) error {
	batches = slices.Clone(batches)
	now := time.Now()
	for i, b := range batches {
		batches[i].Events = timed(b.Events, now)
	}
	if err := h.Store.Append(ctx, batches...); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, b := range batches {
		for s := range h.subs {
			if s.id == b.Session {
				s.tell(b, h.limit())
			}
		}
	}
	return nil
}

// timed returns the events with their times set, so that subscribers see the stored time.
func timed(events []Event, now time.Time) []Event {
	events = slices.Clone(events)
	for i := range events {
		if events[i].Time.IsZero() {
			events[i].Time = now
		}
	}
	return events
}

func (h *Hub) limit() int {
	if h.Limit > 0 {
		return h.Limit
	}
	return 1024
}

// Subscribe reads the events of a session after number after: first the stored ones, then new ones. Close ends the subscription.
func (h *Hub) Subscribe(ctx context.Context, id string, after uint64) (*Subscription, error) {
	s := &Subscription{hub: h, id: id, next: after + 1, news: make(chan struct{}, 1)}
	h.mu.Lock()
	if h.subs == nil {
		h.subs = map[*Subscription]struct{}{}
	}
	h.subs[s] = struct{}{}
	h.mu.Unlock()
	var err error
	if s.read, _, err = h.Store.Events(ctx, id, after); err != nil {
		s.Close()
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	return s, nil
}

// tell queues events for the subscriber. If too many events wait, it ends the subscription with ErrSlow.
func (s *Subscription) tell(b Batch, limit int) {
	events, err := b.Prepared(time.Time{})
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.cut != nil || err != nil:
		return
	case len(s.waiting)+len(events) > limit:
		s.cut = fmt.Errorf("session %s: %w: %d events wait already", s.id, ErrSlow, len(s.waiting))
		s.waiting = nil
	default:
		for _, e := range events {
			e.Body = own(e.Body)
			s.waiting = append(s.waiting, e)
		}
	}
	select {
	case s.news <- struct{}{}:
	default:
	}
}

// Next waits for the next event. ErrSlow means that the subscription has ended because too many events waited. The subscriber has
// received all events up to the last one that Next returned, and can subscribe again from there. Damaged events are skipped.
func (s *Subscription) Next(ctx context.Context) (Event, error) {
	var look <-chan time.Time
	if s.hub.Poll > 0 {
		looks := time.NewTicker(s.hub.Poll)
		defer looks.Stop()
		look = looks.C
	}
	for {
		if len(s.read) > 0 {
			e := s.read[0]
			s.read = s.read[1:]
			if e.Seq < s.next {
				continue
			}
			s.next = e.Seq + 1
			return e, nil
		}
		e, ok, err := s.take()
		switch {
		case err != nil:
			return Event{}, err
		case ok && e.Seq == s.next:
			s.next++
			return e, nil
		case ok && e.Seq > s.next: // events came in another order, or another process has written events
			if err := s.catchUp(ctx); err != nil {
				return Event{}, err
			}
			continue
		case ok:
			continue
		}
		select {
		case <-s.news:
		case <-look:
			if err := s.catchUp(ctx); err != nil {
				return Event{}, err
			}
		case <-ctx.Done():
			return Event{}, ctx.Err()
		}
	}
}

// catchUp reads the stored events that Next has not returned yet.
func (s *Subscription) catchUp(ctx context.Context) (err error) {
	s.read, _, err = s.hub.Store.Events(ctx, s.id, s.next-1)
	return err
}

// take returns the oldest waiting event. ok is false if there is none.
func (s *Subscription) take() (Event, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cut != nil {
		return Event{}, false, s.cut
	}
	if len(s.waiting) == 0 {
		return Event{}, false, nil
	}
	e := s.waiting[0]
	s.waiting = s.waiting[1:]
	return e, true, nil
}

// Close ends the subscription. It may be called more than once.
func (s *Subscription) Close() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	delete(s.hub.subs, s)
}
