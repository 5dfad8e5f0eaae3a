package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/internal/sse"
)

// Client follows and answers the questions of another process of this user: see Handler.ServeLocal. It may be used concurrently;
// Close ends it.
type Client struct {
	Root string // the workspace of the questions

	http    *http.Client
	events  chan QueueEvent
	pending []approval.Event // of the last QueueEvent; used by Next
	next    chan struct{}    // capacity 1: held by the goroutine that runs Next
	stop    context.CancelFunc
	reading sync.WaitGroup
	err     error // why no more events come; read after events is closed
}

// largestEvent is the limit of a snapshot of all questions, in bytes.
const largestEvent = 64 << 20

// NewClient connects to a server, by connections that dial makes, until ctx ends.
func NewClient(ctx context.Context, dial func(context.Context) (net.Conn, error)) (*Client, error) {
	c := &Client{
		http: &http.Client{Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		}},
		events: make(chan QueueEvent), next: make(chan struct{}, 1),
	}
	reading, stop := context.WithCancel(context.Background())
	c.stop = stop
	var me Me
	err := c.ask(ctx, http.MethodGet, "/api/me", nil, &me)
	var body io.ReadCloser
	if err == nil {
		unless := context.AfterFunc(ctx, stop)
		if body, err = c.do(reading, http.MethodGet, "/api/events", nil); err == nil && !unless() {
			err = errors.Join(ctx.Err(), body.Close())
		}
	}
	if err != nil {
		stop()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, fmt.Errorf("connect for approvals: %w", err)
	}
	c.Root = me.Root
	c.reading.Go(func() { c.read(reading, body) })
	return c, nil
}

// read passes the events of a stream on until it ends.
func (c *Client) read(ctx context.Context, body io.ReadCloser) {
	defer close(c.events)
	defer body.Close()
	in := &sse.Parser{Max: largestEvent, Event: func(_, data []byte) {
		var e QueueEvent
		if json.Unmarshal(data, &e) != nil {
			return // it is of another version, and of no use here
		}
		select {
		case c.events <- e:
		case <-ctx.Done():
		}
	}}
	_, err := io.Copy(in, body)
	if err == nil {
		err = io.EOF
	}
	c.err = fmt.Errorf("%w: %w", approval.ErrClosed, err)
}

// Next waits for the next event. It begins with the questions that are open. After the end of the server it returns ErrClosed.
func (c *Client) Next(ctx context.Context) (approval.Event, error) {
	select {
	case c.next <- struct{}{}:
		defer func() { <-c.next }()
	case <-ctx.Done():
		return approval.Event{}, ctx.Err()
	}
	for {
		for len(c.pending) > 0 {
			e := c.pending[0]
			if e.Opened != nil {
				q, err := c.question(ctx, e.Opened.ID)
				if ctx.Err() != nil {
					return approval.Event{}, ctx.Err()
				}
				if e.Opened = q; err != nil { // it is not open any more, or the server has ended
					c.pending = c.pending[1:]
					continue
				}
			}
			c.pending = c.pending[1:]
			return e, nil
		}
		select {
		case e, ok := <-c.events:
			if !ok {
				return approval.Event{}, c.err
			}
			for _, q := range e.Open {
				c.pending = append(c.pending, approval.Event{Opened: q})
			}
			if e.Opened != nil || e.Closed != nil {
				c.pending = append(c.pending, approval.Event{Opened: e.Opened, Closed: e.Closed})
			}
		case <-ctx.Done():
			return approval.Event{}, ctx.Err()
		}
	}
}

// question returns an open question with its diff.
func (c *Client) question(ctx context.Context, id string) (*approval.Question, error) {
	var q approval.Question
	err := c.ask(ctx, http.MethodGet, "/api/questions/"+url.PathEscape(id), nil, &q)
	return &q, err
}

// Answer answers a question: see approval.Queue.Answer.
func (c *Client) Answer(ctx context.Context, id string, a approval.Answer) error {
	return c.ask(ctx, http.MethodPost, "/api/questions/"+url.PathEscape(id)+"/answer", a, &struct{}{})
}

// Content returns the text with which Edit begins.
func (c *Client) Content(ctx context.Context, id string) ([]byte, error) {
	var out Content
	err := c.ask(ctx, http.MethodGet, "/api/questions/"+url.PathEscape(id)+"/content", nil, &out)
	return []byte(out.After), err
}

// ask makes a request, and decodes its answer.
func (c *Client) ask(ctx context.Context, method, path string, body, into any) error {
	answer, err := c.do(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer answer.Close()
	return json.NewDecoder(answer).Decode(into)
}

func (c *Client) do(ctx context.Context, method, path string, body any) (io.ReadCloser, error) {
	data := []byte(nil)
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	res, err := c.http.Do(r)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%w: %w", approval.ErrClosed, err)
	}
	if res.StatusCode == http.StatusOK {
		return res.Body, nil
	}
	defer res.Body.Close()
	said := Problem{Error: res.Status}
	_ = json.NewDecoder(io.LimitReader(res.Body, 64<<10)).Decode(&said) // otherwise the status is enough
	switch res.StatusCode {
	case http.StatusConflict:
		return nil, reported{said.Error, approval.ErrAnswered}
	case http.StatusNotFound:
		return nil, reported{said.Error, approval.ErrUnknown}
	}
	return nil, errors.New(said.Error)
}

// reported is an error with the server's text.
type reported struct {
	text string
	is   error
}

func (r reported) Error() string { return r.text }
func (r reported) Unwrap() error { return r.is }

// Close ends the client. Further calls do nothing.
func (c *Client) Close() error {
	c.stop()
	c.reading.Wait()
	c.http.CloseIdleConnections()
	return nil
}
