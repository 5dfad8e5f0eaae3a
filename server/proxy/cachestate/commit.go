package cachestate

import (
	"time"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/trim"
)

// Pending is a request that was sent and is not settled yet.
type Pending struct {
	verdict  Verdict
	snapshot *Snapshot
	turn     *turn

	// The earlier turn with its prefix and cache key; Rollback restores it.
	replaced *turn
	state    *keyState
	last     time.Time
	newest   *Snapshot
}

// Commit records a request when it is sent, before its answer, because a request that continues it may come earlier than the
// answer. plan says what is left out of it; nil: nothing.
func (s *State) Commit(r Request, v Verdict, plan *trim.Plan) *Pending {
	n := snapshotOf(&r, v.at.key, plan)
	w := &Pending{verdict: v, snapshot: n}
	l, key := v.at.lineage, v.at.key
	stored := record.Turn{
		Prefix: r.Chain.End() ^ s.salt(r.Decoded), Conversation: r.Name, Time: r.Time,
		Model: key.Model, System: key.System, Tools: key.Tools, Lifetime: v.Cache.Leaves,
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.id == 0 {
		l.id = stored.Prefix ^ key.Hash()
	}
	stored.Thread = l.id
	w.state, w.last, w.newest = l.keys[key], l.last, l.newest
	l.last, l.newest = r.Time, n
	l.set(key, &keyState{last: n.time, lifetime: stored.Lifetime, newest: n})
	w.replaced = s.turn(stored.Prefix, key)
	w.turn = &turn{Turn: stored, lineage: l, own: n.own}
	if len(n.links) > 0 {
		s.put(w.turn)
	}
	if r.Conversation != nil {
		r.Conversation.newest = l
	}
	s.forget()
	return w
}

// Turns returns the turn to store for the request, so that another process can continue from it. It returns none for a request
// without messages.
func (w *Pending) Turns() []record.Turn {
	if len(w.snapshot.links) == 0 {
		return nil
	}
	return []record.Turn{w.turn.Turn}
}

// Rollback forgets a request that was not answered.
func (s *State) Rollback(w *Pending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, key := w.verdict.at.lineage, w.verdict.at.key
	if s.turn(w.turn.Prefix, key) == w.turn {
		s.drop(w.turn)
		if w.replaced != nil {
			s.put(w.replaced)
		}
	}
	if k := l.keys[key]; k != nil && k.newest == w.snapshot { // no other request came since
		delete(l.keys, key)
		if w.state != nil {
			l.keys[key] = w.state
		}
	}
	if l.newest == w.snapshot {
		l.last, l.newest = w.last, w.newest
	}
}
