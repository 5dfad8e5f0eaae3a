package openai

import (
	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/internal/sse"
	"github.com/stet-dev/stet/llm"
)

// NewMeter implements llm.Codec.
func (Chat) NewMeter(contentType string) llm.Meter {
	m := &meter{}
	m.Tap = sse.NewTap(contentType, m.chat)
	return m
}

// NewMeter implements llm.Codec.
func (Responses) NewMeter(contentType string) llm.Meter {
	m := &meter{}
	m.Tap = sse.NewTap(contentType, m.response)
	return m
}

// meter reads the events of a stream, or a whole response.
type meter struct{ llm.TapMeter }

var chunkKeys = [3]string{"model", "choices", "usage"}
var choiceKeys = [1]string{"finish_reason"}

// chat reads a chunk of a stream or a whole completion, which have the same members. Usage is in the last chunk, if the request asked for it.
func (m *meter) chat(_, data []byte) {
	var at [3]rawjson.Span
	s := rawjson.New(data)
	if s.Object(chunkKeys[:], at[:]).IsZero() { // for example [DONE]
		return
	}
	if m.Reading.Model == "" {
		rawjson.Said(data, at[0], &m.Reading.Model)
	}
	m.count(data, at[2])
	if at[1].KindOf(data) != '[' {
		return
	}
	s = rawjson.At(data, at[1])
	if s.Enter('['); s.Next() && s.Kind() == '{' {
		var first [1]rawjson.Span
		s.Object(choiceKeys[:], first[:])
		rawjson.Said(data, first[0], &m.Reading.StopReason)
	}
}

var eventKeys = [8]string{
	"type", "response", "object", "model", "status", "usage", "incomplete_details", "prompt_cache_diagnostics",
}
var detailKeys = [1]string{"reason"}

// response reads a whole response, or an event that contains a response object.
func (m *meter) response(name, data []byte) {
	switch string(name) {
	case "", "response.created", "response.in_progress", "response.queued",
		"response.completed", "response.incomplete", "response.failed", "response.done":
	default:
		return // deltas and items
	}
	var at [8]rawjson.Span
	s := rawjson.New(data)
	if s.Object(eventKeys[:], at[:]).IsZero() {
		return
	}
	if at[1].KindOf(data) == '{' {
		data = at[1].Of(data)
		at = [8]rawjson.Span{}
		s = rawjson.New(data)
		s.Object(eventKeys[:], at[:])
	}
	if !rawjson.Is(data, at[2], "response") && !rawjson.Is(data, at[2], "response.compaction") {
		return
	}
	rawjson.Said(data, at[3], &m.Reading.Model)
	rawjson.Said(data, at[4], &m.Reading.StopReason)
	m.count(data, at[5])
	if at[7].KindOf(data) == '{' { // it has no reason if the cache was hit
		var why [1]rawjson.Span
		s = rawjson.At(data, at[7])
		s.Object(detailKeys[:], why[:])
		rawjson.Said(data, why[0], &m.Reading.Missed)
	}
	if at[6].KindOf(data) == '{' {
		var why [1]rawjson.Span
		s = rawjson.At(data, at[6])
		s.Object(detailKeys[:], why[:])
		rawjson.Said(data, why[0], &m.Reading.StopReason)
	}
	if m.Reading.StopReason == "in_progress" || m.Reading.StopReason == "queued" {
		m.Reading.StopReason = ""
	}
}

// count reads a usage object. The last one is kept.
func (m *meter) count(data []byte, at rawjson.Span) {
	if at.KindOf(data) != '{' {
		return
	}
	if u, err := usageOf(at.Of(data)); err == nil {
		m.Reading.Usage, m.Reading.Counted = u, true
	}
}
