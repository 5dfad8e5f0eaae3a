package replay

import (
	"time"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/prices"
)

// moment is a request before which a policy may plan anew, or the memory of
// one: where a context begins with the messages of an earlier request that was
// sent at a moment (a rewind, a fork), it is planned as that one was.
type moment struct {
	request int // index into recording.requests
	after   int // what was sent before Messages[after] may be planned anew
	why     history.Cause
}

// moments returns the moments of a session under a rule, in order. A request
// is sent at one if nothing in its model's cache holds anything that a plan could
// change: no call and no result of a tool. They depend on what was recorded
// alone, not on what a policy makes of it. Without a cache every request is one.
//
// A moment stands behind the last answer in the request, not behind what was
// asked then: what is taken back and asked in other words goes on from it too.
// Each model has moments of its own, since it has a cache of its own.
func (r *recording) moments(rule prices.Rule) []moment {
	m := momentum{
		recording: r, rule: rule, from: -1,
		used: make(map[uint64]time.Time), known: make(map[uint64]bool), sent: make(map[uint64]history.Cause),
	}
	for i := range r.requests {
		m.request(i)
	}
	return m.out
}

// momentum goes through the requests of a session and finds their moments.
type momentum struct {
	*recording
	rule prices.Rule
	out  []moment

	used  map[uint64]time.Time     // heads of contexts up to the first tool, by model: when last in use
	known map[uint64]bool          // such heads, whatever the model
	sent  map[uint64]history.Cause // moments, by the messages before them and the model

	// Of the context:
	from   int
	chain  []uint64       // chain[n] is the hash of Messages[from:from+n]
	head   uint64         // of the messages up to the first call or result; 0: there is none yet
	answer int            // one past the last answer; 0: there is none
	seen   map[uint64]int // by model: up to where the moments are told
}

func (m *momentum) request(i int) {
	q := &m.requests[i]
	begins := q.from != m.from
	if begins {
		m.from, m.chain, m.head, m.answer, m.seen = q.from, []uint64{0}, 0, 0, make(map[uint64]int)
	}
	m.extend(q.to)
	asked := m.seen[q.root]
	m.remembered(i, max(asked, q.from))
	m.seen[q.root] = q.to
	if m.head == 0 {
		return
	}
	key := join(m.head, q.root)
	at, ok := m.used[key]
	why := history.Gap
	switch {
	case !m.rule.Cached():
	case ok && alive(at, q.sent, m.rule.Lifetime):
		why = ""
	case ok:
	case m.known[m.head]:
		why = history.Model
	case !begins: // the first tool of the context has just been called
		why = ""
	case i == 0:
		why = history.Resume
	default:
		why = history.Compaction
	}
	if n := len(m.out); why != "" && m.answer > 0 && (n == 0 || m.out[n-1].request != i || m.out[n-1].after != m.answer) {
		m.out = append(m.out, moment{i, m.answer, why})
		m.sent[join(m.chain[m.answer-m.from], q.root)] = why
	}
	m.used[key], m.known[m.head] = later(later(at, q.sent), q.answered), true
}

// extend takes in the messages of the context up to end.
func (m *momentum) extend(end int) {
	for n := m.from + len(m.chain) - 1; n < end; n++ {
		last := m.chain[len(m.chain)-1]
		for b := m.first[n]; b < m.first[n+1]; b++ {
			last = join(last, m.blocks[b].hash)
			if k := m.parts[b].part.Kind; m.head == 0 && (k == llm.ToolCall || k == llm.ToolResult) {
				m.head = last
			}
		}
		m.chain = append(m.chain, last)
		if s := &m.session.Messages[n]; s.Role == llm.Assistant && !s.Local {
			m.answer = n + 1
		}
	}
}

// remembered tells the moments of earlier requests to the same model that
// request i goes on from, behind message asked.
func (m *momentum) remembered(i, asked int) {
	q := &m.requests[i]
	for n := asked + 1; n <= q.to; n++ {
		if m.chain[n-m.from] == m.chain[n-1-m.from] {
			continue // nothing of a local message is sent
		}
		if why, ok := m.sent[join(m.chain[n-m.from], q.root)]; ok {
			m.out = append(m.out, moment{i, n, why})
		}
	}
}

// alive reports whether what was last in use at is in a cache at now. Where a
// time is missing (zero) no time has passed.
func alive(at, now time.Time, lifetime time.Duration) bool {
	return at.IsZero() || now.IsZero() || now.Sub(at) <= lifetime
}
