package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// Dial says how to reach a gateway. URL is required.
type Dial struct {
	URL   string      // http, https, ws or wss; without a path
	Token string      // "": the client certificate in TLS identifies the client
	TLS   *tls.Config // nil: the default
}

// path is where a gateway accepts WebSockets.
const path = "/v1/connect"

// maxFrame is the largest frame that a client reads. (A gateway's own limit applies to the frames that it receives.)
const maxFrame = 64 << 20

// errRefused says that the gateway refuses and another attempt would not help.
var errRefused = errors.New("the gateway refuses")

func (d Dial) dial(ctx context.Context) (connection, error) {
	u, err := url.Parse(d.URL)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("%w: %q is not a URL", errRefused, d.URL)
	}
	u.Path = strings.TrimSuffix(u.Path, "/") + path
	transport := &http.Transport{TLSClientConfig: d.TLS, Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	header := http.Header{}
	if d.Token != "" {
		header.Set("Authorization", "Bearer "+d.Token)
	}
	o := &websocket.DialOptions{
		HTTPHeader: header,
		HTTPClient: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	ctx, cancel := context.WithTimeout(ctx, helloTime)
	defer cancel()
	ws, resp, err := websocket.Dial(ctx, u.String(), o)
	if err != nil {
		if resp != nil && resp.StatusCode >= 400 && resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests {
			return nil, fmt.Errorf("%w: %s", errRefused, said(resp))
		}
		return nil, fmt.Errorf("connect to the gateway: %w", err)
	}
	ws.SetReadLimit(maxFrame)
	return &socket{ws: ws, buffers: new(buffers)}, nil
}

// said returns the reason in an HTTP answer.
func said(resp *http.Response) string {
	buf := make([]byte, 500)
	n := 0
	if resp.Body != nil {
		n, _ = resp.Body.Read(buf) // if this fails, the status is enough
	}
	if text := strings.TrimSpace(string(buf[:n])); text != "" {
		return resp.Status + ": " + text
	}
	return resp.Status
}

// dialer is the client's side of a session. It connects again each time a connection is lost.
type dialer struct {
	*session
	dial  func(context.Context) (connection, error)
	hello wire.Hello // without the fields that a resume adds

	fresh func()              // called when a new session begins and the gateway does not know the earlier one
	up    func(h *wire.Hello) // connected
	down  func(err error)     // called when the connection is lost; the session may continue
	lost  func()              // called when it has been lost for the time away

	unreached func(err error) // called when a connection attempt fails; may be nil

	secret  string // the secret that resumes the session
	absence *time.Timer
}

// away is how long a client keeps its running calls without a connection.
const away = 30 * time.Second

// Pauses between two attempts to connect. The gateway keeps a session long enough for several attempts.
const (
	shortestPause = 100 * time.Millisecond
	longestPause  = 4 * time.Second
)

// keep keeps the session connected until ctx ends, or the gateway refuses and another attempt would not help.
func (s *dialer) keep(ctx context.Context) error {
	s.absence = time.AfterFunc(away, s.lost)
	s.absence.Stop()
	defer s.absence.Stop()
	pause := shortestPause
	var trouble limits.Repeats
	for {
		connected, err := s.connect(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if !connected && websocket.CloseStatus(err) == websocket.StatusMessageTooBig {
			return fmt.Errorf("%w: the hello is larger than it takes: there are too many tools, or their descriptions are too long", errRefused)
		}
		if isFinal(err) {
			if said := saidAtEnd(err); said != nil {
				return fmt.Errorf("%w: %w", errRefused, said)
			}
			return err
		}
		if connected {
			pause = shortestPause
			trouble.Over()
		}
		if left, ok := trouble.Say(err.Error()); ok {
			s.log.Info("not connected to the gateway", "err", err, "again in", pause, "repeated", left)
			if s.unreached != nil && !connected {
				s.unreached(err)
			}
		}
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-ctx.Done():
			return nil
		}
		pause = min(2*pause, longestPause)
	}
}

// isFinal reports whether another attempt would fail in the same way.
func isFinal(err error) bool {
	e := saidAtEnd(err)
	var untrusted *tls.CertificateVerificationError
	return errors.Is(err, errRefused) || errors.As(err, &untrusted) || (e != nil || errors.As(err, &e)) && e.Code != string(tool.HostUnavailable) && e.Code != string(tool.RateLimited)
}

// saidAtEnd returns the gateway's reason when it closed a connection for good; nil if err is not such a close.
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

// connect makes one connection, and runs the session until the connection ends.
func (s *dialer) connect(ctx context.Context) (connected bool, err error) {
	c, err := s.dial(ctx)
	if err != nil {
		return false, err
	}
	stop := context.AfterFunc(ctx, func() { c.close(websocket.StatusNormalClosure, "bye") })
	defer stop()
	reply, err := s.greet(c)
	if err != nil {
		c.abort()
		return false, err
	}
	s.absence.Stop()
	s.up(reply)
	err = s.run(context.WithoutCancel(ctx), c)
	s.down(err)
	s.absence.Reset(away)
	return true, err
}

// greet exchanges hello frames, and resumes the session or begins another one.
func (s *dialer) greet(c connection) (*wire.Hello, error) {
	h := s.hello
	if s.queue.failed() != nil {
		s.secret = "" // frames are lost, so the session cannot be resumed
	}
	if h.Resume = s.secret; s.secret != "" {
		h.Received = s.queue.counted()
	}
	if err := writeNow(c, &h); err != nil {
		return nil, err
	}
	reply, err := readHello(c)
	if err != nil {
		return nil, err
	}
	if reply.Version != wire.Version {
		return nil, fmt.Errorf("%w: it speaks version %d of the protocol", errRefused, reply.Version)
	}
	if reply.Limits != nil {
		s.limit.Store(int64(reply.Limits.FrameBytes))
	}
	if reply.Resumed {
		if err := s.queue.rewind(reply.Received); err != nil {
			s.secret = ""
			return nil, err
		}
	} else {
		s.fresh()
		s.queue.reset(reply.Resume != "")
	}
	s.secret = reply.Resume
	return reply, nil
}
