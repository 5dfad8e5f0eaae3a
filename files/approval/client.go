package approval

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
)

// Client is a queue in another process: see Server. It may be used concurrently.
type Client struct {
	Root string // the workspace of the questions

	conn net.Conn
	wg   sync.WaitGroup

	sending sync.Mutex // held while a line is written

	events events

	mu      sync.Mutex
	n       int64                // number of the newest request
	replies map[int64]chan frame // channels of capacity 1

	over chan struct{} // closed when the connection ends
	err  error         // the reason; read after over is closed
}

// NewClient reads the greeting of a Server. The client then owns the connection.
func NewClient(ctx context.Context, conn net.Conn) (*Client, error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	in := newLines(conn)
	f, err := in.next()
	switch {
	case err == nil && f.Type == "error":
		err = errors.New(f.Error)
	case err == nil && (f.Type != "hello" || f.Version != version):
		err = fmt.Errorf("it speaks another protocol (%q, version %d): use the same version of stet at both ends", f.Type, f.Version)
	}
	if !stop() {
		err = ctx.Err() // the end of ctx closed the connection
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("connect for approvals: %w", err), conn.Close())
	}
	c := &Client{
		Root: f.Root, conn: conn, events: newEvents(), replies: map[int64]chan frame{}, over: make(chan struct{}),
	}
	c.wg.Go(func() { c.end(c.read(in)) })
	return c, nil
}

// read handles received frames until the connection ends.
func (c *Client) read(in *lines) error {
	for {
		f, err := in.next()
		if err != nil {
			return err
		}
		switch {
		case f.Type == "question" && f.Question != nil:
			c.events.add(Event{Opened: f.Question})
		case f.Type == "closed" && f.Closed != nil:
			c.events.add(Event{Closed: f.Closed})
		case f.Type == "error":
			return errors.New(f.Error)
		case f.Type == "reply":
			c.mu.Lock()
			reply, ok := c.replies[f.N]
			delete(c.replies, f.N)
			c.mu.Unlock()
			if ok {
				reply <- f
			}
		}
	}
}

func (c *Client) end(err error) {
	c.err = fmt.Errorf("%w: %w", ErrClosed, err)
	c.events.end(c.err, false)
	close(c.over)
}

// Next waits for the next event. It begins with the questions that are open. After the end of the connection it returns ErrClosed.
func (c *Client) Next(ctx context.Context) (Event, error) { return c.events.next(ctx) }

// Answer answers a question: see Queue.Answer.
func (c *Client) Answer(ctx context.Context, id string, a Answer) error {
	_, err := c.ask(ctx, frame{Type: "answer", ID: id, Answer: &a})
	return err
}

// Content returns the text with which Edit begins. Events do not contain it.
func (c *Client) Content(ctx context.Context, id string) ([]byte, error) {
	f, err := c.ask(ctx, frame{Type: "content", ID: id})
	return f.Content, err
}

func (c *Client) ask(ctx context.Context, f frame) (frame, error) {
	reply := make(chan frame, 1)
	c.mu.Lock()
	c.n++
	f.N = c.n
	c.replies[f.N] = reply
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.replies, f.N)
		c.mu.Unlock()
	}()
	line, err := encode(f)
	if err != nil {
		return frame{}, err
	}
	if len(line) > maxLine {
		return frame{}, fmt.Errorf("an answer of %d bytes: at most %d", len(line), maxLine)
	}
	c.sending.Lock()
	_, err = c.conn.Write(line)
	c.sending.Unlock()
	if err != nil {
		return frame{}, fmt.Errorf("%w: %w", ErrClosed, err)
	}
	select {
	case r := <-reply:
		return r, failure(r)
	case <-c.over:
		return frame{}, c.err
	case <-ctx.Done():
		return frame{}, ctx.Err()
	}
}

// failure returns the error in a reply.
func failure(f frame) error {
	switch f.Code {
	case "":
		return nil
	case "answered":
		return told{f.Error, ErrAnswered}
	case "unknown":
		return told{f.Error, ErrUnknown}
	}
	return errors.New(f.Error)
}

// told is an error with the other side's text.
type told struct {
	text string
	is   error
}

func (t told) Error() string { return t.text }
func (t told) Unwrap() error { return t.is }

// Close ends the connection. Further calls do nothing.
func (c *Client) Close() error {
	err := c.conn.Close()
	c.wg.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
