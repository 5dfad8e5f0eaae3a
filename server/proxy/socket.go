package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/openai"
)

// The Responses API can also be used over a WebSocket. A client's message "response.create" is a request with the body of a
// POST. The provider's messages are the events of its answer. A lane ("stream_id") is a sequence of requests that are answered one
// after another; events name their lane. This file connects each client socket to one upstream socket. Requests are planned like
// those of a POST; all other messages pass unchanged.

const (
	maxSocketEvent = 32 << 20 // bytes of the largest provider message that is read
	maxRefusal     = 1 << 20  // bytes of an answer that refuses the socket
	eventStream    = "text/event-stream"
)

// socket is a client's WebSocket and the upstream socket that it is connected to.
type socket struct {
	proxy    *Proxy
	to       endpoint
	request  *http.Request // the request that opened it
	client   *websocket.Conn
	upstream *websocket.Conn

	mu      sync.Mutex
	waiting []*socketTurn // requests whose answer has not ended, the oldest first
	over    bool          // no more answers will come
}

// socketTurn is a request on a socket.
type socketTurn struct {
	exchange *exchange
	lane     string
	begun    bool // a first event of its answer came
	doubted  bool // it is not certain what request the answer belongs to
	anywhere bool // its lane is not known
}

// asksForSocket reports whether r asks for the WebSocket of the Responses API.
func asksForSocket(r *http.Request) bool {
	path := strings.TrimPrefix(slashes.ReplaceAllString(r.URL.Path, "/"), "/v1")
	return r.Method == http.MethodGet && path == "/responses" && strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// bridge serves a WebSocket of the endpoint target. If the upstream refuses the socket, its answer is passed on.
func (p *Proxy) bridge(w http.ResponseWriter, r *http.Request, target endpoint) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(p.base, cancel)()
	to := target.upstream
	shake := &handshake{RoundTripper: p.config.Transport}
	upstream, resp, err := websocket.Dial(ctx, join(to, r.URL).String(), &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: shake, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		HTTPHeader: socketHeader(r.Header), Subprotocols: subprotocols(r.Header),
	})
	if err != nil {
		if quoting := new(url.Error); errors.As(err, &quoting) {
			err = quoting.Err // the URL may hold a key
		}
		status := http.StatusBadGateway
		if shake.answer == nil {
			p.counted(unreachable(to.Scheme+"://"+to.Host, err.Error())).write(w, llm.Responses)
		} else {
			status = shake.answer.StatusCode
			passHeader(w.Header(), shake.answer.Header)
			w.WriteHeader(status)
			_, _ = w.Write(shake.body) // a client that is gone needs no answer
		}
		p.metrics.request(llm.Responses, status)
		p.log.Debug("no WebSocket", "upstream", to.Host, "status", status, "error", err)
		return
	}
	defer func() { _ = upstream.CloseNow() }()
	p.meters.hear(target, r.Header, resp.Header)
	passHeader(w.Header(), resp.Header)
	o := &websocket.AcceptOptions{InsecureSkipVerify: true} // the origin is already checked
	if name := upstream.Subprotocol(); name != "" {
		o.Subprotocols = []string{name}
	}
	client, err := websocket.Accept(w, r, o)
	if err != nil {
		p.log.Debug("no WebSocket", "error", err)
		return
	}
	defer func() { _ = client.CloseNow() }()
	client.SetReadLimit(-1)
	upstream.SetReadLimit(-1)
	s := &socket{proxy: p, to: target, request: r, client: client, upstream: upstream}
	s.run(ctx, cancel)
}

// run forwards messages in both directions until one side closes.
func (s *socket) run(ctx context.Context, cancel func()) {
	var others sync.WaitGroup
	others.Go(func() {
		err := s.fromUpstream(ctx)
		s.leave(true)
		closeAs(s.client, err)
	})
	others.Go(func() {
		select {
		case <-ctx.Done():
		case <-s.proxy.ending.Done():
			s.endIdle()
		}
	})
	closeAs(s.upstream, s.fromClient(ctx))
	cancel()
	others.Wait()
	s.leave(false)
}

// closeAs closes a socket with the close code of err, the error of the other socket.
func closeAs(c *websocket.Conn, err error) {
	if code := websocket.CloseStatus(err); code != -1 {
		var closed websocket.CloseError
		errors.As(err, &closed)
		_ = c.Close(code, closed.Reason) // it may be closed already
	}
	_ = c.CloseNow()
}

// fromClient forwards the client's messages. It returns the error that ended them.
func (s *socket) fromClient(ctx context.Context) error {
	for {
		kind, r, err := s.client.Reader(ctx)
		if err != nil {
			return err
		}
		if kind == websocket.MessageText {
			err = s.ask(ctx, r)
		} else {
			err = carry(ctx, s.upstream, kind, nil, r)
		}
		if err != nil {
			return err
		}
	}
}

// ask forwards one text message of the client. A request is planned. If there is no capacity for a message, it is forwarded unplanned while
// it is read, at the speed of the upstream.
func (s *socket) ask(ctx context.Context, r io.Reader) error {
	p := s.proxy
	x := p.newExchange(s.to, s.request)
	x.keeps = true
	x.body.client = senderOf(s.request)
	limited := &io.LimitedReader{R: r, N: p.config.MaxBody + 1}
	full := false
	text, err := io.ReadAll(&metered{limited, 0, func(n int64) error {
		err := x.body.take(&p.budget, x.body.client, n)
		full = err != nil
		return err
	}})
	if err != nil && !full {
		x.body.release(&p.buffers)
		return err
	}
	x.body.head = text
	x.body.borrowed = append(x.body.borrowed, lend(text))
	if full || limited.N == 0 {
		p.prepare(x, s.request.Header, large)
		if !s.await(&socketTurn{exchange: x, anywhere: true}) {
			return errOver
		}
		s.doubt()
		return carry(ctx, s.upstream, websocket.MessageText, text, r)
	}
	said := openai.ReadSocketEvent(text)
	if said.Type != "response.create" {
		defer x.body.release(&p.buffers)
		s.doubt()
		return s.upstream.Write(ctx, websocket.MessageText, text)
	}
	x.body.whole = true
	if refusal := p.prepare(x, s.request.Header, planned); refusal != nil {
		defer p.finish(x)
		x.stop(refusal)
		return s.client.Write(ctx, websocket.MessageText, s.proxy.counted(refusal).event(said.Lane))
	}
	sent, buffers := x.body.text(), slices.Clone(x.body.borrowed)
	for _, b := range buffers { // the answer may end the request before its text is fully written
		b.hold()
		defer b.drop(&p.buffers)
	}
	if !s.await(&socketTurn{exchange: x, lane: said.Lane}) {
		return errOver
	}
	return s.upstream.Write(ctx, websocket.MessageText, sent)
}

// carry forwards a message. head holds the bytes that were already read.
func carry(ctx context.Context, to *websocket.Conn, kind websocket.MessageType, head []byte, rest io.Reader) error {
	w, err := to.Writer(ctx, kind)
	if err != nil {
		return err
	}
	if _, err = w.Write(head); err == nil {
		_, err = io.Copy(w, rest)
	}
	if err != nil {
		return err
	}
	return w.Close()
}

// fromUpstream forwards the upstream's messages. It returns the error that ended them.
func (s *socket) fromUpstream(ctx context.Context) error {
	for {
		kind, r, err := s.upstream.Reader(ctx)
		if err != nil {
			return err
		}
		if kind != websocket.MessageText {
			if err := carry(ctx, s.client, kind, nil, r); err != nil {
				return err
			}
			continue
		}
		limited := &io.LimitedReader{R: r, N: maxSocketEvent}
		text, err := io.ReadAll(limited)
		if err != nil {
			return err
		}
		if limited.N == 0 {
			s.doubt()
			err = carry(ctx, s.client, kind, text, r)
		} else {
			over := s.answer(text)
			err = s.client.Write(ctx, kind, text)
			if over != nil {
				s.proxy.finish(over)
				if s.proxy.ending.Err() != nil {
					s.endIdle()
				}
			}
		}
		if err != nil {
			return err
		}
	}
}

// await records a request that waits for an answer. It returns false if no answer can come any more.
func (s *socket) await(t *socketTurn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		t.exchange.broken = true
		s.proxy.finish(t.exchange)
		return false
	}
	t.doubted = slices.ContainsFunc(s.waiting, func(t *socketTurn) bool { return t.anywhere })
	s.waiting = append(s.waiting, t)
	return true
}

// doubt marks all open answers as uncertain: a message passed by that may affect them. Their conversations are not held for continuation.
func (s *socket) doubt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.waiting {
		t.doubted, t.exchange.assembly = true, nil
	}
}

// answer shows an event to the request that it belongs to. It returns the exchange if this event ends it, or nil.
func (s *socket) answer(text []byte) *exchange {
	said := openai.ReadSocketEvent(text)
	if said.Type == meterEvent {
		s.proxy.meters.event(s.to, s.request.Header, text)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.waiting, func(t *socketTurn) bool { return t.lane == said.Lane })
	if at < 0 {
		at = slices.IndexFunc(s.waiting, func(t *socketTurn) bool { return t.anywhere })
	}
	if at < 0 && said.Type == "error" && said.Lane == "" && len(s.waiting) == 1 {
		at = 0 // only one request is waiting
	}
	if at < 0 {
		return nil
	}
	t, p := s.waiting[at], s.proxy
	x := t.exchange
	if !t.begun {
		t.begun = true
		x.row.Status = http.StatusOK
		p.writer.wait(x.stored)
		p.reports(x)
		if x.meter = x.codec.NewMeter(eventStream); !t.doubted {
			x.assembly = x.assemble(eventStream)
		}
	}
	if bytes.ContainsAny(text, "\r\n") { // JSON may have line breaks between its tokens
		text = bytes.Map(func(r rune) rune {
			if r == '\r' || r == '\n' {
				return ' '
			}
			return r
		}, text)
	}
	if x.meter != nil {
		event := append([]byte("event: "+said.Type+"\ndata: "), text...)
		(&answerBody{exchange: x, proxy: p}).show(append(event, '\n', '\n'))
	}
	switch said.Type {
	case "error":
		if said.Status > 0 {
			x.row.Status = said.Status
		}
	case "response.completed", "response.incomplete", "response.failed", "response.done", "response.cancelled":
	default:
		return nil
	}
	x.ended = true
	s.waiting = slices.Delete(s.waiting, at, at+1)
	return x
}

// leave ends the requests that will get no answer.
func (s *socket) leave(broken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	for _, t := range s.waiting {
		if t.exchange.broken = broken; broken && !t.begun {
			t.exchange.row.Status = http.StatusBadGateway
		}
		s.proxy.finish(t.exchange)
	}
	s.waiting = nil
}

// endIdle closes the socket if no request waits for an answer. It is called when the proxy is closing.
func (s *socket) endIdle() {
	s.mu.Lock()
	idle := len(s.waiting) == 0
	s.mu.Unlock()
	if idle {
		_ = s.client.Close(websocket.StatusGoingAway, "the proxy is closing") // it may be closed already
	}
}

// handshake is a transport that keeps an answer that does not open a WebSocket.
type handshake struct {
	http.RoundTripper
	answer *http.Response
	body   []byte
}

func (t *handshake) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(r)
	if err != nil || resp.StatusCode == http.StatusSwitchingProtocols {
		return resp, err
	}
	t.answer = resp
	if t.body, err = io.ReadAll(io.LimitReader(resp.Body, maxRefusal)); err != nil {
		_ = resp.Body.Close() // an incomplete answer is of no use
		return nil, err
	}
	return resp, nil
}

// hop lists headers that apply to a single connection only.
var hop = []string{
	"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
	"Sec-Websocket-Accept", "Sec-Websocket-Extensions", "Sec-Websocket-Key", "Sec-Websocket-Protocol", "Sec-Websocket-Version",
}

// passHeader copies the headers of from that do not apply to a single connection only.
func passHeader(to, from http.Header) {
	for name, values := range from {
		if !slices.Contains(hop, name) && name != "Content-Length" {
			to[name] = slices.Clone(values)
		}
	}
}

// socketHeader returns the client's headers for the upstream.
func socketHeader(from http.Header) http.Header {
	to := http.Header{}
	passHeader(to, from)
	if _, ok := to["User-Agent"]; !ok {
		to["User-Agent"] = []string{""} // prevents Go's default User-Agent
	}
	return to
}

// subprotocols returns the subprotocols that a client asks for.
func subprotocols(h http.Header) (names []string) {
	for _, name := range strings.Split(strings.Join(h.Values("Sec-Websocket-Protocol"), ","), ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}
