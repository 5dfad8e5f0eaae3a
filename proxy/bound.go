package proxy

import (
	"slices"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
)

// shifted is a break whose places are counted with so many more messages before them.
func shifted(b history.Point, by int) history.Point {
	b.After += by
	if b.Why.Binds() {
		b.From += by
	}
	return b
}

// bind finds out whether the provider checks that nothing stands otherwise before the
// thinking of a request than when it was made. A conversation that was once sent to a
// model that checks stays one of these. The caller holds the lock.
func (m *memory) bind(j *judgement, from trail, d *reading) {
	j.went = from.any
	if d.api != record.Messages { // of the others no check is documented
		return
	}
	for i := 0; i < len(d.chain.links) && !j.checks; i++ {
		j.checks = slices.ContainsFunc(m.turns[d.chain.links[i]^j.salt], func(k *known) bool { return m.rules.of(d.api, k.Model).checks })
	}
	// A client may leave its thinking out of some requests, and send it again later.
	j.bound = j.checks && (firstThought(d.request) >= 0 || slices.ContainsFunc(m.planned(from.any, &d.chain, j.salt), keeps))
}

// firstThought is the first message with thinking; -1: there is none.
func firstThought(req *llm.Request) int {
	return slices.IndexFunc(req.Messages, func(m llm.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return p.Kind == llm.Thinking })
	})
}

func keeps(b history.Point) bool { return b.Why.Binds() }

// freeze gives a request the breaks that the one it goes on from was sent with, whatever
// its line, and no others. Messages that the model answered on another way stay whole:
// the thinking behind them was made with nothing left out. The caller holds the lock.
func (m *memory) freeze(j *judgement, d *reading) {
	c, k := &d.chain, j.went
	breaks := m.planned(k, c, j.salt)
	if k != nil && k.stored && slices.ContainsFunc(breaks, func(b history.Point) bool { return !b.Why.Binds() }) {
		_, common := m.longest(c, j.salt, k.line())
		breaks, _ = m.recalled(k.line(), breaks, common, d, false)
	}
	j.breaks, j.moved, j.renews = nil, nil, k == nil || k.stored
	for _, b := range breaks {
		b = shifted(b, c.skip)
		if j.breaks = append(j.breaks, b); k.line() != j.line {
			j.moved = append(j.moved, b)
		}
	}
	if from, to := m.elsewhere(c, d.request, j.salt); from < to {
		j.stay(history.Point{After: c.skip + to, Why: history.Elsewhere, From: c.skip + from})
	} else if first := firstThought(d.request); first >= 0 && !slices.ContainsFunc(j.breaks, keeps) && !j.ending(c) {
		j.stay(history.Point{After: c.skip + c.stable, Why: history.Thinking, From: first})
	}
}

// stay adds what begins to stay whole with a request.
func (j *judgement) stay(b history.Point) {
	j.breaks = append(slices.Clip(j.breaks), b)
	j.stays = &b
}

// elsewhere returns the messages behind the last known turn whose answers belong to
// requests that are not known: from is the first, to stands behind the last, both counted
// from behind the leading system text. If from is not less than to, there are none. The
// first answer behind a known turn is the answer to that turn. The caller holds the lock.
func (m *memory) elsewhere(c *chain, req *llm.Request, salt uint64) (from, to int) {
	said := func(i int) bool { return req.Messages[c.skip+i].Role == llm.Assistant }
	for from = c.stable; from > 0 && len(m.turns[c.links[from-1]^salt]) == 0; {
		from--
	}
	if from == 0 {
		return 0, c.stable
	}
	for from < c.stable && !said(from) {
		from++
	}
	for from < c.stable && said(from) {
		from++
	}
	return from, c.stable
}

// hold makes the new messages of a request stay whole, while the older ones are sent as they
// were sent before. It is for a request that would pass untouched: then results would change
// that stand before thinking and were sent shortened. It reports whether the request can be
// sent so.
func (j *judgement) hold(c *chain) bool {
	if j == nil || !j.checks || j.went == nil || j.stays != nil && j.stays.Why == history.Managed {
		return false
	}
	b := history.Point{After: c.skip + c.stable, Why: history.Managed, From: c.skip + c.stable}
	if !j.bound { // all of it goes as it is, and the thinking to come is made behind that
		b.From, j.breaks, j.moved, j.moment, j.renews = c.skip, nil, nil, "", true
	}
	if n := len(j.breaks) - 1; n >= 0 && j.breaks[n].After == b.After {
		if !j.breaks[n].Why.Binds() {
			return true // a turn has one moment
		}
		if j.breaks[n].Why != history.Thinking {
			b.From = j.breaks[n].From
		}
		j.breaks = j.breaks[:n]
	}
	j.stay(b)
	return true
}
