package mcpserver

import (
	"context"
	"io"
	"sync"
	"time"
)

// finishTime is how long earlier requests may take after the end of input, if no answer is sent in that time.
const finishTime = 10 * time.Second

// Serve serves one MCP client over in and out, with one message on each line. It returns at the end of in, when ctx is done, or
// when writing to out fails, which is an error. Requests before the end of in are still answered, but no person is asked for them
// after it. Serve waits for a client that does not read for the time grace at most. Serve closes neither in nor out. A Read or
// Write that is blocked at the end stays blocked in its goroutine.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	if !s.gate.enter() {
		return ErrClosed
	}
	defer s.gate.leave()
	stopping, stop := context.WithCancel(ctx) // done when the caller or Close ends the session
	defer stop()
	defer context.AfterFunc(s.base, stop)()
	running, fail := context.WithCancel(stopping) // also done when the client is lost
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
