package session

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Hub is a Store that tells subscribers what is added through it. It may be
// used concurrently. What other processes add is told when it is found, in its
// place: at the latest with the next event that comes through here.
type Hub struct {
	Store
	Limit int // events that may wait for a subscriber; 0: 1024
	// Poll is how often a subscriber that waits looks for what other processes
	// have added; 0: never. A look reads the events after the last one; mostly
	// there are none.
	Poll time.Duration

	mu   sync.Mutex
	subs map[*Subscription]struct{}
}

// Subscription reads a session while events are added. Next serves one goroutine.
type Subscription struct {
	hub  *Hub
	id   string
	next uint64 // number of the event that Next returns

	read []Event // from the store, in order: what came before anything was told

	mu      sync.Mutex
	waiting []Event
	cut     error
	news    chan struct{} // of capacity 1
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

// timed returns the events with a time each, so that subscribers see the time
// that is stored.
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

// Subscribe reads a session from the event after number after on: first what is
// stored, then what is added. Close ends it.
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

// tell adds events to those that wait, or cuts the subscriber off.
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

// Next waits for the next event. ErrSlow says that the subscriber was cut off;
// it has had all events up to the one that Next returned last, and can subscribe
// again from there. Damaged events are passed over.
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
		case ok && e.Seq > s.next: // others were told first, or wrote elsewhere
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

// catchUp reads what is stored and has not been returned.
func (s *Subscription) catchUp(ctx context.Context) (err error) {
	s.read, _, err = s.hub.Store.Events(ctx, s.id, s.next-1)
	return err
}

// take returns the oldest event that waits. After a cut there is none.
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
