package openai

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

var completionKeys = [4]string{"id", "model", "choices", "usage"}
var answerKeys = [2]string{"message", "finish_reason"}

// DecodeResponse implements llm.Codec. It reads the first choice.
func (Chat) DecodeResponse(body []byte) (*llm.Response, error) {
	d := newDecoder(body)
	res, err := d.completion()
	if err != nil {
		return nil, fmt.Errorf("chat response: %w", err)
	}
	return res, nil
}

func (d *decoder) completion() (*llm.Response, error) {
	var f [4]rawjson.Span
	s := rawjson.New(d.Body)
	s.Object(completionKeys[:], f[:])
	if err := s.End(); err != nil {
		return nil, err
	}
	var choice [2]rawjson.Span
	s = rawjson.At(d.Body, f[2])
	if s.Enter('['); s.Next() {
		s.Object(answerKeys[:], choice[:])
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	if choice[0].IsZero() {
		return nil, errors.New("no message")
	}
	s = rawjson.At(d.Body, choice[0])
	d.chatMessage(&s)
	res := &llm.Response{
		ID:         d.Own(f[0]),
		Model:      d.Own(f[1]),
		Message:    llm.Message{Role: llm.Assistant, Parts: d.Parts},
		StopReason: d.Own(choice[1]),
	}
	d.usage(res, f[3])
	return res, d.Err()
}

func (d *decoder) usage(res *llm.Response, at rawjson.Span) {
	if at.IsZero() {
		return
	}
	var err error
	res.Usage, err = usageOf(at.Of(d.Body))
	d.Fail(err)
}

var responseKeys = [7]string{"id", "object", "model", "status", "usage", "incomplete_details", "output"}

// DecodeResponse implements llm.Codec. StopReason is the status, or the reason why the response is incomplete.
func (Responses) DecodeResponse(body []byte) (*llm.Response, error) {
	d := newDecoder(body)
	res, err := d.response()
	if err != nil {
		return nil, fmt.Errorf("responses response: %w", err)
	}
	return res, nil
}

func (d *decoder) response() (*llm.Response, error) {
	var f [7]rawjson.Span
	s := rawjson.New(d.Body)
	s.Object(responseKeys[:], f[:])
	if err := s.End(); err != nil {
		return nil, err
	}
	if !rawjson.Is(d.Body, f[1], "response") && (!f[1].IsZero() || f[6].KindOf(d.Body) != '[') {
		return nil, errors.New("not a response")
	}
	s = rawjson.At(d.Body, f[6])
	s.Enter('[')
	d.items(&s)
	res := &llm.Response{
		ID:         d.Own(f[0]),
		Model:      d.Own(f[2]),
		Message:    llm.Message{Role: llm.Assistant, Parts: d.Parts},
		StopReason: d.Own(f[3]),
	}
	if why := rawjson.Member(d.Body, f[5], "reason"); !why.IsZero() {
		res.StopReason = d.Own(why)
	}
	d.usage(res, f[4])
	return res, d.Err()
}

// errorBody is the body of an error, of both APIs.
func errorBody(e llm.ErrorBody) any {
	kind, code := "invalid_request_error", any(nil)
	switch {
	case e.Status == 429:
		kind, code = "requests", "rate_limit_exceeded"
	case e.Status >= 500:
		kind = "server_error"
	}
	if e.Code != "" {
		code = e.Code
	}
	return map[string]any{"error": map[string]any{"message": e.Message, "type": cmp.Or(e.Type, kind), "param": nil, "code": code}}
}
