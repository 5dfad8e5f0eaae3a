package proxy

import (
	"time"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
)

// judgement is what is known of a request's conversation before it goes out.
type judgement struct {
	breaks   []history.Break // the moments so far, that of this request included
	moment   history.Moment  // what makes this request one; empty: nothing, or it was one already
	gap      time.Duration   // as record.Cache
	lifetime time.Duration
	hour     []llm.Edit // that make its markers ask for an hour; nil: they stay
	bridged  float64    // thread.bridged after it
	costly   bool       // planning at moments has cost this conversation more than it saved

	thread *thread
	last   time.Time // thread.last before it
	before *sent     // thread.sent before it
	known  *known    // as it is remembered, from when it goes out
	was    *known    // what was remembered under its key before; nil: nothing
	sent   sent
	key    uint64 // record.Turn.Prefix
}

// sent is a request as it went out.
type sent struct {
	model         string
	tools, system uint64
	skip          int
	links         []uint64
	edits         []llm.Edit // the texts are hashed, not kept
	hashes        []uint64   // of the edits' texts
	marks         []llm.Breakpoint
	estimate      int // tokens before any edit
}

// withoutTools sets requests that offer no tools (titles, summaries) apart from
// those of the conversation they are about, whose first messages they share.
const withoutTools = 0x5f356495

// judge finds out whether the provider's cache still holds the conversation.
func (p *Proxy) judge(x *exchange, d *reading) cause {
	p.memory.recall()
	req, c := d.request, d.chain
	salt := uint64(0)
	if len(req.Tools) == 0 {
		salt = withoutTools
	}
	j := &judgement{sent: sent{
		model: x.row.Model, tools: toolsHash(req), system: c.system, skip: c.skip, links: c.links, marks: req.Caching.Breakpoints,
	}}
	j.key = c.last() ^ salt
	j.breaks = p.memory.breaks(&c, salt)
	p.memory.judge(j, &c, salt, x.row.Time, p.lifetimeOf(x, req), x.conversation)
	if !p.elides() || j.costly {
		j.moment = ""
	}
	if j.moment != "" {
		j.breaks = append(j.breaks, history.Break{After: len(req.Messages), Why: j.moment})
	}
	if p.config.LongerCache && !p.config.Observe && p.memory.lengthens(j, req) {
		if j.hour = hourly(x.body.head, req); len(j.hour) > 0 {
			j.lifetime = max(j.lifetime, time.Hour)
		}
	}
	d.judgement = j
	return planned
}

// judge finds the thread that c goes on, and what has changed in it.
func (m *memory) judge(j *judgement, c *chain, salt uint64, now time.Time, asked time.Duration, v *conversation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before, n := m.longest(c, salt)
	j.lifetime = asked
	switch {
	case before != nil:
		j.thread = before.thread
		j.lifetime = max(j.lifetime, before.Lifetime, j.thread.lifetime)
	case v != nil && v.thread != nil && c.answer < len(c.links):
		// The agent goes by the same name and has begun anew, with something of
		// what was before: that is a compaction.
		j.thread = &thread{account: v.thread.account, lifetime: v.thread.lifetime, longer: v.thread.longer}
		j.moment = history.Compaction
		return
	default:
		j.thread = new(thread)
		return
	}
	j.last, j.before, j.costly = j.thread.last, j.thread.sent, j.thread.account < 0
	j.gap = max(0, now.Sub(j.last))
	switch again := n == len(c.links) && before.Moment != ""; {
	case again:
	case before.Model != j.sent.model:
		j.moment = history.Model
	case before.Tools != j.sent.tools, before.System != j.sent.system:
		j.moment = history.Tools
	case j.gap > j.lifetime:
		j.moment = history.Gap
	}
}

// depart remembers a request that goes out, before it is answered: one that goes
// on from it may come sooner than its account is written.
func (m *memory) depart(j *judgement, x *exchange) {
	row := &x.row
	row.Cache = record.Cache{Gap: j.gap, Lifetime: j.lifetime, Moment: string(j.moment), Longer: len(j.hour) > 0}
	turn := record.Turn{
		Prefix: j.key, Time: row.Time, Moment: row.Cache.Moment, Model: j.sent.model, System: j.sent.system, Tools: j.sent.tools,
		Lifetime: j.lifetime, Longer: row.Cache.Longer,
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	t := j.thread
	t.last, t.bridged, t.longer, t.sent = row.Time, j.bridged, turn.Longer, &j.sent
	if j.was = m.turns[j.key]; j.was != nil && j.was.Moment != "" {
		turn.Moment = j.was.Moment
	}
	j.known = &known{turn, t}
	if len(j.sent.links) > 0 {
		m.turns[j.key] = j.known
	}
	if x.conversation != nil {
		x.conversation.thread = t
	}
	x.judgement = j
	if len(m.turns) > 4*maxTurns {
		m.forget()
	}
}

// recede forgets a request that was not answered. The caller holds the lock.
func (m *memory) recede(j *judgement) {
	if m.turns[j.key] == j.known {
		delete(m.turns, j.key)
		if j.was != nil {
			m.turns[j.key] = j.was
		}
	}
	if t := j.thread; t.sent == &j.sent { // nobody else came
		t.last, t.sent = j.last, j.before
	}
}

// elides reports whether the policy plans anew at moments.
func (p *Proxy) elides() bool {
	switch p.engine.Policy() {
	case history.Lossless, history.Adaptive, history.Bold:
		return true
	}
	return false
}

// lifetimeOf is how long the provider keeps the prompt cached: as long as the
// request asks, or as the provider does when it is not asked.
func (p *Proxy) lifetimeOf(x *exchange, req *llm.Request) time.Duration {
	asked := req.Caching.Lifetime
	for _, b := range req.Caching.Breakpoints {
		if b.Lifetime == 0 {
			asked = max(asked, p.memory.rules.of(x.api, "").Lifetime)
		}
	}
	if asked > 0 {
		return asked
	}
	return p.memory.rules.of(x.api, x.row.Model).Lifetime
}
