package guard

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/stet-dev/stet/files/snapshot"
	"github.com/stet-dev/stet/record"
)

// This file has what happens at the same time as a call: other calls, whose names are in its entry, and what stet itself writes, which is not counted
// to the call.

// UndoClient is the client of an entry of the trail that is a person's undo.
const UndoClient = "stet undo"

// AtOnce begins the flag of an entry that names a call which ran at the same time.
const AtOnce = "at the same time: "

// maxWith is how many calls that ran at the same time an entry names.
const maxWith = 10

func (c *call) name() string {
	who := c.event.Agent + " session " + c.event.Session
	if c.event.SubAgent != "" {
		who += " sub-agent " + c.event.SubAgent
	}
	return fmt.Sprintf("%s%s of %s, call %s", AtOnce, c.event.Tool, who, c.event.Call)
}

// begin adds a call to those that run. It returns a call of the session that has to end its record, because there are too many.
func (g *Guard) begin(s *session, c *call) (first *call) {
	var shared []*call
	g.mu.Lock()
	for o := range g.running {
		if c.snap == nil || o.snap == nil || !snapshot.Contains(c.tree.Dir, o.tree.Dir) && !snapshot.Contains(o.tree.Dir, c.tree.Dir) {
			continue
		}
		shared = append(shared, c, o)
		if len(c.with) < maxWith {
			c.with = append(c.with, o.name())
		}
		if len(o.with) < maxWith {
			o.with = append(o.with, c.name())
		}
	}
	g.running[c], c.begun = true, true
	if s.calls = append(s.calls, c); len(s.calls) > maxCalls {
		first = s.calls[0]
		s.remove(first)
	}
	g.mu.Unlock()
	for _, c := range shared {
		c.snap.Share()
	}
	return first
}

// head returns the number of the last entry of the trail.
func (g *Guard) head(ctx context.Context) (uint64, error) {
	last, err := g.Trail.Entries(ctx, record.TrailQuery{Limit: 1, Last: true})
	if err != nil || len(last) == 0 {
		return 0, err
	}
	return last[0].Seq, nil
}

// nothing reports whether a call has changed nothing.
func nothing(r snapshot.Result) bool {
	return len(r.Changes) == 0 && len(r.Refs.BackTo(r.RefsBefore)) == 0
}

// result returns what a call has changed, without what stet itself changed meanwhile. end is a method of the call's snapshot.
func (g *Guard) result(ctx context.Context, c *call, end func(context.Context) (snapshot.Result, error)) (snapshot.Result, error) {
	release := g.Store.Hold(ctx)
	defer release()
	r, err := end(ctx)
	if err != nil || nothing(r) {
		return r, err
	}
	entries, err := g.Trail.Entries(ctx, record.TrailQuery{After: c.head, Kinds: []record.Kind{record.Changed, record.Intent}})
	if err != nil {
		return r, err
	}
	undone, written := snapshot.Changes{}, map[string][2]string{}
	for _, e := range entries {
		switch {
		case e.Kind == record.Intent:
			if p, ok := relative(c.tree.Dir, e.Root, e.Path); ok {
				first, again := written[p]
				if !again {
					first[0] = e.Before
				}
				written[p] = [2]string{first[0], e.After}
			}
		case e.Client == UndoClient:
			of, err := snapshot.Load(g.Store, e.After)
			if err != nil {
				return r, err
			}
			for p, ch := range of.Changes {
				if p, ok := relative(c.tree.Dir, e.Root, filepath.FromSlash(p)); ok {
					ch.Path = p
					undone.Add(snapshot.Changes{p: ch})
				}
			}
			if len(of.Refs.BackTo(of.RefsBefore)) > 0 {
				r.RefsBefore = r.Refs
			}
		}
	}
	for p, ch := range r.Changes {
		u, wasUndone := undone[p]
		w, wasWritten := written[p]
		if wasUndone && u.Before.Equal(ch.Before) && u.After.Equal(ch.After) || wasWritten && w == [2]string{sumOf(ch.Before), sumOf(ch.After)} {
			delete(r.Changes, p)
		}
	}
	return r, nil
}

// sumOf returns the hash of a kept content; "" if nothing is there, and what is no hash of another node.
func sumOf(n *snapshot.Node) string {
	switch {
	case n == nil:
		return ""
	case n.Sum == "":
		return "not kept"
	}
	return n.Sum
}
