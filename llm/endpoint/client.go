package endpoint

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// Format is a wire format as a client needs it.
type Format struct {
	Name string // in errors, "messages"
	Path string // of the request, with the version: "/v1/messages"

	// Based says that providers of this format give base URLs that hold the
	// version, or have another path in its place.
	Based bool

	// Encode writes a request.
	Encode func(*llm.Request) ([]byte, error)
	// Decode reads an answer that was not streamed.
	Decode func(body []byte) (*llm.Response, error)
	// Reader reads one that was; it tells emit what comes in.
	Reader func(emit func(llm.Event)) Reader
	// Sign puts the key and what else every request needs into its header.
	Sign func(h http.Header, key string)
}

// Reader reads the events of one streamed answer.
type Reader interface {
	// Event takes an event, whose name may be empty. What it cannot
	// understand is an error, and a failure that the stream tells a *[Failure].
	Event(name, data []byte) error
	// Done reports whether the answer is whole: what follows is not read.
	Done() bool
	// End says that nothing follows, and reports whether the answer is whole.
	End() bool
	// Response is the answer, as far as it is there.
	Response() *llm.Response
}

// Client asks an endpoint in a format. It is an llm.Model.
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

// attempts asks until there is an answer, or the beginning of one, or an error
// that stays.
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

// body is the request on the wire.
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
