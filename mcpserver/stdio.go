package mcpserver

import (
	"context"
	"io"
	"sync"
	"time"
)

// finishTime is how long requests that came before the end of input may take
// while no answer goes out.
const finishTime = 10 * time.Second

// Serve speaks MCP with one client, a message a line, until in ends, ctx is
// done, or out cannot be written to, which is an error. Requests that came
// before the end of in are still answered, but no person is asked for them any
// more. A client that does not read is waited for no longer than grace. Serve
// closes neither in nor out; a Read or Write that hangs then is left behind.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	if !s.gate.enter() {
		return ErrClosed
	}
	defer s.gate.leave()
	stopping, stop := context.WithCancel(ctx) // the caller or Close ends the session
	defer stop()
	defer context.AfterFunc(s.base, stop)()
	running, fail := context.WithCancel(stopping) // or the client is gone
	defer fail()

	w := &lineWriter{out: out, limits: s.limits, fail: fail}
	c := newConnection(s, running, in, w)
	session, err := s.mcp.Connect(context.WithValue(ctx, connectionKey{}, c), c, nil)
	if err != nil {
		return err
	}
	var helping sync.WaitGroup
	over := make(chan struct{})
	helping.Go(func() { w.watch(c.inputEnded, stopping.Done(), over) })
	err = session.Wait()
	s.calls.endSession(s.config.Session)
	s.end(s.config.Session)
	w.flush()
	close(over)
	helping.Wait()
	switch failed := w.failed(); {
	case ctx.Err() != nil:
		return ctx.Err()
	case s.base.Err() != nil:
		return ErrClosed
	case failed != nil:
		return failed
	}
	return err
}
