package proxy

import (
	"slices"
	"time"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
)

// judgement is what is known of a request's conversation before it goes out.
type judgement struct {
	breaks   []history.Point // the moments so far, that of this request included
	moved    []history.Point // of these, what no earlier request of its line had where it stands
	checks   bool            // the conversation was sent to a provider that checks what stands before thinking
	bound    bool            // and there is thinking in it: nothing that was sent may change
	went     *known          // that it goes on from, in any line; nil: none
	stays    *history.Point  // of the breaks, what begins with this request and says what stays whole; nil: none does
	renews   bool            // they are not those that the turn it goes on from was planned with
	moment   history.Cause   // what makes this request one; empty: nothing, or it was one already
	gap      time.Duration   // as record.Cache
	idle     time.Duration   // since the last answer to its line in the conversation
	lifetime time.Duration
	asks     time.Duration // its own markers' lifetime, or the provider's
	costly   bool          // planning at moments has cost this conversation more than it saved
	renewed  renewal
	certain  bool          // the cache is cold, whatever the answer shows
	vouched  bool          // the provider keeps to the lifetime
	past     time.Duration // thread.cooled before it

	thread *thread
	last   time.Time // thread.last before it
	newest *sent     // thread.sent before it
	line   line
	view   *view  // of its line before it; nil: there was none
	before *sent  // view.sent, or else newest
	known  *known // as it is remembered, from when it goes out
	was    *known // what was remembered in its place before; nil: nothing
	sent   sent
	salt   uint64 // of its links
	end    uint64 // where it is remembered
	since  change // what of before is sent again
}

// sent is a request as it went out.
type sent struct {
	time          time.Time // of the answer; until it is there, of the request
	model         string
	tools, system uint64
	line          line
	breaks        []history.Point   // counted from behind the leading system text
	left          []history.PartRef // by moments
	skip, stable  int               // as the chain's
	links         []uint64
	edits         []llm.Edit // the texts are hashed, not kept
	hashes        []uint64   // of the edits' texts
	marks         []llm.Breakpoint
	prompt        int // tokens, as the provider counted; 0: it did not. Belongs to the memory's lock
}

// withoutTools sets requests that offer no tools (titles, summaries) apart from
// those of the conversation they are about, whose first messages they share.
const withoutTools = 0x5f356495

// unchanged sets requests apart that were only observed, or sent under the policy that
// changes nothing: what is sent later of these conversations must be known to be new.
const unchanged = 0x6a09e667f3bcc908

// saltOf is what the hashes of a request's messages are remembered with.
func (m *memory) saltOf(req *llm.Request) uint64 {
	if len(req.Tools) == 0 {
		return m.salt ^ withoutTools
	}
	return m.salt
}

// judge finds out whether the provider's cache still holds the conversation.
func (p *Proxy) judge(x *exchange, d *reading) cause {
	req, c, salt := d.request, d.chain, p.memory.saltOf(d.request)
	j := &judgement{salt: salt, vouched: p.asksLifetime(x, req), sent: sent{
		time: x.row.Time, model: x.row.Model, tools: toolsHash(req), system: c.system, skip: c.skip, stable: c.stable, links: c.links,
		marks: req.Caching.Breakpoints,
	}}
	j.end = c.end() ^ salt
	j.checks = p.rules.of(apiOf(x), x.row.Model).checks
	p.memory.judge(j, d, x.row.Time, p.lifetimeOf(x, req), x.conversation)
	j.certain = j.moment == history.Compaction || j.ends(j.idle)
	if j.moment == history.Gap && !j.certain && !j.cooled(j.idle) {
		j.moment = ""
	}
	if !p.elides() || j.costly || j.bound || !c.told() {
		j.moment = ""
	}
	if j.moment != "" {
		if j.ending(&c) {
			j.breaks = j.breaks[:len(j.breaks)-1]
		}
		j.breaks = append(j.breaks, history.Point{After: c.skip + c.stable, Why: j.moment})
	}
	d.judgement = j
	return planned
}

// judge finds the thread that a request goes on, and what has changed in it.
func (m *memory) judge(j *judgement, d *reading, now time.Time, asked time.Duration, v *conversation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	from := m.trail(&d.chain, j.salt, j.sent.model)
	m.goesOn(j, from, d, now, asked, v)
	if m.bind(j, from, d); j.bound {
		m.freeze(j, d)
	}
}

// goesOn finds the thread that a request goes on, its moments and whether it is one. The
// caller holds the lock.
func (m *memory) goesOn(j *judgement, from trail, d *reading, now time.Time, asked time.Duration, v *conversation) {
	c := &d.chain
	j.asks, j.lifetime, j.line = asked, asked, line{j.sent.model, j.sent.tools, j.sent.system}
	switch {
	case from.any != nil:
		j.thread = from.any.thread
	case v != nil && v.thread != nil && c.told() && j.sent.shares(v.thread.sent) > c.answer:
		j.thread = v.thread // it goes back to where no request ended
	case v != nil && v.thread != nil && c.told():
		// The agent goes by the same name and has begun anew, with something of
		// what was before: that is a compaction.
		j.thread = &thread{account: v.thread.account, lifetime: v.thread.lifetime, survives: v.thread.survives}
		j.moment = history.Compaction
		return
	default:
		met := m.met(j.line, d)
		if len(met) == 0 || !c.told() {
			j.thread = new(thread)
			return
		}
		j.thread = met[0].thread // likewise, in another process
	}
	t := j.thread
	j.last, j.newest, j.before, j.costly, j.past = t.last, t.sent, t.sent, t.account < 0, t.cooled
	j.gap = max(0, now.Sub(t.last))
	j.line, j.renewed = j.lineOf(from)
	j.view = t.views[j.line]
	if j.view == nil { // of an earlier process, which another line went on from
		if k, _ := m.longest(c, j.salt, j.line); k != nil {
			j.view = k.thread.views[j.line]
		}
	}
	if j.view != nil {
		j.idle = max(0, now.Sub(j.view.last))
		j.lifetime = max(asked, t.lifetime, j.view.lifetime)
		if j.view.sent != nil {
			j.before = j.view.sent
		}
	}
	m.inherit(j, from, d, now)
	switch {
	case j.ending(c) && j.breaks[len(j.breaks)-1].Omitted == nil && !slices.Contains(j.moved, j.breaks[len(j.breaks)-1]): // it is one already
	case j.view == nil && j.renewed != renewal{}:
		j.moment = history.Tools
	case j.view == nil, j.idle > j.lifetime && from.any != nil && from.any.Model != j.sent.model:
		j.moment = history.Model
	case j.idle > j.lifetime:
		j.moment = history.Gap
	}
}

// ending reports whether the last of the moments stands at the end of what comes again.
func (j *judgement) ending(c *chain) bool {
	n := len(j.breaks)
	return n > 0 && j.breaks[n-1].After == c.skip+c.stable
}

// ends reports whether the cache is certain not to outlive a pause.
func (j *judgement) ends(pause time.Duration) bool {
	return pause > j.lifetime && (j.vouched || pause > time.Hour)
}

// cooled reports whether the cache was seen not to outlive a pause like this one.
// Providers that keep what they please may keep it for much longer than they say.
func (j *judgement) cooled(pause time.Duration) bool { return j.past > 0 && pause >= j.past }

// gone reports whether the cache is taken not to outlive a pause.
func (j *judgement) gone(pause time.Duration) bool {
	return j.ends(pause) || pause > j.lifetime && j.cooled(pause)
}

// keeps is how long the cache lives that a request leaves.
func (j *judgement) keeps() time.Duration {
	lives := j.asks
	if j.idle <= j.lifetime { // what it reads lives as long as before
		lives = max(lives, j.lifetime)
	}
	return lives
}

// depart remembers a request that goes out, before it is answered: one that goes
// on from it may come sooner than its account is written.
func (m *memory) depart(j *judgement, x *exchange) {
	row := &x.row
	row.Cache = record.Cache{Gap: j.gap, Lifetime: j.lifetime, Moment: string(j.moment)}
	turn := record.Turn{
		Prefix: j.end ^ j.line.hash(), Conversation: row.Conversation, Time: row.Time, Moment: row.Cache.Moment,
		Model: j.line.model, System: j.line.system, Tools: j.line.tools, Lifetime: j.keeps(),
	}
	j.sent.line = j.line
	for _, b := range j.breaks {
		j.sent.breaks = append(j.sent.breaks, shifted(b, -j.sent.skip))
	}
	if j.stays != nil {
		turn.Moment, turn.From = string(j.stays.Why), j.stays.From-j.sent.skip
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	t := j.thread
	if t.id == 0 {
		t.id = turn.Prefix
	}
	turn.Thread = t.id
	t.last, t.sent = row.Time, &j.sent
	t.see(j.line, t.views[j.line].after(&j.sent, turn.Lifetime))
	if j.moment != "" || len(j.moved) > 0 || j.renews {
		turn.Elided = j.sent.elided()
	}
	if j.was = m.turn(j.end, j.line); j.was != nil && j.was.Moment != "" {
		turn.Moment, turn.From = j.was.Moment, j.was.From
	}
	if j.was != nil && turn.Elided == nil {
		turn.Elided = j.was.Elided
	}
	j.known = &known{Turn: turn, thread: t, asked: line{j.sent.model, j.sent.tools, j.sent.system}, breaks: j.sent.breaks}
	if len(j.sent.links) > 0 {
		m.put(j.end, j.known)
	}
	if x.conversation != nil {
		x.conversation.thread = t
	}
	x.judgement = j
	if m.count > 4*maxTurns {
		m.forget()
	}
}

// recede forgets a request that was not answered. The caller holds the lock.
func (m *memory) recede(j *judgement) {
	if m.turn(j.end, j.line) == j.known {
		m.drop(j.end, j.line)
		if j.was != nil {
			m.put(j.end, j.was)
		}
	}
	t := j.thread
	if v := t.views[j.line]; v != nil && v.sent == &j.sent { // nobody else came
		delete(t.views, j.line)
		if j.view != nil {
			t.views[j.line] = j.view
		}
	}
	if t.sent == &j.sent {
		t.last, t.sent = j.last, j.newest
	}
}

// elides reports whether the policy plans anew at moments.
func (p *Proxy) elides() bool {
	switch p.policy {
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
			asked = max(asked, p.rules.of(x.api, "").Lifetime)
		}
	}
	if asked > 0 {
		return asked
	}
	return p.rules.of(x.api, x.row.Model).Lifetime
}

// asksLifetime reports whether a request names, by its markers, how long the prompt
// is kept, to a provider that keeps to it.
func (p *Proxy) asksLifetime(x *exchange, req *llm.Request) bool {
	return x.api == record.Messages && len(req.Caching.Breakpoints) > 0 && p.rules.of(x.api, x.row.Model).provider == "anthropic"
}
