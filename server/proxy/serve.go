package proxy

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/stet-dev/stet/internal/httpguard"
)

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var arriving *httpguard.Body
	if r.Body != nil && r.Body != http.NoBody && r.Header.Get("Upgrade") == "" {
		arriving = httpguard.NewBody(p.base, w, r, standstill)
		r = r.WithContext(r.Context())
		r.Body, w = arriving, arriving.Answer(w)
	}
	at, r, unknown := p.agentOf(r)
	to := at.of(r)
	if why := p.forbids(r); why != "" {
		p.metrics.request(to.api, http.StatusForbidden)
		forbidden(why).write(w, to.format())
		return
	}
	if r.Method == http.MethodConnect || r.Method == http.MethodTrace {
		p.metrics.request(to.api, http.StatusMethodNotAllowed)
		w.Header().Set("Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
		methodNotAllowed(r.Method).write(w, to.format())
		return
	}
	if p.answersItself(w, r) {
		return
	}
	if unknown != nil {
		p.metrics.request(to.api, http.StatusNotFound)
		unknownAgent(unknown).write(w, to.format())
		return
	}
	if to.upstream == nil {
		p.metrics.request(to.api, http.StatusNotFound)
		unknownProvider(r.URL.Path, to).write(w, to.format())
		return
	}
	if to.bedrock {
		p.untouched.Do(func() {
			p.log.Warn("requests to Bedrock pass untouched, and nothing is left out of them: their signature covers the body", "upstream", to.upstream.Host)
		})
	}
	if !p.enter() {
		closing().write(w, to.format())
		return
	}
	defer p.work.Done()
	if asksForSocket(r) {
		p.bridge(w, r, at.responses)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(p.base, func() {
		cancel()
		_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0)) // ends a running upload, if w supports it
	})()

	x := p.newExchange(to, r)
	x.arriving = arriving
	r = r.WithContext(context.WithValue(ctx, exchangeKey{}, x))
	defer p.finish(x)
	if to.codec != nil {
		why, err := x.body.receive(r, p.config.MaxBody, &p.buffers, &p.budget)
		if err != nil {
			x.row.Passed = string(why)
			f := unread(err)
			if p.base.Err() != nil {
				f = closing()
			}
			x.stop(w, f)
			return
		}
		if p.prepare(x, r.Header, why); x.refusal != nil {
			x.stop(w, *x.refusal)
			return
		}
		if x.row.Passed == string(threaded) && p.config.RefuseThreads && !p.unchanged {
			x.stop(w, noThreads()) // nothing known here can be used to shorten the new messages
			return
		}
	}
	p.forwarder.ServeHTTP(w, r)
}

// stop answers a request with f, without sending it upstream.
func (x *exchange) stop(w http.ResponseWriter, f failure) {
	x.row.Status, x.stopped, x.ended = f.status, true, true
	f.write(w, x.format())
}

// forbids returns the reason why r may not be served: its Host is not allowed (an attacker can point a name at this machine),
// or a web page of another origin sent it. It returns "" if r is allowed.
func (p *Proxy) forbids(r *http.Request) string {
	return httpguard.Check{Hosts: p.config.AllowedHosts}.Refusal(r)
}

// answersItself answers a request for one of stet's own endpoints. It reports whether it did.
func (p *Proxy) answersItself(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	switch r.URL.Path {
	case "/healthz":
		answer(w, http.StatusOK, "ok")
	case "/readyz":
		if err := p.Ready(); err != nil {
			answer(w, http.StatusServiceUnavailable, err.Error())
		} else {
			answer(w, http.StatusOK, "ok")
		}
	case "/metrics":
		p.gather.ServeHTTP(w, r)
	default:
		return false
	}
	return true
}

func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // a client that is gone needs no answer
}
