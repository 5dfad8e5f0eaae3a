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
	all := rawjson.Whole(data)
	if all.KindOf(data) != '[' {
		m.chunk(data)
		return
	}
	for chunk := range rawjson.Elements(data, all) {
		m.chunk(chunk.Of(data))
	}
}

func (m *meter) chunk(data []byte) {
	var f [5]rawjson.Span
	s := rawjson.New(data)
	if s.Object(answerKeys[:], f[:]).IsZero() {
		return
	}
	r := &m.Read
	rawjson.Said(data, f[2], &r.Model)
	for first := range rawjson.Elements(data, f[0]) {
		rawjson.Said(data, rawjson.Member(data, first, "finishReason"), &r.StopReason)
		break
	}
	rawjson.Said(data, rawjson.Member(data, f[4], "blockReason"), &r.StopReason)
	if at := f[1]; at.KindOf(data) == '{' {
		u, err := GenerateContent{}.UsageOf(at.Of(data))
		r.Count(u, err == nil && (!u.IsZero() || !r.Counted), UnknownUsage(at.Of(data)))
	}
}
