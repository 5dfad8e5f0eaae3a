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
	process *process // nil: the server was not started here
	tools   []*remoteTool
	more    bool          // the server has more tools, which were not read
	stop    func()        // ends the waiting parts of a connection over HTTP
	over    chan struct{} // closed when the connection and the process have ended
}

// connect connects to a server and reads its list of tools. It stops when giveUp is done.
func connect(giveUp context.Context, c Config, s Server) (_ *client, err error) {
	wait := cmp.Or(c.Wait, 30*time.Second)
	giveUp, cancel := context.WithTimeoutCause(giveUp, wait, fmt.Errorf("it was not ready within %v", wait))
	defer cancel()
	ctx, stop := context.WithCancelCause(context.Background()) // context of the connection
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
		Capabilities: &mcp.ClientCapabilities{}, Logger: slog.New(slog.DiscardHandler), // errors are returned too, so a log is not needed
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

// unready returns the error of a connection that could not be made, with the cause.
func unready(ctx context.Context, p *process, err error) error {
	switch {
	case ctx.Err() != nil && context.Cause(ctx) != context.Canceled: // after close the cause is Canceled, and err says more
		err = context.Cause(ctx)
	case p != nil && p.cmd.Process == nil:
		return fmt.Errorf("it did not start: %w", err)
	case p != nil && isEnd(err):
		err = errors.New("it ended before it was ready")
	}
	return fmt.Errorf("%w%s", err, p.words())
}

// list reads the server's tools, maxTools at most.
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
			break // the list may be endless
		}
		out = append(out, &remoteTool{client: c, name: t.Name, spec: specOf(t)})
	}
	return out, nil
}

// close ends the connection and the process, and waits for both.
func (c *client) close() {
	_ = c.session.Close() // the error only says how the process ended
	c.stop()
	<-c.over
}

// errEnded returns the error of a server that has ended. It quotes the last line of the server.
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
