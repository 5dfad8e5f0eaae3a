package gemini

import (
	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/internal/sse"
	"github.com/stet-dev/stet/llm"
)

// NewMeter implements llm.Codec. A stream has server-sent events (alt=sse in the query), or is one JSON array of the same
// documents.
func (GenerateContent) NewMeter(contentType string) llm.Meter {
	m := &meter{}
	m.Tap = sse.NewTap(contentType, func(_, data []byte) { m.document(data) })
	return m
}

// meter reads the chunks of a stream, or a whole response. Both have the same members. Each chunk has the usage so far.
type meter struct{ llm.TapMeter }

func (m *meter) document(data []byte) {
	s := rawjson.New(data)
	if s.Kind() != '[' {
		m.chunk(data)
		return
	}
	for s.Enter('['); s.Next(); {
		m.chunk(s.Skip().Of(data))
	}
}

func (m *meter) chunk(data []byte) {
	var f [5]rawjson.Span
	s := rawjson.New(data)
	if s.Object(answerKeys[:], f[:]).IsZero() {
		return
	}
	rawjson.Said(data, f[2], &m.Reading.Model)
	if at := f[0]; at.KindOf(data) == '[' {
		s = rawjson.At(data, at)
		if s.Enter('['); s.Next() && s.Kind() == '{' {
			var candidate [2]rawjson.Span
			s.Object(candidateKeys[:], candidate[:])
			rawjson.Said(data, candidate[1], &m.Reading.StopReason)
		}
	}
	if at := f[4]; at.KindOf(data) == '{' {
		var why [1]rawjson.Span
		s = rawjson.At(data, at)
		s.Object(feedbackKeys[:], why[:])
		rawjson.Said(data, why[0], &m.Reading.StopReason)
	}
	if at := f[1]; at.KindOf(data) == '{' {
		r := &m.Reading
		r.Unknown = llm.Also(r.Unknown, UnknownUsage(at.Of(data)))
		if u, err := (GenerateContent{}).UsageOf(at.Of(data)); err == nil && (!u.IsZero() || !r.Counted) {
			r.Usage, r.Counted = u, true
		}
	}
}
