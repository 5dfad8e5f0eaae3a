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
	after   int // the moment was when Messages[from:after] were sent
	why     history.Moment
}

// moments returns the moments of a session under a rule, in order. A request
// is sent at one if nothing in the cache holds anything that a plan could
// change: no call and no result of a tool. They depend on what was recorded
// alone, not on what a policy makes of it. Without a cache every request is one.
func (r *recording) moments(rule prices.Rule) []moment {
	var out []moment
	used := make(map[uint64]time.Time)      // heads of contexts up to the first tool, by model: when last in use
	known := make(map[uint64]bool)          // such heads, whatever the model
	sent := make(map[uint64]history.Moment) // requests sent at a moment, by the hash of their messages
	var chain, head uint64
	n, from := 0, -1
	for i := range r.requests {
		q := &r.requests[i]
		begins := q.from != from
		if begins {
			from, n, chain, head = q.from, q.from, 0, 0
		}
		for begun := n; n < q.to; n++ {
			if why, ok := sent[chain]; ok && n > begun {
				out = append(out, moment{i, n, why})
			}
			for b := r.first[n]; b < r.first[n+1]; b++ {
				chain = join(chain, r.blocks[b].hash)
				if k := r.parts[b].part.Kind; head == 0 && (k == llm.ToolCall || k == llm.ToolResult) {
					head = chain
				}
			}
		}
		if head == 0 {
			continue
		}
		key := join(head, q.root)
		at, ok := used[key]
		why := history.Gap
		switch {
		case !rule.Cached():
		case ok && alive(at, q.sent, rule.Lifetime):
			why = ""
		case ok:
		case known[head]:
			why = history.Model
		case !begins: // the first tool of the context has just been called
			why = ""
		case i == 0:
			why = history.Resume
		default:
			why = history.Compaction
		}
		if why == "" {
			why = sent[chain] // sent once more
		}
		if why != "" {
			out = append(out, moment{i, q.to, why})
			sent[chain] = why
		}
		used[key], known[head] = later(later(at, q.sent), q.answered), true
	}
	return out
}

// alive reports whether what was last in use at is in a cache at now. Where a
// time is missing (zero) no time has passed.
func alive(at, now time.Time, lifetime time.Duration) bool {
	return at.IsZero() || now.IsZero() || now.Sub(at) <= lifetime
}
