package openai

import (
	"bytes"

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

var chunkKeys = [5]string{"model", "choices", "usage", "x_groq", "service_tier"}
var choiceKeys = [2]string{"finish_reason", "usage"}

// chat reads a chunk of a stream or a whole completion, which have the same members. Usage is in the last chunk, if the request asked for it;
// of some servers in the last choice, or in a member of their own.
func (m *meter) chat(_, data []byte) {
	var at [5]rawjson.Span
	s := rawjson.New(data)
	if s.Object(chunkKeys[:], at[:]).IsZero() { // for example [DONE]
		return
	}
	if m.Reading.Model == "" {
		rawjson.Said(data, at[0], &m.Reading.Model)
	}
	m.count(data, at[2])
	m.tier(data, at[4])
	if at[3].KindOf(data) == '{' {
		var in [5]rawjson.Span
		s = rawjson.At(data, at[3])
		s.Object(chunkKeys[:], in[:])
		m.count(data, in[2])
	}
	if at[1].KindOf(data) != '[' {
		return
	}
	s = rawjson.At(data, at[1])
	if s.Enter('['); s.Next() && s.Kind() == '{' {
		var first [2]rawjson.Span
		s.Object(choiceKeys[:], first[:])
		m.count(data, first[1])
		rawjson.Said(data, first[0], &m.Reading.StopReason)
	}
}

var eventKeys = [11]string{
	"type", "response", "object", "model", "status", "usage", "incomplete_details", "prompt_cache_diagnostics", "service_tier", "output", "tool_usage",
}
var detailKeys = [1]string{"reason"}

// response reads a whole response, or an event that contains a response object.
func (m *meter) response(name, data []byte) {
	if bytes.HasPrefix(name, []byte("response.")) && bytes.Count(name, []byte(".")) > 1 {
		return // deltas and items
	}
	var at [11]rawjson.Span
	s := rawjson.New(data)
	if s.Object(eventKeys[:], at[:]).IsZero() {
		return
	}
	if at[1].KindOf(data) == '{' {
		data = at[1].Of(data)
		at = [11]rawjson.Span{}
		s = rawjson.New(data)
		s.Object(eventKeys[:], at[:])
	} else if bytes.HasPrefix(rawjson.Word(data, at[0]), []byte("response.")) {
		return // of a delta or an item
	}
	rawjson.Said(data, at[3], &m.Reading.Model)
	rawjson.Said(data, at[4], &m.Reading.StopReason)
	m.count(data, at[5])
	m.tier(data, at[8])
	m.searched(data, at[9], at[10])
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

// tier reads the tier that the provider answered with.
func (m *meter) tier(data []byte, at rawjson.Span) {
	if at.KindOf(data) == '"' {
		m.Reading.Usage.Tier = llm.Unusual(rawjson.Word(data, at))
	}
}

var searchKeys = [5]string{"type", "action", "web_search", "num_requests", "query"}

// searched counts the searches in the output of a response: the calls that searched, and did not only open a page. Newer answers
// also have their number.
func (m *meter) searched(data []byte, output, tools rawjson.Span) {
	n := 0
	if output.KindOf(data) == '[' {
		s := rawjson.At(data, output)
		for s.Enter('['); s.Next(); {
			var item, action [5]rawjson.Span
			if s.Kind() != '{' {
				s.Skip()
				continue
			}
			s.Object(searchKeys[:], item[:])
			if !rawjson.Is(data, item[0], "web_search_call") {
				continue
			}
			if item[1].KindOf(data) == '{' {
				in := rawjson.At(data, item[1])
				in.Object(searchKeys[:], action[:])
			}
			if action[0].IsZero() || rawjson.Is(data, action[0], "search") {
				n++
			}
		}
	}
	if tools.KindOf(data) == '{' {
		var in, number [5]rawjson.Span
		s := rawjson.At(data, tools)
		if s.Object(searchKeys[:], in[:]); in[2].KindOf(data) == '{' {
			s = rawjson.At(data, in[2])
			s.Object(searchKeys[:], number[:])
			_ = rawjson.Most(data, number[3], &n) // another value counts nothing
		}
	}
	m.Reading.Usage.WebSearches = max(m.Reading.Usage.WebSearches, n)
}

// count reads a usage object. The last one that counts something is kept.
func (m *meter) count(data []byte, at rawjson.Span) {
	if at.KindOf(data) != '{' {
		return
	}
	r := &m.Reading
	r.Unknown = llm.Also(r.Unknown, UnknownUsage(at.Of(data)))
	if u, err := usageOf(at.Of(data)); err == nil && (!u.IsZero() || !r.Counted) {
		u.Tier, u.WebSearches = r.Usage.Tier, max(u.WebSearches, r.Usage.WebSearches)
		r.Usage, r.Counted = u, true
	}
}
