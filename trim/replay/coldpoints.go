package replay

import (
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim"
)

// coldPoint says that a request is sent at a cold point. It is also remembered for
// later contexts that begin with the messages of that request (a rewind, a fork):
// they are planned as that request was.
type coldPoint struct {
	request int // index into Requests
	after   int // the messages before this one may be planned again
	why     trim.Cause
}

// coldPoints returns the cold points of a session under a rule, in order. A
// request is sent at one if its model's cache holds nothing that a plan could
// change: no thinking, no call and no result of a tool. This depends on the recording alone, not
// on the policy. Without a cache every request is sent at one.
//
// A cold point is after the last answer in the request, not after the last
// question: a question that is taken back and asked in other words goes on from the
// same cold point. Each model has cold points of its own, since it has a cache of
// its own.
func (r *Replay) coldPoints(rule Rule) []coldPoint {
	f := coldPointFinder{
		Replay: r, gone: gone{rule: rule}, from: -1,
		used: make(map[uint64]time.Time), known: make(map[uint64]bool), found: make(map[uint64]trim.Cause),
	}
	for i := range r.Requests {
		f.request(i)
	}
	return f.out
}

// coldPointFinder goes through the requests of a session and finds their cold
// points. The head of a context is its messages up to the first thinking, call or result.
type coldPointFinder struct {
	*Replay
	gone gone
	out  []coldPoint

	used  map[uint64]time.Time  // by head and model: when it was last in use
	known map[uint64]bool       // heads, whatever the model
	found map[uint64]trim.Cause // by the messages before a cold point and the model

	// Of the context:
	from   int
	chain  []uint64       // chain[n] is the hash of Messages[from:from+n]
	head   uint64         // its hash; 0: there is no thinking, call or result yet
	answer int            // one past the last answer; 0: there is none
	seen   map[string]int // by model: up to which message cold points are known
}

func (f *coldPointFinder) request(i int) {
	q := &f.Requests[i]
	begins := q.From != f.from
	if begins {
		f.from, f.chain, f.head, f.answer, f.seen = q.From, []uint64{0}, 0, 0, make(map[string]int)
	}
	f.extend(q.To)
	f.remembered(i, max(f.seen[q.Model], q.From))
	f.seen[q.Model] = q.To
	if f.head == 0 {
		return
	}
	root := f.hash.root(q.Model)
	key := join(f.head, root)
	at, ok := f.used[key]
	pause := pauseBetween(at, q.Sent)
	why := trim.Gap
	switch {
	case !f.gone.rule.Cached():
	case ok:
		why = f.gone.after(pause)
	case f.known[f.head]:
		why = trim.Model
	case !begins: // the context has just got its head
		why = ""
	case i == 0:
		why = trim.Resume
	default:
		why = trim.Compaction
	}
	if n := len(f.out); why != "" && f.answer > 0 && (n == 0 || f.out[n-1].request != i || f.out[n-1].after != f.answer) {
		f.out = append(f.out, coldPoint{i, f.answer, why})
		f.found[join(f.chain[f.answer-f.from], root)] = why
	}
	if ok && f.gone.rule.Recorded {
		f.gone.learn(pause, f.shownAt(i))
	}
	f.used[key], f.known[f.head] = later(later(at, q.Sent), q.Answered), true
}

// pauseBetween returns the time that passed; 0 where one of the times is missing (zero).
func pauseBetween(at, now time.Time) time.Duration {
	if at.IsZero() || now.IsZero() {
		return 0
	}
	return now.Sub(at)
}

// extend adds the messages of the context up to end.
func (f *coldPointFinder) extend(end int) {
	for n := f.from + len(f.chain) - 1; n < end; n++ {
		last := f.chain[len(f.chain)-1]
		for b := f.First[n]; b < f.First[n+1]; b++ {
			last = join(last, f.blocks[b].hash)
			if k := f.Parts[b].Kind; f.head == 0 && (k == llm.Thinking || k == llm.ToolCall || k == llm.ToolResult) {
				f.head = last
			}
		}
		f.chain = append(f.chain, last)
		if s := &f.Session.Messages[n]; s.Role == llm.Assistant && !s.Local {
			f.answer = n + 1
		}
	}
}

// remembered adds the cold points of earlier requests to the same model whose
// messages request i begins with, those after message after.
func (f *coldPointFinder) remembered(i, after int) {
	q := &f.Requests[i]
	root := f.hash.root(q.Model)
	for n := after + 1; n <= q.To; n++ {
		if f.chain[n-f.from] == f.chain[n-1-f.from] {
			continue // nothing of a local message is sent
		}
		if why, ok := f.found[join(f.chain[n-f.from], root)]; ok {
			f.out = append(f.out, coldPoint{i, n, why})
		}
	}
}
