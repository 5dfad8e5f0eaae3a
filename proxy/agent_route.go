package proxy

import (
	"net/http"
	"strings"
)

// agentPath is what the path of a request begins with that names its agent: /stet/NAME/v1/messages. The agents that are set
// up so are those that asked at a base URL of their own before; Config.Agents knows it.
const agentPath = "/stet/"

// agentOf returns the endpoints for a request, and the request without its agent's name. A request that names none is returned as it is.
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
