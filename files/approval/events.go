package approval

import (
	"context"
	"slices"
	"sync"
)

// Event is something that happened to a queue: exactly one field is set.
type Event struct {
	Opened *Question
	Closed *Closing
}

// events has the events that were not fetched yet. Several goroutines may wait for the next one.
type events struct {
	more chan struct{} // capacity 1: there is an event to fetch

	mu   sync.Mutex
	list []Event
	err  error // why no more events come; nil: more may come
}

func newEvents() events { return events{more: make(chan struct{}, 1)} }

// add adds events, and returns the number of unfetched events.
func (l *events) add(e ...Event) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil || len(e) == 0 {
		return len(l.list)
	}
	l.list = append(l.list, e...)
	l.wake()
	return len(l.list)
}

// shrink replaces the question of an unfetched event by a smaller one.
func (l *events) shrink(q, smaller *Question) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.IndexFunc(l.list, func(e Event) bool { return e.Opened == q }); i >= 0 {
		l.list[i].Opened = smaller
	}
}

// end says why no more events come. With drop, unfetched events are removed.
func (l *events) end(err error, drop bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	if l.err = err; drop {
		l.list = nil
	}
	l.wake()
}

// next waits for the next event. After the last event it returns the error of end.
func (l *events) next(ctx context.Context) (Event, error) {
	for {
		if e, err, ok := l.take(); ok {
			return e, err
		}
		select {
		case <-l.more:
		case <-ctx.Done():
			return Event{}, ctx.Err()
		}
	}
}

func (l *events) take() (e Event, err error, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) == 0 && l.err == nil {
		return Event{}, nil, false
	}
	if len(l.list) > 0 {
		e, l.list = l.list[0], l.list[1:]
	} else {
		err = l.err
	}
	if len(l.list) > 0 || l.err != nil {
		l.wake() // for other waiting goroutines
	}
	return e, err, true
}

func (l *events) wake() {
	select {
	case l.more <- struct{}{}:
	default:
	}
}
