package guard

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/record"
)

// This file has what is known of the time in which no guard ran: the agents went on, and their calls are in their own session files.

// Off is a time in which no guard ran.
type Off struct {
	From, To time.Time
	Calls    []Passed // the agents' calls from OffMargin before From on, as far as their own files have them
}

// OffMargin is how long before the time in which no guard ran a call may have begun that is not in the trail because of it.
const OffMargin = 2 * time.Minute

// Oldest returns when the oldest call began that runs; now if none does. If the guard is killed, that is when its knowledge ends.
func (g *Guard) Oldest() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	oldest := time.Now()
	for c := range g.running {
		if c.began.Before(oldest) {
			oldest = c.began
		}
	}
	return oldest
}

// Passed is a call that ran without a guard.
type Passed struct {
	Event
	Time time.Time
}

// OffSession is the session of the entries that say how long no guard ran, and how many calls ran meanwhile.
const OffSession = "stet guard"

// maxPassed is how many such calls get an entry of their own.
const maxPassed = 1000

// offTime is what the guard has found out about the time before it started.
type offTime struct {
	known chan struct{} // closed when it has
	stop  context.CancelFunc
	said  string          // what the person should know; Guard.mu
	told  map[string]bool // agents that were told of it; Guard.mu
	calls map[string]bool // ids of calls that passed; Guard.mu
}

// lookBack begins to find out what happened while no guard ran.
func (g *Guard) lookBack() {
	ctx, stop := context.WithCancel(context.Background())
	g.off = offTime{known: make(chan struct{}), stop: stop, told: map[string]bool{}, calls: map[string]bool{}}
	if g.Off == nil {
		close(g.off.known)
		return
	}
	go func() {
		defer close(g.off.known)
		off := g.Off(ctx)
		if len(off.Calls) > 0 && ctx.Err() == nil {
			g.warn(g.record(ctx, off))
		}
	}()
}

// record writes entries about calls that ran without a guard: those that may have changed something, and that the trail does not have.
func (g *Guard) record(ctx context.Context, off Off) error {
	seen, err := g.Trail.Entries(ctx, record.TrailQuery{From: off.From.Add(-2 * OffMargin), Kinds: []record.Kind{record.Call, record.Changed}})
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, e := range seen {
		known[e.CallID] = true
	}
	count, ids := map[string]int{}, map[string]bool{}
	var entries []record.Entry
	for _, p := range off.Calls {
		c := &call{event: p.Event, action: g.Dialects.Action(p.Tool, string(p.Input))}
		if known[p.Call] || p.Time.Before(off.From.Add(-OffMargin)) || p.Time.After(off.To) || ownTool(p.Tool) != "" || !changes(&c.action) {
			continue
		}
		known[p.Call], ids[p.Call] = true, true
		count[p.Agent+" "+p.Tool]++
		if len(entries) < maxPassed {
			e := g.entry(&session{workspace: p.Dir}, c, record.OK)
			e.Time, e.Flags = p.Time, append(e.Flags, "the guard was off: this call cannot be undone")
			entries = append(entries, e)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	var which []string
	for _, name := range slices.Sorted(maps.Keys(count)) {
		which = append(which, fmt.Sprintf("%s ×%d", name, count[name]))
	}
	said := fmt.Sprintf("the guard was off from %s to %s (%v); what these calls did then cannot be undone: %s",
		off.From.Local().Format(time.DateTime), off.To.Local().Format(time.DateTime), off.To.Sub(off.From).Round(time.Second), strings.Join(which, ", "))
	entries = append(entries, record.Entry{
		Kind: record.Call, Time: time.Now(), Session: OffSession, Client: OffSession, Tool: "off", Bytes: int64(len(ids)), Outcome: record.OK, Flags: []string{said},
	})
	g.mu.Lock()
	g.off.said, g.off.calls = said, ids
	g.mu.Unlock()
	_, err = g.journal.Now(ctx, entries...)
	return err
}

// offWait is how long a session's start waits until it is known what happened while no guard ran.
const offWait = 3 * time.Second

// notice returns what an agent's person should know of the time in which no guard ran; once, and "" after that.
func (g *Guard) notice(agent string) string {
	late := time.NewTimer(offWait)
	defer late.Stop()
	select {
	case <-g.off.known:
	case <-late.C:
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.off.said == "" || g.off.told[agent] {
		return ""
	}
	g.off.told[agent] = true
	return g.off.said
}

// passed reports whether a call is known to have run without a guard.
func (g *Guard) passed(id string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return id != "" && g.off.calls[id]
}
