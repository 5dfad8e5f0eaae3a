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
	var rewritten bool
	row.Cache.Broke, row.Cache.BrokeAt, rewritten = j.sent.broke(j.before)
	m.mu.Lock()
	defer m.mu.Unlock()
	if row.Status < 200 || row.Status >= 300 {
		m.recede(j)
		return nil
	}
	j.sent.estimate = row.TokensOff
	m.charge(x, j, rewritten)
	j.thread.last = time.Now()
	j.known.Time, j.known.Account = j.thread.last, j.thread.account
	if len(j.sent.links) == 0 {
		return nil
	}
	return []record.Turn{j.known.Turn}
}

// charge keeps the thread's account by what the provider counted. The caller
// holds the lock.
func (m *memory) charge(x *exchange, j *judgement, rewritten bool) {
	u, t := x.row.Usage, j.thread
	if u.Prompt() == 0 {
		return
	}
	rule := m.rules.of(x.api, x.row.Model)
	elided := 0
	for _, trim := range x.trims {
		if byMoment(trim.Reason) {
			elided += (trim.Before - trim.After) * 10 / 36
		}
	}
	price := rule.Read
	if j.moment != "" {
		price = rule.Write
		// Tools and system text may be in the cache because of others. What is
		// read beyond them shows that the conversation was.
		if u.CacheRead > x.preamble/3+1024 {
			x.row.Cache.Alive = true
			price = rule.Read
			if j.moment == history.Gap {
				t.lifetime = max(t.lifetime, j.gap)
			}
			if rewritten {
				tail := max(0, x.row.TokensOff-j.before.estimate)
				t.account -= int((rule.Write - rule.Read) * float64(max(0, u.Prompt()-u.CacheRead-tail)))
			}
		}
	}
	t.account += int(price * float64(elided))
	t.surplus += surcharge(rule) * float64(u.CacheWrite)
	t.prompt = u.Prompt()
}

// byMoment reports whether a result was shortened after it had been sent whole.
func byMoment(r history.Reason) bool {
	switch r {
	case history.Replaced, history.Command, history.Arguments, history.Idle:
		return true
	}
	return false
}
