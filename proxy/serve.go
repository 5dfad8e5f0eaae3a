package proxy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/stet-dev/stet/record"
)

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	to := p.endpoints.of(r)
	if why := p.refusal(r); why != "" {
		p.metrics.request(to.api, http.StatusForbidden)
		forbidden(why).write(w, to.api)
		return
	}
	if p.own(w, r) {
		return
	}
	if !p.enter() {
		closing().write(w, to.api)
		return
	}
	defer p.work.Done()
	if refusesUpgrade(r) {
		p.metrics.request(record.Responses, http.StatusUpgradeRequired)
		w.Header().Set("Upgrade", "HTTP/1.1")
		w.Header().Set("Connection", "Upgrade")
		upgradeRequired().write(w, record.Responses)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(p.base, cancel)()

	x := p.newExchange(to, r)
	r = r.WithContext(context.WithValue(ctx, exchangeKey{}, x))
	defer p.finish(x)
	if to.codec != nil {
		if err := p.receive(x, r); err != nil {
			if ctx.Err() == nil {
				x.row.Status = http.StatusBadRequest
				x.ended = true
				badRequest("the request's body cannot be read: "+err.Error()).write(w, to.api)
			}
			return
		}
		p.prepare(x, r.Header)
	}
	p.forwarder.ServeHTTP(w, r)
}

// own answers a request for an endpoint of stet's own, and reports whether it
// was one.
func (p *Proxy) own(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	switch r.URL.Path {
	case "/healthz":
		answer(w, http.StatusOK, "ok")
	case "/readyz":
		if err := p.ready(); err != nil {
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

// receive reads the request's body, as far as it is one to plan on. An error
// means that the client did not send a whole one.
func (p *Proxy) receive(x *exchange, r *http.Request) error {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		x.row.Passed = passedEncoded
		return nil
	}
	if r.ContentLength > p.config.MaxBody {
		x.row.Passed = passedLarge
		return nil
	}
	var body []byte
	var err error
	if r.ContentLength >= 0 {
		body = p.buffers.get(int(r.ContentLength))[:r.ContentLength]
		x.borrowed = append(x.borrowed, body)
		var n int
		n, err = io.ReadFull(r.Body, body)
		body = body[:n]
	} else {
		body, err = readAll(r.Body, p.config.MaxBody)
	}
	x.received = body
	x.row.BytesIn = int64(len(body))
	switch {
	case errors.Is(err, errTooLong):
		x.row.Passed, x.partial = passedLarge, true
		return nil
	case err != nil:
		return err
	}
	x.send = body
	return nil
}

var errTooLong = errors.New("body is too long")

// readAll reads r to its end, or until there are more than max bytes; then
// what was read comes with errTooLong.
func readAll(r io.Reader, max int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, max+1))
	if err == nil && int64(len(body)) > max {
		err = errTooLong
	}
	return body, err
}

// newExchange begins the account of a request.
func (p *Proxy) newExchange(to endpoint, r *http.Request) *exchange {
	return &exchange{
		endpoint: to,
		settled:  make(chan struct{}),
		row: record.Request{
			Time: time.Now(), API: to.api, Upstream: to.upstream.Host, Client: clientOf(r.Header),
			Policy: string(p.engine.Policy()), Observe: p.config.Observe, Conversation: "unknown",
		},
	}
}
