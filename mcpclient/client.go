package mcpclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// client is a connection to a server.
type client struct {
	server  Server
	timeout time.Duration // of a call
	session *mcp.ClientSession
	process *process // nil: it was not started here
	tools   []*remoteTool
	more    bool          // it has further tools, which were not asked for
	stop    func()        // ends what a connection over HTTP still waits for
	over    chan struct{} // closed when the connection has ended, and the process with it
}

// connect connects to a server and asks for its tools. It stops when giveUp ends.
func connect(giveUp context.Context, c Config, s Server) (_ *client, err error) {
	wait := cmp.Or(c.Wait, 30*time.Second)
	giveUp, cancel := context.WithTimeoutCause(giveUp, wait, fmt.Errorf("it was not ready within %v", wait))
	defer cancel()
	ctx, stop := context.WithCancelCause(context.Background()) // the connection's
	defer context.AfterFunc(giveUp, func() { stop(context.Cause(giveUp)) })()
	transport, process, err := s.transport(c.Environ)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = unready(ctx, process, err)
			stop(nil)
		}
	}()
	sdk := mcp.NewClient(&mcp.Implementation{Name: "stet", Version: c.Version}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{}, Logger: slog.New(slog.DiscardHandler), // what it reports comes as an error too
	})
	session, err := sdk.Connect(ctx, transport, nil)
	if err != nil {
		process.sweep()
		return nil, err
	}
	cl := &client{
		server: s, timeout: cmp.Or(c.Call, 10*time.Minute), session: session, process: process,
		stop: func() { stop(nil) }, over: make(chan struct{}),
	}
	go func() {
		defer close(cl.over)
		err := session.Wait()
		process.sweep()
		c.log().Debug("MCP server ended", "server", s.Name, "err", err)
	}()
	if cl.tools, err = cl.list(ctx); err != nil {
		cl.close()
		return nil, err
	}
	c.log().Debug("MCP server connected", "server", s.Name, "tools", len(cl.tools))
	return cl, nil
}

// unready says why there is no connection.
func unready(ctx context.Context, p *process, err error) error {
	switch {
	case ctx.Err() != nil && context.Cause(ctx) != context.Canceled: // Canceled is the cause after close, which has an error of its own
		err = context.Cause(ctx)
	case p != nil && p.cmd.Process == nil:
		return fmt.Errorf("it did not start: %w", err)
	case p != nil && isEnd(err):
		err = errors.New("it ended before it was ready")
	}
	return fmt.Errorf("%w%s", err, p.words())
}

// list asks for the server's tools, maxTools at most.
func (c *client) list(ctx context.Context) ([]*remoteTool, error) {
	if caps := c.session.InitializeResult().Capabilities; caps == nil || caps.Tools == nil {
		return nil, nil
	}
	var out []*remoteTool
	for t, err := range c.session.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		if c.more = len(out) == maxTools; c.more {
			break // there may be no end of them
		}
		out = append(out, &remoteTool{client: c, name: t.Name, spec: specOf(t)})
	}
	return out, nil
}

// close ends the connection, and the process.
func (c *client) close() {
	_ = c.session.Close() // its error is only about how the process ended
	c.stop()
	<-c.over
}

// errEnded says that the server has ended, and quotes its last words.
func (c *client) errEnded() error {
	select {
	case <-c.over:
	case <-time.After(endTime):
	}
	return fmt.Errorf("the MCP server %s has ended%s: its tools are gone for this session", plain(c.server.Name), c.process.words())
}

// ended reports whether a call failed because the server has ended.
func (c *client) ended(err error) bool {
	if isEnd(err) {
		return true
	}
	select {
	case <-c.over:
		return true
	default:
		return false
	}
}

// isEnd reports whether an error says that the connection has ended.
func isEnd(err error) bool { return errors.Is(err, mcp.ErrConnectionClosed) || errors.Is(err, io.EOF) }
