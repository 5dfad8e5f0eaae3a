package anthropic

import (
	"bytes"
	"cmp"

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

// meter reads the usage from message_start and message_delta of a stream, or from a whole message. From the content it reads the
// signatures of thinking.
type meter struct{ llm.TapMeter }

// countDropped counts the dropped blocks that the answer reports.
func (m *meter) countDropped(data []byte, at rawjson.Span) {
	n := 0
	for one := range rawjson.Elements(data, at) {
		if rawjson.Is(data, rawjson.Member(data, one, "type"), "thinking_dropped") &&
			rawjson.Is(data, rawjson.Member(data, one, "reason"), "prefix_binding_mismatch") {
			n++
		}
	}
	m.Read.Dropped = max(m.Read.Dropped, n)
}

// countCleared reads the applied edits that the answer reports.
func (m *meter) countCleared(data []byte, at rawjson.Span) {
	for edit := range rawjson.Elements(data, rawjson.Member(data, at, "applied_edits")) {
		if rawjson.Is(data, rawjson.Member(data, edit, "type"), clearsCalls) {
			n, _ := rawjson.Int(data, rawjson.Member(data, edit, "cleared_tool_uses"))
			m.Read.Cleared = max(m.Read.Cleared, n)
		}
	}
}

// sign records the signature of a block or a delta.
func (m *meter) sign(data []byte, at rawjson.Span) {
	var f [3]rawjson.Span
	rawjson.Members(data, at, signatureKeys[:], f[:])
	text, of := "", f[1]
	switch string(rawjson.Word(data, f[0])) {
	case "thinking", "signature_delta":
	case "redacted_thinking":
		of = f[2]
	default:
		return
	}
	if rawjson.Said(data, of, &text); text != "" {
		m.Signed = append(m.Signed, text)
	}
}

var signatureKeys = [3]string{"type", "signature", "data"}

// content reads a content event. Most events are text deltas, so it first looks for the keywords.
func (m *meter) content(data []byte) {
	if !bytes.Contains(data, []byte(`thinking"`)) && !bytes.Contains(data, []byte(`"signature`)) {
		return
	}
	all := rawjson.Whole(data)
	m.sign(data, rawjson.Member(data, all, "content_block"))
	m.sign(data, rawjson.Member(data, all, "delta"))
}

// In a stream, the message of message_start has the model and the diagnostics, the delta of message_delta has the stop reason,
// and both have usage. In a whole message all of them are at the top level.
var documentKeys = [10]string{
	"type", "message", "delta", "usage", "model", "stop_reason", "content", "input_transformations", management, "diagnostics",
}

func (m *meter) document(name, data []byte) {
	switch string(name) {
	case "content_block_start", "content_block_delta":
		m.content(data)
		return
	case "content_block_stop", "ping":
		return
	}
	var at [10]rawjson.Span
	s := rawjson.New(data)
	if s.Object(documentKeys[:], at[:]).IsZero() {
		return
	}
	message, delta := at[1], at[2]
	switch kindOf(data, name, at[:]) {
	case "message_start":
		if message.KindOf(data) == '{' {
			m.document([]byte("message"), message.Of(data))
			m.countDropped(data, at[7])
		}
	case "message_delta":
		rawjson.Said(data, rawjson.Member(data, delta, "stop_reason"), &m.Read.StopReason)
		m.count(data, at[3])
		m.countCleared(data, at[8])
	case "content_block_start", "content_block_delta":
		m.content(data)
	case "message":
		m.Signed = nil // a document is read as a whole, possibly more than once
		for block := range rawjson.Elements(data, at[6]) {
			m.sign(data, block)
		}
		m.countDropped(data, at[7])
		m.countCleared(data, at[8])
		reason := rawjson.Member(data, at[9], "cache_miss_reason")
		rawjson.Said(data, rawjson.Member(data, reason, "type"), &m.Read.Missed)
		rawjson.Said(data, at[4], &m.Read.Model)
		rawjson.Said(data, at[5], &m.Read.StopReason)
		m.count(data, at[3])
	}
}

// kindOf returns the type of a document. Servers that only speak alike may leave it out: then the event's name says it, or
// what is in the document.
func kindOf(data, name []byte, at []rawjson.Span) string {
	switch typ := string(rawjson.Word(data, at[0])); {
	case typ != "":
		return typ
	case len(name) > 0:
		return string(name)
	case at[1].KindOf(data) == '{':
		return "message_start"
	case at[2].KindOf(data) == '{' && at[3].KindOf(data) == '{':
		return "message_delta"
	case at[6].KindOf(data) == '[', at[3].KindOf(data) == '{' && at[4].KindOf(data) == '"':
		return "message"
	}
	return ""
}

// count reads a usage object. Each one in a stream counts from the start of the stream and may leave out numbers that came
// earlier, so the larger number is kept.
func (m *meter) count(data []byte, at rawjson.Span) {
	if at.KindOf(data) != '{' {
		return
	}
	u, err := Messages{}.UsageOf(at.Of(data))
	if err != nil {
		return
	}
	r := m.Read.Usage
	u = llm.Usage{
		Input:        max(r.Input, u.Input),
		CacheRead:    max(r.CacheRead, u.CacheRead),
		CacheWrite:   max(r.CacheWrite, u.CacheWrite),
		CacheWrite1h: max(r.CacheWrite1h, u.CacheWrite1h),
		Output:       max(r.Output, u.Output),
		Reasoning:    max(r.Reasoning, u.Reasoning),
		WebSearches:  max(r.WebSearches, u.WebSearches),
		Speed:        cmp.Or(u.Speed, r.Speed),
		Region:       cmp.Or(u.Region, r.Region),
		Tier:         cmp.Or(u.Tier, r.Tier),
	}
	m.Read.Count(u, true, UnknownUsage(at.Of(data)))
}
