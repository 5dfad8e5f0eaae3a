package endpoint

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// Format describes a wire format for a client.
type Format struct {
	Name string // in error messages, for example "messages"
	Path string // of the request, with the version: "/v1/messages"

	// Based means that base URLs of this format contain the version, or another path instead of it.
	Based bool

	// Encode writes a request.
	Encode func(*llm.Request) ([]byte, error)
	// Decode reads an answer that is not streamed.
	Decode func(body []byte) (*llm.Response, error)
	// Reader returns a reader for a streamed answer. It passes each piece to emit.
	Reader func(emit func(llm.Event)) Reader
	// Sign sets the key and other required headers.
	Sign func(h http.Header, key string)
}

// Reader reads the events of one streamed answer.
type Reader interface {
	// Event reads an event, whose name may be empty. It returns an error if the event cannot be read. If the stream reports a
	// failure, the error is a *[Failure].
	Event(name, data []byte) error
	// Done reports whether the answer is complete. Later events are not read.
	Done() bool
	// End is called at the end of the stream. It reports whether the answer is complete.
	End() bool
	// Response returns the answer, or what has arrived of it.
	Response() *llm.Response
}

// Client sends requests to an endpoint in a format. It is an llm.Model.
type Client struct {
	Config Config
	Format Format
}

var _ llm.Model = Client{}

// Complete implements llm.Model.
func (c Client) Complete(ctx context.Context, req *llm.Request) (*llm.Response, error) {
	res, err := c.ask(ctx, req, false, nil)
	if err != nil {
		return nil, err
	}
	return res, nil
}

// Stream implements llm.Model.
func (c Client) Stream(ctx context.Context, req *llm.Request, each func(llm.Event)) (*llm.Response, error) {
	return c.ask(ctx, req, true, each)
}

func (c Client) ask(ctx context.Context, req *llm.Request, stream bool, each func(llm.Event)) (*llm.Response, error) {
	if each == nil {
		each = func(llm.Event) {}
	}
	res, err := c.attempts(ctx, req, stream, each)
	if err != nil {
		return res, fmt.Errorf("%s: %w", c.Format.Name, err)
	}
	return res, nil
}

// attempts repeats the request until an answer begins or a permanent error occurs.
func (c Client) attempts(ctx context.Context, req *llm.Request, stream bool, each func(llm.Event)) (*llm.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := c.Config.Key.check(); err != nil {
		return nil, err
	}
	url, err := c.Config.address(c.Format.Path, c.Format.Based)
	if err != nil {
		return nil, err
	}
	body, err := c.body(req, stream)
	if err != nil {
		return nil, err
	}
	for n := 0; ; n++ {
		a := attempt{Client: c, url: url, body: body, stream: stream, each: each}
		res, err := a.run(ctx)
		if err == nil {
			return res, nil
		}
		wait, again := c.Config.pause(err, n)
		if ctx.Err() != nil || a.began || !again {
			if !a.began {
				res = nil
			}
			return res, err
		}
		c.Config.logger().LogAttrs(ctx, levelRetry, "model asked again", retryAttrs(c.Config.host(), n, wait, err)...)
		each(llm.Event{Kind: llm.Retrying, Err: err, Wait: wait})
		if err := sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// body returns the request body.
func (c Client) body(req *llm.Request, stream bool) ([]byte, error) {
	if req == nil {
		return nil, errors.New("no request")
	}
	sent := *req
	sent.Stream = stream
	sent.Model = orElse(sent.Model, c.Config.Model)
	body, err := c.Format.Encode(&sent)
	if err != nil || len(c.Config.Extra) == 0 {
		return body, err
	}
	body, err = rawjson.Merge(body, c.Config.Extra)
	if err != nil {
		return nil, fmt.Errorf("extra members: %w", err)
	}
	return body, nil
}
