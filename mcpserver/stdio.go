package mcpserver

import (
	"bufio"
	"context"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Serve speaks MCP with one client, a message a line, until in ends, ctx is
// done, or out cannot be written to, which is an error. Requests that came before
// the end of in are still answered, but nobody is asked for them any more. A
// client that does not read is waited for no longer than grace. Serve closes
// neither in nor out; a Read or Write that hangs then is left behind.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	o := &outlet{w: out, limits: s.limits, fail: func(error) { cancel() }}
	read, write := io.Pipe()
	session, done, err := s.connect(running, &mcp.IOTransport{Reader: read, Writer: o, MaxLineLength: s.config.MaxMessage}, o.full)
	if err != nil {
		return err
	}
	l := &lines{
		server: s, session: session, in: bufio.NewReaderSize(in, 64<<10), out: o, sdk: write, ending: make(chan struct{}),
		late: make(chan *lineCall, s.limits.late/atLeast+1), open: map[string]context.CancelFunc{},
	}
	stopping, stopped := context.WithCancel(ctx)
	defer stopped()
	defer context.AfterFunc(s.base, stopped)()
	var helping sync.WaitGroup
	over := make(chan struct{})
	helping.Go(func() { l.catchUp(over) })
	helping.Go(func() { o.watch(l.ending, stopping.Done(), over) })
	go l.run(running)
	err = done()
	cancel()
	l.end()
	o.flush()
	close(over)
	helping.Wait()
	if failed := o.failed(); failed != nil && ctx.Err() == nil && s.base.Err() == nil {
		return failed
	}
	return err
}

// connect begins the one session of a transport, which has no use for progress
// while it is full. What connect returns waits for its end.
func (s *Server) connect(ctx context.Context, t mcp.Transport, full func() bool) (*mcp.ServerSession, func() error, error) {
	if !s.gate.enter() {
		return nil, nil, ErrClosed
	}
	session, err := s.mcp.Connect(ctx, drainingTransport{t, s, full}, nil)
	if err != nil {
		s.gate.leave()
		return nil, nil, err
	}
	return session, func() error {
		defer s.gate.leave()
		over := make(chan struct{})
		go func() {
			err = session.Wait()
			close(over)
		}()
		stopped := error(nil)
		select {
		case <-over:
		case <-ctx.Done():
			stopped = ctx.Err()
		case <-s.base.Done():
			stopped = ErrClosed
		}
		s.calls.cancelSession(s.config.Session)
		_ = session.Close() // waits for the requests; their client is gone
		<-over
		s.end(s.config.Session)
		if stopped != nil {
			return stopped
		}
		return err
	}, nil
}

// drainingTransport makes connections that tell of the end of what comes in
// only when what came has been answered: the SDK cancels all requests then.
type drainingTransport struct {
	mcp.Transport
	server *Server
	full   func() bool
}

func (t drainingTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &draining{Connection: c, server: t.server, full: t.full, open: map[jsonrpc.ID]bool{}, closed: make(chan struct{})}, nil
}

type draining struct {
	mcp.Connection
	server *Server
	full   func() bool

	mu   sync.Mutex
	open map[jsonrpc.ID]bool // requests without a response

	once   sync.Once
	closed chan struct{}
}

func (c *draining) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if err != nil {
		c.drain(ctx)
		return nil, err
	}
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() && r.Method != "subscriptions/listen" {
		c.mu.Lock()
		c.open[r.ID] = true
		c.mu.Unlock()
	}
	return m, nil
}

func (c *draining) Write(ctx context.Context, m jsonrpc.Message) error {
	if r, ok := m.(*jsonrpc.Request); ok && r.Method == "notifications/progress" && c.full() {
		return nil // news that nobody reads
	}
	err := c.Connection.Write(ctx, m)
	if r, ok := m.(*jsonrpc.Response); ok {
		c.mu.Lock()
		delete(c.open, r.ID)
		c.mu.Unlock()
	}
	return err
}

func (c *draining) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Connection.Close()
}

// drain waits until every request has its response.
func (c *draining) drain(ctx context.Context) {
	drain(ctx, c.server, func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.open)
	}, c.closed)
}

// drained is how long requests may take that were there before the end.
const drained = 10 * time.Second

// drain waits until no request is open, or closed is.
func drain(ctx context.Context, s *Server, open func() int, closed <-chan struct{}) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(drained)
	for open() > 0 {
		s.calls.cancelAsking(s.config.Session)
		select {
		case <-tick.C:
		case <-late:
			return
		case <-closed:
			return
		case <-ctx.Done():
			return
		}
	}
}
