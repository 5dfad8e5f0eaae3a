package approval

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/stet-dev/stet/tool"
)

// Server serves a queue to other processes of the same user. The listener's socket must be in a directory of mode 0700, which other
// users cannot reach. If the system tells the user at the other end, the server also checks that.
//
// An agent that runs as the same user and may run programs can reach the socket, too. The queue does not protect against such an
// agent: it could also write the file itself.
type Server struct {
	Queue *Queue
	Root  string       // the workspace, shown to people
	Log   *slog.Logger // nil: no logging
}

// maxShown is the limit, in bytes, of a diff or an editable content sent over the socket. JSON may make it six times larger.
const maxShown = 8 << 20

// maxSend is how long a client may take to read a message.
const maxSend = 10 * time.Second

// Serve accepts connections until ctx ends. Then it closes the listener and all connections, and waits for its goroutines. The end
// of ctx is not an error.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = ln.Close() }) // Accept returns the error
	defer stop()
	for {
		conn, err := ln.Accept()
		if err != nil {
			_ = ln.Close() // Accept has returned the error
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("serve approvals: %w", err)
		}
		wg.Go(func() {
			if err := s.talk(ctx, conn); err != nil && ctx.Err() == nil {
				s.log().Info("approval client", "err", err)
			}
		})
	}
}

func (s *Server) log() *slog.Logger {
	if s.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return s.Log
}

// talk serves one client until it disconnects.
func (s *Server) talk(ctx context.Context, conn net.Conn) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	defer conn.Close()
	c := &peer{conn: conn, server: s}
	uid, known, err := peerUser(conn)
	if err == nil && known && uid != os.Getuid() {
		err = fmt.Errorf("user %d may not answer for user %d", uid, os.Getuid())
	}
	if err != nil {
		return errors.Join(err, c.send(frame{Type: "error", Error: err.Error()}))
	}
	c.by = fmt.Sprintf("uid %d", os.Getuid())
	sub := s.Queue.Subscribe()
	defer sub.Close()
	if err := c.send(frame{Type: "hello", Version: version, Root: s.Root}); err != nil {
		return err
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() {
		defer cancel()
		if err := c.tell(ctx, sub); ctx.Err() == nil {
			s.log().Info("approval client cut off", "err", err)
			_ = c.send(frame{Type: "error", Error: err.Error()}) // the connection ends in any case
		}
	})
	return c.listen()
}

// peer is a client from the server's view.
type peer struct {
	conn   net.Conn
	server *Server
	by     string

	mu sync.Mutex // held while a line is written, for maxSend at most
}

func (c *peer) send(f frame) error {
	line, err := encode(f)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.conn.SetWriteDeadline(time.Now().Add(maxSend)); err != nil {
		return err
	}
	_, err = c.conn.Write(line)
	return err
}

// tell sends the queue's events until sending fails.
func (c *peer) tell(ctx context.Context, sub *Subscription) error {
	for {
		e, err := sub.Next(ctx)
		if err != nil {
			return err
		}
		f := frame{Type: "closed", Closed: e.Closed}
		if e.Opened != nil {
			q := *e.Opened
			q.Content = nil
			if len(q.Diff.Text()) > maxShown {
				q.Diff, q.Notes = tool.Diff{}, append(slices.Clip(q.Notes), tool.Large)
			}
			f = frame{Type: "question", Question: &q}
		}
		if err := c.send(f); err != nil {
			return err
		}
	}
}

// listen handles the client's requests one after another.
func (c *peer) listen() error {
	in := newLines(c.conn)
	for {
		f, err := in.next()
		if err != nil {
			var bad badLine
			if errors.As(err, &bad) || errors.Is(err, errLong) {
				return errors.Join(err, c.send(frame{Type: "error", Error: err.Error()}))
			}
			return nil // the client has disconnected
		}
		if f.N == 0 {
			continue
		}
		if err := c.send(c.reply(f)); err != nil {
			return err
		}
	}
}

func (c *peer) reply(f frame) frame {
	out := frame{Type: "reply", N: f.N}
	var err error
	switch {
	case f.Type == "answer" && f.Answer != nil:
		a := *f.Answer
		a.By, a.Relayed = c.by, false // the client does not choose these
		err = c.server.Queue.Answer(f.ID, a)
	case f.Type == "content":
		out.Content, err = c.server.Queue.content(f.ID)
	default:
		err = fmt.Errorf("unknown message %.40q", f.Type)
	}
	if err != nil {
		out.Error, out.Code = err.Error(), "invalid"
		switch {
		case errors.Is(err, ErrAnswered):
			out.Code = "answered"
		case errors.Is(err, ErrUnknown):
			out.Code = "unknown"
		}
	}
	return out
}
