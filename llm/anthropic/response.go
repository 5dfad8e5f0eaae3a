package anthropic

import (
	"fmt"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

var responseKeys = [6]string{"id", "model", "content", "stop_reason", "usage", "type"}

// DecodeResponse implements llm.Codec.
func (c Messages) DecodeResponse(body []byte) (*llm.Response, error) {
	var at [6]rawjson.Span
	s := rawjson.New(body)
	s.Object(responseKeys[:], at[:])
	if err := s.End(); err != nil {
		return nil, fmt.Errorf("messages response: %w", err)
	}
	if !rawjson.Is(body, at[5], "message") && (!at[5].IsZero() || at[2].KindOf(body) != '[') {
		return nil, fmt.Errorf("messages response: not a message")
	}
	d := newDecoder(body)
	s = rawjson.At(body, at[2])
	for s.Enter('['); s.Next() && d.Err() == nil; {
		d.part(&s, llm.Assistant)
	}
	d.Fail(s.Err())
	res := &llm.Response{
		ID:         d.Own(at[0]),
		Model:      d.Own(at[1]),
		Message:    llm.Message{Role: llm.Assistant, Parts: d.Parts},
		StopReason: d.Own(at[3]),
	}
	if !at[4].IsZero() {
		var err error
		res.Usage, err = c.UsageOf(at[4].Of(body))
		d.Fail(err)
	}
	if err := d.Err(); err != nil {
		return nil, fmt.Errorf("messages response: %w", err)
	}
	return res, nil
}
