package proxy

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/prices"
	"github.com/stet-dev/stet/record"
)

// surcharge is what a token costs more, in plain input tokens, that is written to
// the cache for an hour.
func surcharge(rule prices.Rule) float64 {
	hour, _ := prices.RuleNamed(prices.Anthropic1h) // it is there
	return hour.Write - rule.Write
}

// lengthens reports whether the markers of a request are to ask for an hour:
// where the conversation has gaps that an hour would have bridged, and these
// have cost more than an hour's higher price would have. It changes at a gap,
// when all is written anew in any case, and then stays.
func (m *memory) lengthens(j *judgement, req *llm.Request) bool {
	if len(req.Caching.Breakpoints) == 0 || req.Caching.Lifetime > 5*time.Minute {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	t := j.thread
	j.bridged = t.bridged
	if t.longer || j.idle <= 5*time.Minute || j.idle > time.Hour {
		return t.longer
	}
	rule := m.rules.of(record.Messages, j.sent.model)
	j.bridged += (rule.Write - rule.Read) * float64(t.prompt)
	return j.bridged > t.surplus+surcharge(rule.Rule)*float64(t.prompt)
}

// hourly returns the edits that make all markers of a request ask for an hour;
// none if there is a marker that is not understood, since those for an hour must
// stand before all others.
func hourly(body []byte, req *llm.Request) []llm.Edit {
	marks := req.Caching.Breakpoints
	if bytes.Count(body, []byte(`"cache_control"`)) != len(marks) {
		return nil
	}
	var edits []llm.Edit
	for i, b := range marks {
		var m struct{ Type, TTL *string }
		d := json.NewDecoder(bytes.NewReader(body[b.Span.Start:b.Span.End]))
		d.DisallowUnknownFields()
		if d.Decode(&m) != nil || m.Type == nil || *m.Type != "ephemeral" {
			return nil
		}
		edits = append(edits, llm.Edit{Message: llm.OfCaching, Part: i, Text: `{"type":"ephemeral","ttl":"1h"}`})
	}
	return edits
}
