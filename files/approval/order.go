package approval

import (
	"context"
	"path"
	"strings"
	"sync"
)

// order decides which call waits for which other call. There are two kinds of lanes.
//
// Each session has a lane. In it, calls that touch the same files are planned and applied in the order in which they came: a client
// that sends several calls at once expects this order. Two names of one file count as two files here.
//
// Each file has a lane. In it, calls of all sessions that will write to the file run one after another. This is for fairness.
// Safety comes from compare-and-swap, but without the lane a call that has to plan again would lose each race against new calls.
//
// A call that will ask a person first gives up its turns, so it does not block other calls.
type order struct {
	mu    sync.Mutex
	lanes map[lane][]*turn // the oldest turn first
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

// turn is the turn of a call in a lane.
type turn struct {
	path    string // below the root, clean; "." is the root
	writes  bool
	earlier []<-chan struct{} // closed when the earlier calls have left
	left    chan struct{}     // closed by leave
	leave   func()            // gives the turn up; further calls do nothing
}

// enter adds a call at the end of a lane.
func (o *order) enter(l lane, name string, writes bool) *turn {
	p := &turn{path: name, writes: writes, left: make(chan struct{})}
	p.leave = sync.OnceFunc(func() { o.leave(l, p) })
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lanes == nil {
		o.lanes = map[lane][]*turn{}
	}
	for _, q := range o.lanes[l] {
		if p.follows(q) {
			p.earlier = append(p.earlier, q.left)
		}
	}
	o.lanes[l] = append(o.lanes[l], p)
	return p
}

func (o *order) leave(l lane, p *turn) {
	close(p.left)
	o.mu.Lock()
	defer o.mu.Unlock()
	var rest []*turn
	for _, q := range o.lanes[l] {
		if q != p {
			rest = append(rest, q)
		}
	}
	if o.lanes[l] = rest; len(rest) == 0 {
		delete(o.lanes, l)
	}
}

// follows reports whether p's call must run after q's earlier call: it may read what q writes, or write to what q reads.
func (p *turn) follows(q *turn) bool {
	return q.writes && (within(p.path, q.path) || within(q.path, p.path)) || p.writes && p.path == q.path
}

// wait waits until it is the call's turn.
func (p *turn) wait(ctx context.Context) error {
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

// clean returns a call's path relative to the root; "." if the call names no path.
func (h *Handler) clean(name string) string {
	if h.Relative != nil {
		name = h.Relative(name)
	}
	if name = path.Clean("/" + name)[1:]; name == "" {
		return "."
	}
	return name
}
