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
type meter struct {
	llm.TapMeter
	signatures []string
	dropped    int
	cleared    int
}

// Dropped returns how many blocks of thinking in the request the provider dropped because they do not belong to the content
// before them. The answer reports this.
func (m *meter) Dropped() int {
	m.Tap.Flush()
	return m.dropped
}

// countDropped counts the dropped blocks that the answer reports.
func (m *meter) countDropped(data []byte, at rawjson.Span) {
	if at.KindOf(data) != '[' {
		return
	}
	n := 0
	s := rawjson.At(data, at)
	for s.Enter('['); s.Next(); {
		var f [2]rawjson.Span
		if s.Kind() != '{' {
			s.Skip()
			continue
		}
		s.Object(transformationKeys[:], f[:])
		if rawjson.Is(data, f[0], "thinking_dropped") && rawjson.Is(data, f[1], "prefix_binding_mismatch") {
			n++
		}
	}
	m.dropped = max(m.dropped, n)
}

// Signatures returns the signatures of thinking blocks, and the data of redacted ones, received since the last call.
func (m *meter) Signatures() []string {
	m.Tap.Flush()
	out := m.signatures
	m.signatures = nil
	return out
}

// sign records the signature of a block or a delta.
func (m *meter) sign(data []byte, at rawjson.Span) {
	if at.KindOf(data) != '{' {
		return
	}
	var f [3]rawjson.Span
	s := rawjson.At(data, at)
	s.Object(signatureKeys[:], f[:])
	text, of := "", f[1]
	switch string(rawjson.Word(data, f[0])) {
	case "thinking", "signature_delta":
	case "redacted_thinking":
		of = f[2]
	default:
		return
	}
	if rawjson.Said(data, of, &text); text != "" {
		m.signatures = append(m.signatures, text)
	}
}

var (
	signatureKeys = [3]string{"type", "signature", "data"}
	contentKeys   = [3]string{"type", "content_block", "delta"}

	transformationKeys = [2]string{"type", "reason"}
)

// content reads a content event. Most events are text deltas, so it first looks for the keywords.
func (m *meter) content(data []byte) {
	if !bytes.Contains(data, []byte(`thinking"`)) && !bytes.Contains(data, []byte(`"signature`)) {
		return
	}
	var f [3]rawjson.Span
	s := rawjson.New(data)
	s.Object(contentKeys[:], f[:])
	m.sign(data, f[1])
	m.sign(data, f[2])
}

// In a stream, the message of message_start has the model and the diagnostics, the delta of message_delta has the stop reason,
// and both have usage. In a whole message all of them are at the top level.
var documentKeys = [10]string{
	"type", "message", "delta", "usage", "model", "stop_reason", "content", "input_transformations", management, "diagnostics",
}

var diagnosticsKeys = [1]string{"cache_miss_reason"}

// miss reads the diagnostics of the prompt cache.
func (m *meter) miss(data []byte, at rawjson.Span) {
	if at.KindOf(data) != '{' {
		return
	}
	var reason, typ [1]rawjson.Span
	s := rawjson.At(data, at)
	s.Object(diagnosticsKeys[:], reason[:])
	if reason[0].KindOf(data) == '{' {
		s = rawjson.At(data, reason[0])
		s.Object(signatureKeys[:1], typ[:])
		rawjson.Said(data, typ[0], &m.Reading.Missed)
	}
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
		if delta.KindOf(data) == '{' {
			var inner [10]rawjson.Span
			s = rawjson.At(data, delta)
			s.Object(documentKeys[:], inner[:])
			rawjson.Said(data, inner[5], &m.Reading.StopReason)
		}
		m.count(data, at[3])
		m.countCleared(data, at[8])
	case "content_block_start", "content_block_delta":
		m.content(data)
	case "message":
		m.signatures = nil // a document is read as a whole, possibly more than once
		if at[6].KindOf(data) == '[' {
			s = rawjson.At(data, at[6])
			for s.Enter('['); s.Next(); {
				m.sign(data, s.Skip())
			}
		}
		m.countDropped(data, at[7])
		m.countCleared(data, at[8])
		m.miss(data, at[9])
		rawjson.Said(data, at[4], &m.Reading.Model)
		rawjson.Said(data, at[5], &m.Reading.StopReason)
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
	r := &m.Reading
	r.Counted = true
	r.Unknown = llm.Also(r.Unknown, UnknownUsage(at.Of(data)))
	r.Usage = llm.Usage{
		Input:        max(r.Usage.Input, u.Input),
		CacheRead:    max(r.Usage.CacheRead, u.CacheRead),
		CacheWrite:   max(r.Usage.CacheWrite, u.CacheWrite),
		CacheWrite1h: max(r.Usage.CacheWrite1h, u.CacheWrite1h),
		Output:       max(r.Usage.Output, u.Output),
		Reasoning:    max(r.Usage.Reasoning, u.Reasoning),
		WebSearches:  max(r.Usage.WebSearches, u.WebSearches),
		Speed:        cmp.Or(u.Speed, r.Usage.Speed),
		Region:       cmp.Or(u.Region, r.Usage.Region),
		Tier:         cmp.Or(u.Tier, r.Usage.Tier),
	}
}
