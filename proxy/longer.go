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

// shortest is the lifetime that is made longer.
const shortest = 5 * time.Minute

// purse is what the hour may spend on a model in a conversation, in plain input
// tokens: what it has won there, and half of what leaving out has saved.
type purse struct {
	saved    float64 // at least, by what was left out
	won      float64 // at pauses that the hour bridged
	spent    float64 // on writing for an hour
	held     float64 // for requests that are not answered yet
	pauses   int     // that an hour would have bridged, or did
	lost     float64 // at those that it did not
	lengthen bool    // it is to be asked for, where there is enough in the purse
}

func (p *purse) has() float64 { return p.saved/2 + p.won - p.spent - p.held }

// purse is that of a model.
func (t *thread) purse(model string) *purse {
	if t.purses[model] == nil {
		if t.purses == nil || len(t.purses) >= maxViews {
			t.purses = map[string]*purse{}
		}
		t.purses[model] = new(purse)
	}
	return t.purses[model]
}

// lengthens reports whether the markers of a request are to ask for an hour, and sets
// aside what that costs at most. It begins at the second pause or later that an hour
// would have bridged, when all is written anew in any case, once these have cost more
// than it does; and it goes on after a longer one only where it has won that much.
func (m *memory) lengthens(j *judgement, d *reading) bool {
	if len(d.request.Caching.Breakpoints) == 0 || d.request.Caching.Lifetime > shortest {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	rule := m.rules.of(record.Messages, j.sent.model)
	p := j.thread.purse(j.sent.model)
	j.toll = surcharge(rule.Rule) * float64(j.writes(d))
	switch {
	case j.view == nil || j.idle <= j.lifetime:
	case j.idle > time.Hour:
		p.lengthen = p.lengthen && p.won-p.spent >= j.toll
	case !p.lengthen:
		lost := p.lost + (rule.Write-rule.Read)*float64(j.before.tokens())
		p.lengthen = p.pauses > 0 && lost > p.spent-p.won+j.toll && p.has() >= j.toll
	}
	return p.lengthen && p.has() >= j.toll
}

// writes is how many tokens of a request are written to the cache at most: one for
// every two bytes of what is new, and all that was sent before, unless that is sent again
// while the cache lives. The caller holds the memory's lock.
func (j *judgement) writes(d *reading) int {
	known, from := j.before.tokens(), 0
	if known > 0 {
		from = d.chain.skip + j.sent.shares(j.before)
	}
	size := 0
	for i := from; i < len(d.request.Messages); i++ {
		size += textSize(&d.request.Messages[i])
	}
	switch {
	case from == 0:
		size += toolsSize(d.request)
	case j.view != nil && j.idle <= j.lifetime && j.sent.shares(j.before) == len(j.before.links):
		known = 0
	}
	return known + size/2
}

// tokens is how many s had, as the provider counted; 0: it is not known. The caller
// holds the memory's lock.
func (s *sent) tokens() int {
	if s == nil {
		return 0
	}
	return s.prompt
}

// lengthened settles what an answer says of the hour, and returns what it has brought:
// all that was read after a pause that five minutes do not bridge, as far as nobody else
// can have kept it, less what was written for an hour. The caller holds the lock.
func (p *purse) lengthened(j *judgement, u record.Usage, rule prices.Rule, others float64) int {
	before := p.won - p.spent
	if paused := j.idle > j.plain && j.idle <= time.Hour; paused {
		p.pauses++
		if j.idle <= j.lifetime {
			p.won += (rule.Write - rule.Read) * max(0, float64(u.CacheRead)-others)
		}
		p.lost += (rule.Write - rule.Read) * float64(max(0, min(j.before.tokens(), u.Prompt())-u.CacheRead))
	}
	if len(j.hour) > 0 {
		p.spent += surcharge(rule) * float64(u.CacheWrite)
	}
	return int(p.won - p.spent - before)
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
