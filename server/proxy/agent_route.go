package proxy

import (
	"net/http"
	"strings"
)

// The path of a request may name its agent: /stet/NAME/v1/messages begins with agentPath and the name. An agent gets such a path
// when it used a base URL of its own before it was set up. Config.Agents returns its upstreams.
const agentPath = "/stet/"

// agentOf returns the endpoints for a request, and the request with the agent's name cut from its path.
// If the path names no agent, the request is returned unchanged.
func (p *Proxy) agentOf(r *http.Request) (*endpoints, *http.Request, error) {
	rest, named := strings.CutPrefix(r.URL.Path, agentPath)
	if !named || p.config.Agents == nil {
		return &p.endpoints, r, nil
	}
	name, _, _ := strings.Cut(rest, "/")
	upstreams, err := p.config.Agents(name)
	if err != nil {
		return &p.endpoints, r, err
	}
	e, err := upstreams.endpoints()
	if err != nil {
		return &p.endpoints, r, err
	}
	plain, to := *r, *r.URL
	to.Path, to.RawPath = strings.TrimPrefix(to.Path, agentPath+name), strings.TrimPrefix(to.RawPath, agentPath+name)
	plain.URL = &to
	return &e, &plain, nil
}
