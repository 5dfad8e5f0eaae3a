package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// hubSession is the hub's end of the session of an agent or a host.
type hubSession struct {
	*session
	h        *Hub
	who      Identity
	hello    *wire.Hello
	id       string // the session's name, for people
	peer     peer
	capacity func() // gives back the bytes that the session holds

	serving chan struct{} // capacity 1; full while a connection is served

	mu         sync.Mutex
	conn       connection  // nil: the connection is lost
	disconnect func()      // ends the connection, even while its goroutines wait
	secret     string      // the secret that resumes the session; "": it cannot be resumed
	expiry     *time.Timer // ends the session some time after its connection was lost
	over       bool
}

// peer is the hub's side for an agent or a host.
type peer interface {
	begin() error // the session begins; an error refuses it
	handle(wire.Frame)
	disconnected() // the connection is lost; the session may be resumed
	resumed()
	ended() // the session is over; called once, after begin
}

// can reports whether the client named a capability.
func (s *hubSession) can(capability string) bool {
	return slices.Contains(s.hello.Capabilities, capability)
}

// tell sends a frame if the session is not over.
func (s *hubSession) tell(f wire.Frame) {
	if err := s.send(f); err != nil {
		s.log.Debug("not sent", "session", s.id, "frame", wire.TypeOf(f), "call", wire.CallOf(f), "err", err)
	}
}

// complain answers a frame that the client must not send now.
func (s *hubSession) complain(message, call string) {
	s.tell(&wire.Error{Code: wire.Malformed, Message: message, CallID: call})
}

// serve runs a session over a connection until the connection ends.
func (h *Hub) serve(ctx context.Context, c connection, who Identity) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	hello, err := h.readHello(ctx, c, who)
	if err == nil {
		err = h.check(hello, who)
	}
	var s *hubSession
	resumed := false
	if err == nil {
		s, resumed, err = h.greet(ctx, c, cancel, hello, who)
	}
	if err != nil {
		h.turnAway(c, who, hello, err)
		return err
	}
	h.log.Info("connected", "role", hello.Role, "session", s.id, "token", who.ID, "workspace", hello.Workspace, "resumed", resumed)
	err = s.run(ctx, c)
	s.disconnected(err)
	h.recordCutOff(who, hello, err)
	h.log.Info("disconnected", "role", hello.Role, "session", s.id, "why", err)
	return err
}

// What a token holds besides its calls, in bytes: for a connection, for a session besides its hello, and for a hello that is read. A
// hello of a host has its tools. These are limited by Config.Held.
const (
	connectionBytes = 40 << 10
	sessionBytes    = 8 << 10
	helloBytes      = 64 << 10
	hostHelloBytes  = 1 << 20
)

// hold takes bytes that a token holds besides its calls. It waits for them up to the time wait. The error is for the client.
func (h *Hub) hold(ctx context.Context, who Identity, bytes int, wait time.Duration) (release func(), err error) {
	if who.ID == "" { // this process
		return func() {}, nil
	}
	if release, err = h.config.Held.TryAcquire(who.ID, int64(bytes)); err != nil && wait > 0 {
		ctx, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		release, err = h.config.Held.Acquire(ctx, who.ID, int64(bytes))
	}
	if err != nil {
		return nil, &wire.Error{Code: string(tool.RateLimited), Message: "this token has as many sessions and connections as it may: end some of them, or try again in " + retryAfter + " s"}
	}
	return release, nil
}

// readHello reads the first frame of a connection. Until then the frame's limit is that of a hello.
func (h *Hub) readHello(ctx context.Context, c connection, who Identity) (*wire.Hello, error) {
	most := min(helloBytes, h.config.Limits.Frame)
	if who.May(wire.Host) {
		most = min(hostHelloBytes, h.config.Limits.Frame)
	}
	release, err := h.hold(ctx, who, most, patience)
	if err != nil {
		return nil, err
	}
	defer release()
	c.limit(most)
	hello, err := readHello(c)
	c.limit(h.config.Limits.Frame)
	return hello, err
}

// turnAway ends a connection that got no session.
func (h *Hub) turnAway(c connection, who Identity, hello *wire.Hello, err error) {
	var e *wire.Error
	if !errors.As(err, &e) {
		c.abort()
		return
	}
	if hello != nil {
		h.recordRefusal(who, hello, e)
	}
	_ = writeNow(c, e) // the close frame has the reason, too
	refuse(c, e)
}

// check returns what is wrong with a hello.
func (h *Hub) check(hello *wire.Hello, who Identity) error {
	switch {
	case hello.Version != wire.Version:
		return &wire.Error{Code: wire.Unsupported, Message: fmt.Sprintf("this gateway does not speak version %d, but version %d", hello.Version, wire.Version)}
	case !slices.Contains(roles, hello.Role):
		return &wire.Error{Code: wire.Unsupported, Message: fmt.Sprintf("unknown role %.40q: there are agent and host", hello.Role)}
	case !who.May(hello.Role):
		h.log.Warn("refused", "why", "scope", "role", hello.Role, "token", who.ID)
		return &wire.Error{Code: wire.Forbidden, Message: who.Refusal(hello.Role, "")}
	case hello.Role == wire.Host && !isName(hello.Workspace):
		return &wire.Error{Code: wire.Malformed, Message: "hello: a host names its workspace, by letters, digits, dots, - and _"}
	case hello.Session != "" && !isName(hello.Session):
		return &wire.Error{Code: wire.Malformed, Message: "hello: a session is named by letters, digits, dots, - and _"}
	case hello.Workspace != "" && !isName(hello.Workspace):
		return &wire.Error{Code: wire.Malformed, Message: badWorkspace}
	case hello.Workspace != "" && !who.reaches(hello.Workspace):
		h.log.Warn("refused", "why", "workspace", "workspace", hello.Workspace, "token", who.ID)
		return &wire.Error{Code: wire.Forbidden, Message: who.Refusal(hello.Role, hello.Workspace)}
	}
	return nil
}

const badWorkspace = "a workspace is named by letters, digits, dots, - and _, 64 at most"

// isName reports whether s can name something: 1 to 64 letters, digits and "._-".
func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-') {
			return false
		}
	}
	return 0 < len(s) && len(s) <= 64
}

// greet resumes the session that a hello names, or begins one, and answers the hello. disconnect ends the connection.
func (h *Hub) greet(ctx context.Context, c connection, disconnect func(), hello *wire.Hello, who Identity) (_ *hubSession, resumed bool, err error) {
	own := h.config.Limits
	reply := &wire.Hello{
		Version: wire.Version, Client: "stet " + h.config.Version, Capabilities: h.capabilities(),
		Limits: &wire.Limits{
			FrameBytes: own.Frame, CallsInFlight: callsAtOnce, BytesInFlight: own.Bytes,
			CallsPerMinute: max(own.Rate, 0), ContentBytes: own.Content,
		},
	}
	s := h.find(hello, who)
	if s != nil && s.resume(ctx, c, disconnect, hello.Received) {
		resumed = true
		reply.Resumed, reply.Received = true, s.queue.counted()
	} else if s, err = h.begin(c, disconnect, hello, who); err != nil {
		return nil, false, err
	}
	reply.Session, reply.Resume, reply.Workspace = s.id, s.secret, s.hello.Workspace
	if s.secret != "" {
		reply.BeatSeconds = int(pingEvery / time.Second)
	}
	if err := writeNow(c, reply); err != nil {
		s.disconnected(err)
		return nil, false, err
	}
	if resumed {
		s.peer.resumed()
	}
	return s, resumed, nil
}

func (h *Hub) capabilities() []string {
	all := []string{wire.CanResume, wire.CanCancel, wire.CanProgress, wire.CanParts, wire.CanEvents, wire.CanAdmit}
	if h.config.Queue != nil {
		all = append(all, wire.CanAsk)
	}
	return all
}

// find returns the session that a client wants to resume, or nil.
func (h *Hub) find(hello *wire.Hello, who Identity) *hubSession {
	if hello.Resume == "" {
		return nil
	}
	s := h.clients.find(hello.Resume)
	if s == nil || s.who.ID != who.ID || s.hello.Role != hello.Role {
		return nil
	}
	return s
}

// resume continues the session over another connection. It reports whether it can.
func (s *hubSession) resume(ctx context.Context, c connection, disconnect func(), received uint64) bool {
	s.mu.Lock()
	if s.over {
		s.mu.Unlock()
		return false
	}
	if s.conn != nil {
		s.disconnect() // the old connection may be lost without notice
	}
	s.mu.Unlock()
	select {
	case s.serving <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		<-s.serving
		return false
	}
	if err := s.queue.rewind(received); err != nil {
		s.log.Info("not resumed", "session", s.id, "err", err)
		<-s.serving
		return false
	}
	if s.expiry != nil {
		s.expiry.Stop()
	}
	s.conn, s.disconnect = c, disconnect
	return true
}

// begin begins a session.
func (h *Hub) begin(c connection, disconnect func(), hello *wire.Hello, who Identity) (*hubSession, error) {
	s := &hubSession{
		session: newSession(h.log, nil), h: h, who: who, hello: hello, id: hello.Session,
		conn: c, disconnect: disconnect, serving: make(chan struct{}, 1),
	}
	b, err := wire.Encode(hello)
	if err != nil {
		return nil, err
	}
	if s.capacity, err = h.hold(h.base, who, sessionBytes+b.Size(), 0); err != nil {
		return nil, err
	}
	s.serving <- struct{}{}
	if s.id == "" {
		s.id = newID()
	}
	resumable := s.can(wire.CanResume) && h.config.Away > 0
	if resumable {
		s.secret = newID() + newID()
	}
	s.beats = true
	s.queue.reset(resumable)
	switch hello.Role {
	case wire.Agent:
		p := newAgentPeer(s)
		s.peer, s.admit = p, p.admit
	case wire.Host:
		s.peer = newHostPeer(s)
	}
	s.handle = s.peer.handle
	if !h.clients.add(s) {
		s.capacity()
		return nil, &wire.Error{Code: "host_unavailable", Message: "the gateway is shutting down"}
	}
	if err := s.peer.begin(); err != nil {
		s.forget()
		return nil, err
	}
	return s, nil
}

// forget removes the session from the hub.
func (s *hubSession) forget() {
	s.capacity()
	s.h.clients.remove(s)
}

// disconnected handles the end of the connection; err says why. The session waits for another connection if the client can resume
// it.
func (s *hubSession) disconnected(err error) {
	s.mu.Lock()
	s.conn = nil
	over := s.over || s.secret == "" || errors.Is(err, errSlow) || websocket.CloseStatus(err) == websocket.StatusNormalClosure
	if !over {
		s.expiry = time.AfterFunc(s.h.config.Away, s.expire)
	}
	s.mu.Unlock()
	if over {
		s.end(websocket.StatusGoingAway, "")
	} else {
		s.peer.disconnected()
	}
	<-s.serving
}

// expire ends the session if it has no connection.
func (s *hubSession) expire() {
	s.endIf(func() bool { return s.conn == nil }, websocket.StatusGoingAway, "away for too long")
}

// end ends the session for good, and closes its connection with the reason.
func (s *hubSession) end(status websocket.StatusCode, why string) {
	s.endIf(func() bool { return true }, status, why)
}

// endIf is end if a condition holds. It checks the condition with mu held.
func (s *hubSession) endIf(condition func() bool, status websocket.StatusCode, why string) {
	s.mu.Lock()
	if s.over || !condition() {
		s.mu.Unlock()
		return
	}
	s.over = true
	if s.expiry != nil {
		s.expiry.Stop()
	}
	if c := s.conn; c != nil {
		s.h.closing.Go(func() { c.close(status, why) }) // close waits for the other end
	}
	s.mu.Unlock()
	s.queue.end(errClosed)
	s.forget()
	s.peer.ended()
}

// drained waits until the session's frames are written or ctx ends. Without a connection it returns at once.
func (s *hubSession) drained(ctx context.Context) bool {
	for !s.queue.empty() {
		s.mu.Lock()
		lost := s.conn == nil
		s.mu.Unlock()
		if lost {
			return true
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return false
		}
	}
	return true
}
