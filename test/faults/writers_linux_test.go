package faults

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/server/web"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store"
	"github.com/stet-dev/stet/test/sessiontest"
)

// status is the outcome of an append.
type status byte

const (
	unknown status = iota // there was an error; the append may have been made
	appended
	stale // the session had more events than the client knew
)

// operation is what a client did with a session. A read has the values that it returned. An append has its value, and the number
// of events that the client expected before it.
type operation struct {
	client  int
	session string
	append  bool
	after   uint64
	value   string
	status  status
	values  []string

	begin, end time.Time
}

// writers append to sessions and read them, each through the relay of a server. They also read them at the pages of the servers.
type writers struct {
	c        *cluster
	sessions []string

	mu      sync.Mutex
	history []operation
	longest time.Duration // of an operation
}

const writerCount = 4

func newWriters(c *cluster, sessions int) *writers {
	w := &writers{c: c}
	s := w.open(nodes)
	defer s.Close()
	for range sessions {
		h, err := session.Create(c.t.Context(), s, session.Opening{})
		if err != nil {
			c.t.Fatal(err)
		}
		w.sessions = append(w.sessions, h.ID())
	}
	return w
}

// open opens the database through a relay.
func (w *writers) open(n int) session.Store {
	w.c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := store.OpenSessions(ctx, w.c.storeURL(n))
	if err != nil {
		w.c.t.Fatal(err)
	}
	return s
}

// run is one writer, until ctx ends.
func (w *writers) run(ctx context.Context, client int, s session.Store, people *people, random *rand.Rand) {
	last := map[string]uint64{} // the number of events that the writer knows, including the opening
	for n := 0; ctx.Err() == nil; n++ {
		id := w.sessions[random.IntN(len(w.sessions))]
		known, seen := last[id]
		switch {
		case random.IntN(6) == 0:
			w.readPage(client, id, people, random.IntN(nodes))
		case !seen || random.IntN(8) == 0:
			if values, ok := w.read(client, s, id); ok {
				last[id] = uint64(len(values)) + 1
			}
		default:
			switch w.append(client, s, id, known, strconv.Itoa(client)+"."+strconv.Itoa(n)) {
			case appended:
				last[id]++
			default:
				delete(last, id)
			}
		}
		sleep(ctx, time.Duration(random.IntN(30))*time.Millisecond)
	}
}

func (w *writers) note(o operation) {
	o.end = time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.longest = max(w.longest, o.end.Sub(o.begin))
	w.history = append(w.history, o)
}

func (w *writers) append(client int, s session.Store, id string, after uint64, value string) status {
	o := operation{client: client, session: id, append: true, after: after, value: value, begin: time.Now()}
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	err := s.Append(ctx, session.Batch{
		Session: id, After: after, Events: []session.Event{{Body: sessiontest.Text(llm.User, value)}},
	})
	switch {
	case err == nil:
		o.status = appended
	case errors.Is(err, session.ErrStale):
		o.status = stale
	}
	w.note(o)
	return o.status
}

func (w *writers) read(client int, s session.Store, id string) (values []string, ok bool) {
	o := operation{client: client, session: id, begin: time.Now()}
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	events, damaged, err := s.Events(ctx, id, 1)
	if err != nil {
		return nil, false
	}
	if len(damaged) > 0 {
		w.c.t.Errorf("session %s is damaged: %v", id, damaged)
	}
	for _, e := range events {
		if m, ok := e.Body.(session.Message); ok {
			o.values = append(o.values, m.Parts[0].Text)
		}
	}
	w.note(o)
	return o.values, true
}

// readPage reads a session through a page.
func (w *writers) readPage(client int, id string, people *people, n int) {
	o := operation{client: client, session: id, begin: time.Now()}
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	var d web.SessionDetail
	if people.get(ctx, n, "/api/sessions/"+id, &d) != nil {
		return
	}
	for _, m := range d.Conversation {
		o.values = append(o.values, m.Parts[0].Text)
	}
	w.note(o)
}
