package proxy

import (
	"time"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/record"
)

// settle takes in what the answer has shown of the cache, and returns what is to
// be remembered of the request; nothing, if it was not answered.
func (p *Proxy) settle(x *exchange) []record.Turn {
	j, row, m := x.judgement, &x.row, p.memory
	if j == nil {
		return nil
	}
	row.Cache.Broke, row.Cache.BrokeAt = j.broke()
	m.mu.Lock()
	defer m.mu.Unlock()
	if row.Status < 200 || row.Status >= 300 {
		m.recede(j)
		return nil
	}
	m.charge(x, j)
	j.thread.answered(j.line, time.Now())
	j.known.Time, j.known.Account = j.thread.last, j.thread.account
	if len(j.sent.links) == 0 {
		return nil
	}
	return append(j.elsewhere(), j.known.Turn)
}

// elsewhere are the turns by which another process finds the moments that this
// request did not find where they stand.
func (j *judgement) elsewhere() (turns []record.Turn) {
	for _, b := range j.moved {
		turn := j.known.Turn
		turn.Prefix = j.sent.links[b.After-j.sent.skip-1] ^ j.salt ^ j.line.hash()
		turn.Moment, turn.From = string(b.Why), 0
		if b.Why.Binds() {
			turn.From = b.From - j.sent.skip
		}
		turns = append(turns, turn)
	}
	return turns
}

// broke is what of the request before is not what it was. Of one in an earlier
// process only tools and system text are known.
func (j *judgement) broke() (what string, at int) {
	switch {
	case j.before != nil:
		return j.since.what, j.since.at
	case j.renewed.tools:
		return record.BrokeTools, 0
	case j.renewed.system:
		return record.BrokeSystem, 0
	}
	return "", 0
}

// charge keeps the thread's account by what the provider counted; none of it is the
// engine's own (see history.State.Answered). What is not
// seen is taken for the worse. The caller holds the lock.
func (m *memory) charge(x *exchange, j *judgement) {
	u, t, s := x.row.Usage, j.thread, x.sizes
	if u.Prompt() == 0 {
		return
	}
	rule := m.rules.of(x.api, x.row.Model)
	price := history.Price{Read: rule.Read, Write: rule.Write}
	again, uncached := s.rewritten(u, j.since.findable), false
	switch seen := s.seen(u, j.whole(), rule.MinTokens, j.since.findable); {
	case seen == alive:
		x.row.Cache.Alive = j.moment != ""
		t.survives.tools = t.survives.tools || j.renewed.tools
		t.survives.system = t.survives.system || j.renewed.system
		if j.idle > j.lifetime {
			t.lifetime = max(t.lifetime, j.idle)
		}
	case seen == cold, j.gone(j.idle), j.certain:
		if j.idle > j.lifetime && !j.certain && (t.cooled == 0 || j.idle < t.cooled) {
			t.cooled = j.idle
		}
		again, uncached = 0, j.moment != ""
	}
	elided := 0
	for _, trim := range x.trims {
		if trim.Reason.Evicts() {
			elided += trim.Before - trim.After
		}
	}
	scale := min(s.scale(u), 10./36)
	t.account += int(price.Saves(float64(elided)*scale, 0, uncached) - price.Wastes(again))
	j.sent.prompt = u.Prompt()
}

// whole is the prompt before, as the provider counted, where all of it was sent
// again; else 0. The caller holds the memory's lock.
func (j *judgement) whole() int {
	if b := j.before; b != nil && j.since.what == "" && j.since.kept == b.skip+len(b.links) {
		return b.prompt
	}
	return 0
}
