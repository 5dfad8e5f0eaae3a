package socket

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/server/web"
)

// lookEvery is how often Joined looks for servers.
const lookEvery = 500 * time.Millisecond

// Joined is one source of the questions of several servers: of those that run, and of those that start later. An answer goes to the server that
// asked. See Join.
type Joined struct {
	// Said has one line for each server that comes or ends. The caller reads all of them. Nil: no lines are wanted.
	Said chan string

	state, suffix string
	meant         func(Server) bool
	events        chan approval.Event
	following     sync.WaitGroup

	mu    sync.Mutex
	known map[string]bool        // names of sockets
	open  map[string]*web.Client // where each open question is asked
}

// Join joins the servers with this state directory for which meant is true. Look and Run connect to them.
func Join(state string, meant func(Server) bool) *Joined {
	j := join(state, suffix, meant)
	j.Said = make(chan string)
	return j
}

func join(state, suffix string, meant func(Server) bool) *Joined {
	return &Joined{state: state, suffix: suffix, meant: meant, events: make(chan approval.Event),
		known: map[string]bool{}, open: map[string]*web.Client{}}
}

// Look connects to the servers that have started since the last call. It returns them, those that are not meant, and an error about servers that
// do not answer. Their questions come until ctx ends.
func (j *Joined) Look(ctx context.Context) (joined, others []Server, err error) {
	all, err := dialWhere(ctx, j.state, func(name string) bool {
		j.mu.Lock()
		defer j.mu.Unlock()
		return strings.HasSuffix(name, j.suffix) && !j.known[name]
	})
	for _, s := range all {
		j.mu.Lock()
		j.known[s.name] = true
		j.mu.Unlock()
		if !j.meant(s) {
			others = append(others, s)
			_ = s.Client.Close() // it returns no error
			continue
		}
		joined = append(joined, s)
		j.following.Go(func() { j.follow(ctx, s) })
	}
	return joined, others, err
}

// Run ends the source when ctx ends. Without later it also ends when the servers of the last Look have ended; else it looks for servers that
// start, and calls trouble for each new error about some.
func (j *Joined) Run(ctx context.Context, later bool, trouble func(error)) {
	defer close(j.events)
	defer j.following.Wait()
	for last := ""; later; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookEvery):
		}
		joined, _, err := j.Look(ctx)
		if err != nil && err.Error() != last && ctx.Err() == nil {
			last = err.Error()
			trouble(err)
		}
		for _, s := range joined {
			j.Say(ctx, "asks here now: "+s.String())
		}
	}
}

// Questions names what a server asks about.
func (s Server) Questions() string {
	if s.Client.Root == "" {
		return "agents' own tools"
	}
	return workspace.Quote(s.Client.Root)
}

// String names a server.
func (s Server) String() string { return fmt.Sprintf("%s (process %d)", s.Questions(), s.PID) }

// follow passes the events of a server on until it or ctx ends.
func (j *Joined) follow(ctx context.Context, s Server) {
	defer s.Client.Close()
	for {
		e, err := s.Client.Next(ctx)
		if err != nil {
			break
		}
		j.mu.Lock()
		if e.Opened != nil {
			q := *e.Opened
			q.Root = cmp.Or(s.Client.Root, q.Dir)
			q.Dir = cmp.Or(q.Dir, s.Client.Root)
			e.Opened, j.open[q.ID] = &q, s.Client
		} else {
			delete(j.open, e.Closed.ID)
		}
		j.mu.Unlock()
		j.send(ctx, e)
	}
	j.mu.Lock()
	delete(j.known, s.name)
	var left []string
	for id, c := range j.open {
		if c == s.Client {
			left = append(left, id)
			delete(j.open, id)
		}
	}
	j.mu.Unlock()
	for _, id := range left {
		j.send(ctx, approval.Event{Closed: &approval.Closing{ID: id, How: "its server has ended"}})
	}
	j.Say(ctx, "has ended: "+s.String())
}

func (j *Joined) send(ctx context.Context, e approval.Event) {
	select {
	case j.events <- e:
	case <-ctx.Done():
	}
}

// Say puts a line into Said.
func (j *Joined) Say(ctx context.Context, text string) {
	if j.Said == nil {
		return
	}
	select {
	case j.Said <- text:
	case <-ctx.Done():
	}
}

// Next waits for the next event. After the end of the source it returns ErrClosed.
func (j *Joined) Next(ctx context.Context) (approval.Event, error) {
	select {
	case e, ok := <-j.events:
		if !ok {
			return e, approval.ErrClosed
		}
		return e, nil
	case <-ctx.Done():
		return approval.Event{}, ctx.Err()
	}
}

// Content returns the text with which Edit begins.
func (j *Joined) Content(ctx context.Context, id string) ([]byte, error) {
	c, err := j.client(id)
	if err != nil {
		return nil, err
	}
	return c.Content(ctx, id)
}

// Answer answers a question: see approval.Queue.Answer.
func (j *Joined) Answer(ctx context.Context, id string, a approval.Answer) error {
	c, err := j.client(id)
	if err != nil {
		return err
	}
	return c.Answer(ctx, id, a)
}

func (j *Joined) client(id string) (*web.Client, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if c := j.open[id]; c != nil {
		return c, nil
	}
	return nil, approval.ErrAnswered
}
