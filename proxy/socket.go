package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/llm/openai"
	"github.com/stet-dev/stet/record"
)

// The Responses API can be spoken over a WebSocket. A message "response.create" of the client is a request with the body of a
// POST; the messages of the provider are the events of its answer. Requests of one lane ("stream_id") are answered one after another, and
// the events name the lane. Here each socket is bridged to one of the upstream. Requests are planned like those
// of a POST; everything else passes as it is.

const (
	maxSocketEvent = 32 << 20 // bytes of a message of the provider that is looked at
	maxRefusal     = 1 << 20  // bytes of an answer that refuses a socket
	eventStream    = "text/event-stream"
)

// socket is a WebSocket of a client and the one that it is bridged to.
type socket struct {
	proxy    *Proxy
	to       endpoint
	request  *http.Request // that asked for it
	client   *websocket.Conn
	upstream *websocket.Conn

	mu      sync.Mutex
	waiting []*socketTurn // requests without the end of an answer, the oldest first
	over    bool          // no more answers come
}

// socketTurn is a request on a socket.
type socketTurn struct {
	exchange *exchange
	lane     string
	begun    bool // something of its answer came
	doubted  bool // it is not known what the answer is to
	anywhere bool // its lane is not known
}

// asksForSocket reports whether r asks for the WebSocket of the Responses API.
func asksForSocket(r *http.Request) bool {
	path := strings.TrimPrefix(slashes.ReplaceAllString(r.URL.Path, "/"), "/v1")
	return r.Method == http.MethodGet && path == "/responses" && strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// bridge serves a WebSocket of the endpoint target. Where the upstream has none, its answer is passed on.
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
		status := http.StatusBadGateway
		if shake.answer == nil {
			unreachable(to.Scheme+"://"+to.Host, err.Error()).write(w, record.Responses)
		} else {
			status = shake.answer.StatusCode
			passHeader(w.Header(), shake.answer.Header)
			w.WriteHeader(status)
			_, _ = w.Write(shake.body) // a client that is gone needs no answer
		}
		p.metrics.request(record.Responses, status)
		p.log.Debug("no WebSocket", "upstream", to.Host, "status", status, "error", err)
		return
	}
	defer func() { _ = upstream.CloseNow() }()
	passHeader(w.Header(), resp.Header)
	o := &websocket.AcceptOptions{InsecureSkipVerify: true} // the origin was looked at
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

// run carries messages both ways until one side closes.
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

// closeAs closes a socket as the other one was closed.
func closeAs(c *websocket.Conn, err error) {
	if code := websocket.CloseStatus(err); code != -1 {
		var closed websocket.CloseError
		errors.As(err, &closed)
		_ = c.Close(code, closed.Reason) // it may be closed already
	}
	_ = c.CloseNow()
}

// fromClient carries the client's messages. The error is that of its end.
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

// ask carries one text of the client. A request is planned. One that there is no room for is passed
// on as it comes, and the client waits as the upstream reads.
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
	p.prepare(x, s.request.Header, planned)
	sent, buffers := x.body.text(), slices.Clone(x.body.borrowed)
	for _, b := range buffers { // the answer may end the request before all of it is written
		b.hold()
		defer b.drop(&p.buffers)
	}
	if !s.await(&socketTurn{exchange: x, lane: said.Lane}) {
		return errOver
	}
	return s.upstream.Write(ctx, websocket.MessageText, sent)
}

// carry forwards a message whose first bytes head were already read.
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

// fromUpstream carries the upstream's messages. The error is that of its end.
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

// await notes a request whose answer is to come. It is false where none can come any more.
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

// doubt has no answer that is under way continued: something went by that may change it.
func (s *socket) doubt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.waiting {
		t.doubted, t.exchange.assembly = true, nil
	}
}

// answer shows an event to the request that it answers. It returns the exchange that ends with it; nil: none does.
func (s *socket) answer(text []byte) *exchange {
	said := openai.ReadSocketEvent(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.waiting, func(t *socketTurn) bool { return t.lane == said.Lane })
	if at < 0 {
		at = slices.IndexFunc(s.waiting, func(t *socketTurn) bool { return t.anywhere })
	}
	if at < 0 && said.Type == "error" && said.Lane == "" && len(s.waiting) == 1 {
		at = 0 // it can be about no other
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
		if x.meter = x.codec.NewMeter(eventStream); !t.doubted {
			x.assembly = x.assemble(eventStream)
		}
	}
	if bytes.ContainsAny(text, "\r\n") { // between the tokens of JSON
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

// endIdle closes a socket that waits for no answer: the proxy is closing.
func (s *socket) endIdle() {
	s.mu.Lock()
	idle := len(s.waiting) == 0
	s.mu.Unlock()
	if idle {
		_ = s.client.Close(websocket.StatusGoingAway, "the proxy is closing") // it may be closed already
	}
}

// handshake is a transport that keeps an answer which is no WebSocket.
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
		_ = resp.Body.Close() // what came of it is of no use
		return nil, err
	}
	return resp, nil
}

// hop are headers between two ends of one connection.
var hop = []string{
	"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
	"Sec-Websocket-Accept", "Sec-Websocket-Extensions", "Sec-Websocket-Key", "Sec-Websocket-Protocol", "Sec-Websocket-Version",
}

// passHeader adds the headers of from that are not between two ends of one connection.
func passHeader(to, from http.Header) {
	for name, values := range from {
		if !slices.Contains(hop, name) && name != "Content-Length" {
			to[name] = slices.Clone(values)
		}
	}
}

// socketHeader is what the client said, for the upstream.
func socketHeader(from http.Header) http.Header {
	to := http.Header{}
	passHeader(to, from)
	if _, ok := to["User-Agent"]; !ok {
		to["User-Agent"] = []string{""} // else there would be one
	}
	return to
}

// subprotocols are those that a client asks for.
func subprotocols(h http.Header) (names []string) {
	for _, name := range strings.Split(strings.Join(h.Values("Sec-Websocket-Protocol"), ","), ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}
