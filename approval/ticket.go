package approval

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"time"

	"github.com/stet-dev/stet/tool"
)

type askedKey struct{}

// WhenAsked returns a context for Call: f is called, and must not wait, when the
// call begins to wait for a person. The question has no ID yet.
func WhenAsked(ctx context.Context, f func(Question)) context.Context {
	return context.WithValue(ctx, askedKey{}, f)
}

// Ticket is a call that goes on without the one who began it.
type Ticket struct {
	ID      string
	Session string

	cancel context.CancelFunc
	asked  chan struct{}
	done   chan struct{}
	res    tool.Result // read after done
	err    error
	ended  time.Time // guarded by Handler.mu
}

// Results of tickets are kept for so long, and so many.
const (
	keepTicket  = 15 * time.Minute
	keepTickets = 1000
)

// Start begins a call that outlasts the request it came with: a front end
// whose client does not wait for people gives out the ticket's ID, and lets it
// ask again. ctx is for its values only.
func (h *Handler) Start(ctx context.Context, c tool.Call) (*Ticket, error) {
	t := &Ticket{
		ID: newID(), Session: c.Session,
		asked: make(chan struct{}), done: make(chan struct{}),
	}
	ctx, t.cancel = context.WithCancel(context.WithoutCancel(ctx))
	var once sync.Once
	outer, _ := ctx.Value(askedKey{}).(func(Question))
	ctx = WhenAsked(ctx, func(q Question) {
		once.Do(func() { close(t.asked) })
		if outer != nil {
			outer(q)
		}
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.done {
		t.cancel()
		return nil, ErrClosed
	}
	if h.tickets == nil {
		h.tickets = map[string]*Ticket{}
	}
	now := time.Now()
	ended, oldest := 0, t
	for id, old := range h.tickets {
		if old.ended.IsZero() {
			continue
		}
		if now.Sub(old.ended) >= keepTicket {
			delete(h.tickets, id)
			continue
		}
		if ended++; oldest == t || old.ended.Before(oldest.ended) {
			oldest = old
		}
	}
	if ended >= keepTickets {
		delete(h.tickets, oldest.ID)
	}
	h.tickets[t.ID] = t
	h.wg.Go(func() {
		defer t.cancel()
		t.res, t.err = h.Call(ctx, c)
		h.mu.Lock()
		t.ended = time.Now()
		h.mu.Unlock()
		close(t.done)
	})
	return t, nil
}

// Ticket returns the ticket of that session and ID, if it is still kept.
func (h *Handler) Ticket(session, id string) (*Ticket, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t, ok := h.tickets[id]
	if !ok || t.Session != session {
		return nil, false
	}
	return t, true
}

// Asked is closed when the call begins to wait for a person.
func (t *Ticket) Asked() <-chan struct{} { return t.asked }

// Done is closed when the call has ended.
func (t *Ticket) Done() <-chan struct{} { return t.done }

// Wait returns what the call came to, as often as it is asked. The end of ctx
// ends the waiting, not the call.
func (t *Ticket) Wait(ctx context.Context) (tool.Result, error) {
	select {
	case <-t.done:
		return t.res, t.err
	default:
	}
	select {
	case <-t.done:
		return t.res, t.err
	case <-ctx.Done():
		return tool.Result{}, ctx.Err()
	}
}

// Cancel ends the call; what is being written is written.
func (t *Ticket) Cancel() { t.cancel() }

func newID() string { return strings.ToLower(rand.Text()[:10]) }
