package guard

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/files/snapshot"
	"github.com/stet-dev/stet/record"
)

// This file finds the calls of stet's own tools, which write their own entries. Anybody may call an MCP server "stet", so that the name of a tool proves
// nothing: a call is one of stet's if the trail has an entry of it.

// ownTool returns the name of the tool of stet that an agent's name of a tool seems to be; "": none.
func ownTool(tool string) string {
	for _, prefix := range []string{"mcp__stet__", "stet__", "stet_", "mcp_stet_", "stet-"} {
		if name, ok := strings.CutPrefix(tool, prefix); ok {
			return name
		}
	}
	return ""
}

// endedOwn is a call that has ended and may be of stet's own tools.
type endedOwn struct {
	s  *session
	c  *call
	r  snapshot.Result
	at time.Time
}

// ownDelay is how long stet's own tools may take to write their entries, which they do in batches.
const ownDelay = 2 * time.Second

// maxEnded is how many calls may wait for ownDelay.
const maxEnded = 100

// settleOwn records the calls that have the name of stet's own tools and are others. It waits for ownDelay with each, unless all must be
// decided now.
func (g *Guard) settleOwn(ctx context.Context, all bool) error {
	g.mu.Lock()
	n := 0
	for n < len(g.ended) && (all || len(g.ended)-n > maxEnded || time.Since(g.ended[n].at) > ownDelay) {
		n++
	}
	ripe := slices.Clone(g.ended[:n])
	g.ended = slices.Delete(g.ended, 0, n)
	g.mu.Unlock()
	var errs []error
	for _, o := range ripe {
		if ours, err := g.ours(ctx, o); err != nil || !ours {
			o.c.by.Rule = ""
			errs = append(errs, err, g.write(ctx, o.s, o.c, o.r))
		}
	}
	return errors.Join(errs...)
}

// ours reports whether the trail has an entry of stet's own tool for a call, and no other call has claimed it.
func (g *Guard) ours(ctx context.Context, o endedOwn) (bool, error) {
	entries, err := g.Trail.Entries(ctx, record.TrailQuery{After: o.c.head, Kinds: []record.Kind{record.Call, record.Intent}})
	if err != nil {
		return false, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, e := range entries {
		near := snapshot.Contains(e.Root, o.s.workspace) || snapshot.Contains(o.s.workspace, e.Root)
		if e.Tool != o.c.own || e.Session == o.c.event.Session || !near || e.Time.Before(o.c.began.Add(-time.Second)) || e.Time.After(o.at.Add(time.Second)) || g.claimed[e.Seq] {
			continue
		}
		if len(g.claimed) > 10*maxEnded {
			clear(g.claimed)
		}
		g.claimed[e.Seq] = true
		return true, nil
	}
	return false, nil
}
