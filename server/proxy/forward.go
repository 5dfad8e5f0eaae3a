package proxy

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"os"
	"runtime/debug"
	"sync"

	"github.com/stet-dev/stet/internal/sse"
	"github.com/stet-dev/stet/record"
)

// newForwarder returns the reverse proxy that sends requests upstream and answers back.
func (p *Proxy) newForwarder() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite:        rewrite,
		ModifyResponse: p.watch,
		ErrorHandler:   p.fail,
		Transport:      transport{p},
		FlushInterval:  -1,
		BufferPool:     new(copyBuffers),
		ErrorLog:       log.New(io.Discard, "", 0), // errors are recorded in the row
	}
}

// copyBuffers keeps the memory through which answers pass. Without it each answer takes 32 KB, most of what a small request needs.
type copyBuffers struct{ pool sync.Pool }

func (c *copyBuffers) Get() []byte {
	if b, ok := c.pool.Get().(*[copySize]byte); ok {
		return b[:]
	}
	return make([]byte, copySize)
}

func (c *copyBuffers) Put(b []byte) { c.pool.Put((*[copySize]byte)(b)) }

const copySize = 32 << 10 // bytes, as httputil.ReverseProxy takes

// transport is a RoundTripper that handles refused requests and sets the Request of each answer.
type transport struct{ proxy *Proxy }

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := plainAnswers{t.proxy.config.Transport}.RoundTrip(r)
	if err == nil && refused(resp) {
		resp, err = t.proxy.recover(r, resp)
	}
	if resp != nil && err == nil {
		resp.Request = r
	}
	return resp, err
}

// forwarding lists headers that ReverseProxy removes. They belong to the client, so rewrite restores them.
var forwarding = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"}

// rewrite turns the client's request into the request to the upstream.
func rewrite(r *httputil.ProxyRequest) {
	x := r.In.Context().Value(exchangeKey{}).(*exchange)
	r.Out.URL = join(x.upstream, r.In.URL)
	if r.Out.Host = x.upstream.Host; x.bedrock && signed(r.In) {
		r.Out.Host = r.In.Host
	}
	for _, name := range forwarding {
		if v, ok := r.In.Header[name]; ok {
			r.Out.Header[name] = v
		}
	}
	if x.codec != nil {
		r.Out.Header.Set("Accept-Encoding", "identity")
		x.body.send(r.Out)
	}
}

// watch sees an answer when it begins, and puts a meter on its body. Before any byte is passed on, the rows that later
// requests need are stored.
func (p *Proxy) watch(resp *http.Response) error {
	x := resp.Request.Context().Value(exchangeKey{}).(*exchange)
	x.row.Status = resp.StatusCode
	p.writer.wait(x.stored)
	p.reports(x)
	p.meters.hear(x.endpoint, resp.Request.Header, resp.Header)
	if x.codec == nil || resp.StatusCode == http.StatusSwitchingProtocols {
		return nil
	}
	resp.Body = &answerBody{body: resp.Body, exchange: x, context: resp.Request.Context(), proxy: p}
	_, plain, _ := codingOf(resp.Header.Get("Content-Encoding"))
	if resp.StatusCode < 300 && x.api != record.CountTokens && plain {
		form := resp.Header.Get("Content-Type")
		x.streams, x.meter, x.assembly = sse.IsStream(form), x.codec.NewMeter(form), x.assemble(form)
	}
	return nil
}

// answerBody is the body of an answer on its way to the client.
type answerBody struct {
	body     io.ReadCloser
	exchange *exchange
	context  context.Context // of the request; it ends when the client is gone
	proxy    *Proxy
}

// Read passes on the bytes at once and shows them to the meter.
func (t *answerBody) Read(b []byte) (int, error) {
	n, err := t.body.Read(b)
	if t.exchange.meter != nil && n > 0 {
		t.show(b[:n])
	}
	switch {
	case err == io.EOF:
		t.exchange.ended = true
	case err != nil && t.context.Err() == nil:
		t.exchange.broken = true
	}
	return n, err
}

// show passes b to the meter. If that panics, the usage is lost, but the client still gets its answer.
func (t *answerBody) show(b []byte) {
	defer func() {
		if v := recover(); v != nil {
			t.exchange.meter, t.exchange.assembly = nil, nil
			t.proxy.log.Error("reading an answer broke off", "api", t.exchange.api, "cause", v, "stack", string(debug.Stack()))
		}
	}()
	_, _ = t.exchange.meter.Write(b) // a Meter returns no errors
	t.proxy.hear(t.exchange, b)
	t.proxy.sign(t.exchange, b)
}

func (t *answerBody) Close() error { return t.body.Close() }

// fail answers a request for which the upstream sent no answer.
func (p *Proxy) fail(w http.ResponseWriter, r *http.Request, err error) {
	x := r.Context().Value(exchangeKey{}).(*exchange)
	x.ended = true
	if r.Context().Err() != nil && p.base.Err() == nil && !x.arriving.Stalled() { // a body that stalls ends the context too
		x.row.Status = 0 // the client is gone
		panic(http.ErrAbortHandler)
	}
	f := unreachable(x.upstream.Scheme+"://"+x.upstream.Host, err.Error())
	switch {
	case p.base.Err() != nil:
		f = closing()
	case x.arriving.Stalled():
		f = unread(os.ErrDeadlineExceeded)
	case errors.Is(err, context.DeadlineExceeded):
		f.status = http.StatusGatewayTimeout
	}
	x.row.Status = f.status
	p.log.Warn("no answer from the upstream", "upstream", x.upstream.Host, "api", x.api, "error", err)
	p.counted(f).write(w, x.format())
}
