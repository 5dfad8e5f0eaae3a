package cachestate

import (
	"slices"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
)

// Some providers check thinking: a request is refused where something before a thinking block is not
// as it was when the block was made. Such a request is bound: it is judged as the one that it goes on from, so that it is
// planned alike, and there are no more cold points. How it was sent is known by package sentform.

// Checks reports whether the conversation of a request was sent to a provider that checks
// thinking. That stays so whatever models come later.
func (s *State) Checks(r *Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	checks, salt := s.config.Checks(r.API, r.Key.Model), s.salt(r.Decoded)
	if r.API != record.Messages { // of other APIs no check is documented
		return checks
	}
	for i := 0; i < len(r.Chain.Links) && !checks; i++ {
		checks = slices.ContainsFunc(s.turns[r.Chain.Links[i]^salt], func(t *turn) bool { return s.config.Checks(r.API, t.Model) })
	}
	return checks
}

// FirstThinking is the first message with thinking; -1: there is none.
func FirstThinking(req *llm.Request) int {
	return slices.IndexFunc(req.Messages, func(m llm.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return p.Kind == llm.Thinking })
	})
}

// frozen gives a bound request the points that the one it goes on from was sent with, of whatever cache
// key, and no others. Messages that the model answered without stet stay whole: the thinking
// behind them was made with nothing left out. The caller holds the lock.
func (s *State) frozen(v Verdict, r *Request) Verdict {
	c, t := r.Chain, v.at.from
	points := s.pointsOf(r, t)
	if t != nil && t.stored && slices.ContainsFunc(points, func(p history.Point) bool { return !binds(p) }) {
		_, common := s.longest(r, t.key())
		points, _ = s.completed(r, t.key(), points, common, false)
	}
	v.Points, v.Moved, v.Replans = shiftAll(points, c.Skip), nil, t == nil || t.stored
	if t != nil && t.key() != v.at.key {
		v.Moved = slices.Clone(v.Points)
	}
	if from, to := s.elsewhere(r); from < to {
		return v.begin(history.Point{After: c.Skip + to, Why: history.Elsewhere, From: c.Skip + from})
	}
	if first := FirstThinking(r.Decoded); first >= 0 && !slices.ContainsFunc(v.Points, binds) && !v.endsIn(r) {
		return v.begin(history.Point{After: c.Skip + c.Stable, Why: history.Thinking, From: first})
	}
	return v
}

// elsewhere finds the messages behind the last known turn whose answers belong to requests that
// are not known. from is the first, to stands behind the last; both are counted from behind the leading
// system text. If from is not less than to, there are none. The first answer behind a known turn is the
// answer to that turn. The caller holds the lock.
func (s *State) elsewhere(r *Request) (from, to int) {
	c, salt := r.Chain, s.salt(r.Decoded)
	said := func(i int) bool { return r.Decoded.Messages[c.Skip+i].Role == llm.Assistant }
	for from = c.Stable; from > 0 && len(s.turns[c.Links[from-1]^salt]) == 0; {
		from--
	}
	if from == 0 {
		return 0, c.Stable
	}
	for from < c.Stable && !said(from) {
		from++
	}
	for from < c.Stable && said(from) {
		from++
	}
	return from, c.Stable
}
