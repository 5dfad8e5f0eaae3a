package approval

import (
	"context"
	"path"
	"strings"
	"sync"
)

// order says which calls wait for which. There are two kinds of lanes.
//
// In a lane for each session, calls that touch the same files plan and apply in the
// order in which they came: a client that sends several calls at once means them one
// after the other. Files that have several names are told apart by these.
//
// In a lane for each file, calls of all sessions that are about to write to the file
// do so one after the other. It is for fairness, not for safety, which
// compare-and-swap gives: without it a call that has to plan again loses each race
// against calls that have just come.
//
// A call that is about to ask a person gives up its places, and so holds up no other.
type order struct {
	mu    sync.Mutex
	lanes map[lane][]*place // the oldest place first
}

type lane struct {
	of   laneKind
	name string
}

type laneKind byte

const (
	sessionLane laneKind = iota
	fileLane
)

// place is that of a call in a lane.
type place struct {
	path    string // below the root, clean; "." is all of it
	writes  bool
	earlier []<-chan struct{} // closed when the calls that come first have left
	left    chan struct{}     // closed by leave
	leave   func()            // gives the place up; more calls do nothing
}

// enter gives a call the place behind those that have one.
func (o *order) enter(l lane, name string, writes bool) *place {
	p := &place{path: name, writes: writes, left: make(chan struct{})}
	p.leave = sync.OnceFunc(func() { o.leave(l, p) })
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lanes == nil {
		o.lanes = map[lane][]*place{}
	}
	for _, q := range o.lanes[l] {
		if p.follows(q) {
			p.earlier = append(p.earlier, q.left)
		}
	}
	o.lanes[l] = append(o.lanes[l], p)
	return p
}

func (o *order) leave(l lane, p *place) {
	close(p.left)
	o.mu.Lock()
	defer o.mu.Unlock()
	var rest []*place
	for _, q := range o.lanes[l] {
		if q != p {
			rest = append(rest, q)
		}
	}
	if o.lanes[l] = rest; len(rest) == 0 {
		delete(o.lanes, l)
	}
}

// follows reports whether p's call has to come after q's, which came before it:
// it may see what q writes, or writes to what q reads.
func (p *place) follows(q *place) bool {
	return q.writes && (within(p.path, q.path) || within(q.path, p.path)) || p.writes && p.path == q.path
}

// wait waits until it is the call's turn.
func (p *place) wait(ctx context.Context) error {
	for _, left := range p.earlier {
		select {
		case <-left:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// within reports whether name is dir, or below it.
func within(name, dir string) bool {
	return dir == "." || strings.HasPrefix(name, dir) && (len(name) == len(dir) || name[len(dir)] == '/')
}

// clean is what a path that a call names is below the root, by its words alone; "."
// where the call names none.
func clean(name, root string) string {
	if root != "" && within(name, root) {
		name = name[len(root):]
	}
	if name = path.Clean("/" + name)[1:]; name == "" {
		return "."
	}
	return name
}
