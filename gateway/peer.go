package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/gateway/wire"
)

// peer is a session with an agent, a host or a person.
type peer struct {
	h     *Hub
	who   Identity
	hello *wire.Hello
	id    string // of the session, for people
	link  *link
	side  side

	turn chan struct{} // of capacity 1; full while a connection is served

	mu     sync.Mutex
	conn   conn        // nil: away
	secret string      // "": it cannot be resumed
	timer  *time.Timer // of being away
	over   bool
}

// side is what a peer does by its role.
type side interface {
	begin() error // the session begins; an error refuses it
	handle(wire.Frame)
	lost() // the connection is; the session may go on
	back() // it is there again
	gone() // the session is over; called once, after begin
}

func (p *peer) can(capability string) bool { return slices.Contains(p.hello.Capabilities, capability) }

// serve speaks with whoever is at the other end of a connection until it is over.
func (h *Hub) serve(ctx context.Context, c conn, who Identity) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c = &served{conn: c, cancel: cancel}
	hello, err := readHello(c, usual.hello)
	if err == nil {
		err = h.check(hello, who)
	}
	var p *peer
	resumed := false
	if err == nil {
		p, resumed, err = h.greet(ctx, c, hello, who)
	}
	if err != nil {
		if e := (*wire.Error)(nil); errors.As(err, &e) && hello != nil {
			h.turnedAway(who, hello, e)
		}
		h.turnAway(c, err)
		return err
	}
	h.log.Info("connected", "role", hello.Role, "session", p.id, "token", who.ID, "workspace", hello.Workspace, "resumed", resumed)
	err = p.link.run(ctx, c)
	p.lost(err)
	h.cutOff(who, hello, err)
	h.log.Info("disconnected", "role", hello.Role, "session", p.id, "why", err)
	return err
}

// served is a connection whose reader waits for nothing any more once it is
// aborted.
type served struct {
	conn
	cancel context.CancelFunc
}

func (s *served) abort() {
	s.cancel()
	s.conn.abort()
}

// turnAway ends a connection with the reason.
func (h *Hub) turnAway(c conn, err error) {
	var e *wire.Error
	if !errors.As(err, &e) {
		c.abort()
		return
	}
	_ = writeNow(c, e, usual.write) // it is turned away anyhow
	refuse(c, e)
}

// refuse closes a connection for good.
func refuse(c conn, e *wire.Error) { c.close(websocket.StatusPolicyViolation, e.Code+": "+e.Message) }

// saidAtEnd is what a connection's other side said as it closed it for good; nil if
// err is no such end.
func saidAtEnd(err error) *wire.Error {
	var closed websocket.CloseError
	if !errors.As(err, &closed) || closed.Code != websocket.StatusPolicyViolation {
		return nil
	}
	code, words, ok := strings.Cut(closed.Reason, ": ")
	if !ok {
		code, words = wire.Forbidden, closed.Reason
	}
	return &wire.Error{Code: code, Message: words}
}

// check says what is wrong with a hello.
func (h *Hub) check(hello *wire.Hello, who Identity) error {
	switch {
	case hello.Version != wire.Version:
		return &wire.Error{Code: wire.Unsupported, Message: fmt.Sprintf("version %d is not spoken here, but version %d", hello.Version, wire.Version)}
	case !slices.Contains(scopes, hello.Role):
		return &wire.Error{Code: wire.Unsupported, Message: fmt.Sprintf("unknown role %.40q: there are agent, host and person", hello.Role)}
	case !who.May(hello.Role):
		h.log.Warn("refused", "why", "scope", "role", hello.Role, "token", who.ID)
		return &wire.Error{Code: wire.Forbidden, Message: fmt.Sprintf("this token is not for the role %s", hello.Role)}
	case hello.Role == wire.Host && !isName(hello.Workspace):
		return &wire.Error{Code: wire.Malformed, Message: "hello: a host names its workspace, by letters, digits, dots, - and _"}
	case hello.Session != "" && !isName(hello.Session):
		return &wire.Error{Code: wire.Malformed, Message: "hello: a session is named by letters, digits, dots, - and _"}
	case hello.Workspace != "" && !who.reaches(hello.Workspace):
		h.log.Warn("refused", "why", "workspace", "workspace", hello.Workspace, "token", who.ID)
		return &wire.Error{Code: wire.Forbidden, Message: fmt.Sprintf("this token is for workspace %q alone", who.Workspace)}
	}
	return nil
}

// isName reports whether s names something: up to 64 letters, digits and "._-".
func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-') {
			return false
		}
	}
	return 0 < len(s) && len(s) <= 64
}

// greet finds the session that is resumed, or makes one, and answers the hello.
func (h *Hub) greet(ctx context.Context, c conn, hello *wire.Hello, who Identity) (_ *peer, resumed bool, err error) {
	reply := &wire.Hello{
		Version: wire.Version, Client: "stet " + h.config.Version, Capabilities: h.capabilities(),
		Limits: &wire.Limits{
			FrameBytes: h.config.Limits.Frame, CallsInFlight: h.config.Limits.Calls,
			BytesInFlight: h.config.Limits.Bytes, CallsPerMinute: max(h.config.Limits.Rate, 0),
			ContentBytes: h.config.Limits.Content,
		},
	}
	p := h.find(hello, who)
	if p != nil && p.resume(ctx, c, hello.Received) {
		resumed = true
		reply.Resumed, reply.Received = true, p.link.out.count()
	} else if p, err = h.begin(c, hello, who); err != nil {
		return nil, false, err
	}
	reply.Session, reply.Resume, reply.Workspace = p.id, p.secret, p.hello.Workspace
	if p.secret != "" {
		reply.BeatSeconds = int(usual.ping / time.Second)
	}
	if err := writeNow(c, reply, usual.write); err != nil {
		p.lost(err)
		return nil, false, err
	}
	if resumed {
		p.side.back()
	}
	return p, resumed, nil
}

func (h *Hub) capabilities() []string {
	all := []string{wire.CanResume, wire.CanCancel, wire.CanProgress, wire.CanParts, wire.CanEvents}
	if h.config.Queue != nil {
		all = append(all, wire.CanAsk)
	}
	return all
}

// find returns the session that a hello wants to resume, if it is its own.
func (h *Hub) find(hello *wire.Hello, who Identity) *peer {
	if hello.Resume == "" {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.peers[hello.Resume]
	if p == nil || p.who.ID != who.ID || p.hello.Role != hello.Role {
		return nil
	}
	return p
}

// resume has the session go on over another connection. It reports whether it
// can.
func (p *peer) resume(ctx context.Context, c conn, received uint64) bool {
	p.mu.Lock()
	if p.over {
		p.mu.Unlock()
		return false
	}
	if p.conn != nil {
		p.conn.abort() // it may be dead without knowing it
	}
	p.mu.Unlock()
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	p.mu.Lock()
	if p.over {
		p.mu.Unlock()
		<-p.turn
		return false
	}
	defer p.mu.Unlock()
	if err := p.link.out.rewind(received); err != nil {
		p.h.log.Info("not resumed", "session", p.id, "err", err)
		<-p.turn
		return false
	}
	if p.timer != nil {
		p.timer.Stop()
	}
	p.conn = c
	return true
}

// begin begins a session.
func (h *Hub) begin(c conn, hello *wire.Hello, who Identity) (*peer, error) {
	p := &peer{h: h, who: who, hello: hello, id: hello.Session, conn: c, turn: make(chan struct{}, 1)}
	p.turn <- struct{}{}
	if p.id == "" {
		p.id = newID()
	}
	p.link = newLink(h.log, nil)
	p.link.borrows, p.link.beats, p.link.out.pads = true, true, &h.pads
	keep := p.can(wire.CanResume) && h.config.Away > 0
	p.link.out.reset(keep)
	switch hello.Role {
	case wire.Agent:
		s := newAgentSide(p)
		p.side, p.link.admit = s, s.admit
	case wire.Host:
		p.side = newHostSide(p)
	case wire.Person:
		p.side = newPersonSide(p)
	}
	p.link.handle = p.side.handle
	if keep {
		p.secret = newID() + newID()
	}
	h.mu.Lock()
	if h.closed || h.draining {
		h.mu.Unlock()
		return nil, &wire.Error{Code: "host_unavailable", Message: "the gateway is shutting down"}
	}
	h.sessions[p] = true
	if keep {
		h.peers[p.secret] = p
	}
	h.mu.Unlock()
	if err := p.side.begin(); err != nil {
		p.forget()
		return nil, err
	}
	return p, nil
}

// forget takes the session out of the hub.
func (p *peer) forget() {
	p.h.mu.Lock()
	defer p.h.mu.Unlock()
	delete(p.h.sessions, p)
	if p.secret != "" {
		delete(p.h.peers, p.secret)
	}
}

// lost notes that the connection is over.
func (p *peer) lost(err error) {
	p.mu.Lock()
	p.conn = nil
	status := websocket.CloseStatus(err)
	final := p.over || p.secret == "" || errors.Is(err, ErrSlow) || status == websocket.StatusNormalClosure
	if !final {
		p.timer = time.AfterFunc(p.h.config.Away, func() { p.end(websocket.StatusGoingAway, "away for too long", false) })
	}
	p.mu.Unlock()
	if final {
		p.end(websocket.StatusGoingAway, "", true)
	} else {
		p.side.lost()
	}
	<-p.turn
}

// end ends the session for good: whatever its connection, or only if it has none.
func (p *peer) end(status websocket.StatusCode, why string, always bool) {
	p.mu.Lock()
	if p.over && !always || p.conn != nil && !always {
		p.mu.Unlock()
		return
	}
	was := p.over
	p.over = true
	if p.timer != nil {
		p.timer.Stop()
	}
	c := p.conn
	p.mu.Unlock()
	if was {
		return
	}
	if c != nil {
		p.h.serving.Go(func() { c.close(status, why) }) // it waits for the other side
	}
	p.link.out.end(ErrClosed)
	p.forget()
	p.side.gone()
}
