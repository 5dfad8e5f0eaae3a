package guard

import (
	"context"
	"time"
)

// costs returns what the person should know of the price of the session's next request; "": nothing, or it was said before. It is called where the
// session begins, goes on or gets a prompt: a message there is read before the request. After a compaction the requests before it say nothing of the next.
func (g *Guard) costs(ctx context.Context, e Event) string {
	if g.Costs == nil || e.SubAgent != "" {
		return ""
	}
	s := g.session(e)
	g.mu.Lock()
	if e.Anew {
		s.anew = time.Now()
	}
	since := s.anew
	g.mu.Unlock()
	says := g.Costs(ctx, e.Session, since, e.Anew)
	g.mu.Lock()
	defer g.mu.Unlock()
	if says == "" || says == s.costs {
		return ""
	}
	s.costs = says
	return says
}
