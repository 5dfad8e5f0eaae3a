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

// chat reads a chunk of a stream or a whole completion, which have the same members. Usage is in the last chunk, if the request asked for it;
// of some servers in the last choice, or in a member of their own.
func (m *meter) chat(_, data []byte) {
	var at [5]rawjson.Span
	s := rawjson.New(data)
	if s.Object(chunkKeys[:], at[:]).IsZero() { // for example [DONE]
		return
	}
	if m.Read.Model == "" {
		rawjson.Said(data, at[0], &m.Read.Model)
	}
	m.count(data, at[2])
	m.tier(data, at[4])
	m.count(data, rawjson.Member(data, at[3], "usage"))
	for first := range rawjson.Elements(data, at[1]) {
		m.count(data, rawjson.Member(data, first, "usage"))
		rawjson.Said(data, rawjson.Member(data, first, "finish_reason"), &m.Read.StopReason)
		break
	}
}

var eventKeys = [11]string{
	"type", "response", "object", "model", "status", "usage", "incomplete_details", "prompt_cache_diagnostics", "service_tier", "output", "tool_usage",
}

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
		response := at[1]
		at = [11]rawjson.Span{}
		rawjson.Members(data, response, eventKeys[:], at[:])
	} else if bytes.HasPrefix(rawjson.Word(data, at[0]), []byte("response.")) {
		return // of a delta or an item
	}
	rawjson.Said(data, at[3], &m.Read.Model)
	rawjson.Said(data, at[4], &m.Read.StopReason)
	m.count(data, at[5])
	m.tier(data, at[8])
	m.searched(data, at[9], at[10])
	rawjson.Said(data, rawjson.Member(data, at[7], "reason"), &m.Read.Missed) // there is none if the cache was hit
	rawjson.Said(data, rawjson.Member(data, at[6], "reason"), &m.Read.StopReason)
	if m.Read.StopReason == "in_progress" || m.Read.StopReason == "queued" {
		m.Read.StopReason = ""
	}
}

// tier reads the tier that the provider answered with.
func (m *meter) tier(data []byte, at rawjson.Span) {
	if at.KindOf(data) == '"' {
		m.Read.Usage.Tier = llm.Unusual(rawjson.Word(data, at))
	}
}

// searched counts the searches in the output of a response: the calls that searched, and did not only open a page. Newer answers
// also have their number.
func (m *meter) searched(data []byte, output, tools rawjson.Span) {
	n := 0
	for item := range rawjson.Elements(data, output) {
		action := rawjson.Member(data, rawjson.Member(data, item, "action"), "type")
		if rawjson.Is(data, rawjson.Member(data, item, "type"), "web_search_call") && (action.IsZero() || rawjson.Is(data, action, "search")) {
			n++
		}
	}
	number := rawjson.Member(data, rawjson.Member(data, tools, "web_search"), "num_requests")
	_ = rawjson.Most(data, number, &n) // another value counts nothing
	m.Read.Usage.WebSearches = max(m.Read.Usage.WebSearches, n)
}

// count reads a usage object. The last one that counts something is kept.
func (m *meter) count(data []byte, at rawjson.Span) {
	if at.KindOf(data) != '{' {
		return
	}
	r := &m.Read
	u, err := usageOf(at.Of(data))
	u.Tier, u.WebSearches = r.Usage.Tier, max(u.WebSearches, r.Usage.WebSearches)
	r.Count(u, err == nil && (!u.IsZero() || !r.Counted), UnknownUsage(at.Of(data)))
}
