package guard

import "context"

// costs returns what the person should know of the price of the session's next request; "": nothing, or it was said before. It is called where the
// session begins, goes on or gets a prompt: a message there is read before the request.
func (g *Guard) costs(ctx context.Context, e Event) string {
	if g.Costs == nil || e.SubAgent != "" {
		return ""
	}
	says := g.Costs(ctx, e.Session, e.Anew)
	s := g.session(e)
	g.mu.Lock()
	defer g.mu.Unlock()
	if says == "" || says == s.costs {
		return ""
	}
	s.costs = says
	return says
}
