package proxy

import (
	"net/http"

	"github.com/stet-dev/stet/internal/sameorigin"
)

// refusal says why r may not be served: its Host is none of ours (a name that
// an attacker points at this machine), or a web page makes it. It is empty
// when r may.
func (p *Proxy) refusal(r *http.Request) string {
	return sameorigin.Check{Hosts: p.config.AllowedHosts}.Refusal(r)
}

// clip cuts s to at most n bytes.
func clip(s string, n int) string {
	if len(s) > n {
		return s[:n] + "…"
	}
	return s
}
