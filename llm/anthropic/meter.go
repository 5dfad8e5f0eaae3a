package anthropic

import (
	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/internal/sse"
	"github.com/stet-dev/stet/llm"
)

// NewMeter implements llm.Codec.
func (Messages) NewMeter(contentType string) llm.Meter {
	m := &meter{}
	m.Tap = sse.NewTap(contentType, m.document)
	return m
}

// meter reads message_start and message_delta of a stream, or a whole message.
type meter struct{ llm.TapMeter }

// In a stream the model stands in message_start's message, the reason in
// message_delta's delta, and usage in both; in a whole message all stand at
// the top.
var documentKeys = [6]string{"type", "message", "delta", "usage", "model", "stop_reason"}

func (m *meter) document(name, data []byte) {
	switch string(name) {
	case "content_block_start", "content_block_delta", "content_block_stop", "ping":
		return
	}
	var at [6]rawjson.Span
	s := rawjson.New(data)
	if s.Object(documentKeys[:], at[:]).IsZero() {
		return
	}
	typ, message, delta := at[0], at[1], at[2]
	switch string(rawjson.Word(data, typ)) {
	case "message_start":
		if message.KindOf(data) == '{' {
			m.document(nil, message.Of(data))
		}
	case "message_delta":
		if delta.KindOf(data) == '{' {
			var inner [6]rawjson.Span
			s = rawjson.At(data, delta)
			s.Object(documentKeys[:], inner[:])
			rawjson.Said(data, inner[5], &m.Reading.StopReason)
		}
		m.count(data, at[3])
	case "message":
		rawjson.Said(data, at[4], &m.Reading.Model)
		rawjson.Said(data, at[5], &m.Reading.StopReason)
		m.count(data, at[3])
	}
}

// count takes a usage object. Those of one stream each count from its
// beginning, and may leave out what an earlier one said: the larger holds.
func (m *meter) count(data []byte, at rawjson.Span) {
	if at.KindOf(data) != '{' {
		return
	}
	u, err := Messages{}.UsageOf(at.Of(data))
	if err != nil {
		return
	}
	r := &m.Reading
	r.Counted = true
	r.Usage = llm.Usage{
		Input:        max(r.Usage.Input, u.Input),
		CacheRead:    max(r.Usage.CacheRead, u.CacheRead),
		CacheWrite:   max(r.Usage.CacheWrite, u.CacheWrite),
		CacheWrite1h: max(r.Usage.CacheWrite1h, u.CacheWrite1h),
		Output:       max(r.Usage.Output, u.Output),
	}
}
