package endpoint

import (
	"context"
	"errors"
	"fmt"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

// Client sends requests to an endpoint of an API. It is an llm.Model.
type Client struct {
	API    llm.API
	Config Config
}

var (
	_ llm.Model           = Client{}
	_ llm.ThinkingChecker = Client{}
)

// ChecksThinking implements llm.ThinkingChecker.
func (c Client) ChecksThinking() bool { return c.API.ChecksThinking }

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
		return res, fmt.Errorf("%s: %w", c.API.Name, err)
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
	url, err := c.Config.address(c.API.Path, c.API.Based)
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
	encode := c.API.Codec.Encode
	if c.API.EncodeAt != nil {
		encode = func(req *llm.Request) ([]byte, error) { return c.API.EncodeAt(c.Config.host(), req) }
	}
	body, err := encode(&sent)
	if err != nil || len(c.Config.Extra) == 0 {
		return body, err
	}
	body, err = rawjson.Merge(body, c.Config.Extra)
	if err != nil {
		return nil, fmt.Errorf("extra members: %w", err)
	}
	return body, nil
}
