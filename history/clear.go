package history

import (
	"math"
	"slices"

	"github.com/stet-dev/stet/dialect"
	"github.com/stet-dev/stet/llm"
)

// Some providers leave out the results of the oldest calls of tools themselves, if a request asks for it. The client sends
// the same text as before, so thinking behind these results stays valid. With Config.Clears, a cold point has the provider clear the
// results of the first calls. It cannot be told to keep one among them. So results are cleared up to the first one that
// must stay: a read that may still be needed, what an agent's own stub is about, or the source of a pointer behind them.
//
// What is cleared stays cleared, and nothing else that was sent changes. Later results do not point to what is
// cleared.

const (
	// clearedText is what the provider is taken to put in the place of a result.
	clearedText = "[Old tool result content cleared]"

	// smallResult is below how many bytes a result is cleared with the others, though no rule of eviction says
	// that it may leave. A read is only under bold. A result that stays keeps all results behind it, and to
	// ask for so little again costs less than to send those in each request.
	smallResult = 2000

	// worthClearing is how many bytes must leave at a cold point. Less is not worth another kind of request.
	worthClearing = 4 << 10
)

// sentEdit is how a result was sent that the provider clears.
type sentEdit struct {
	edit     llm.Edit
	omission Omission
}

// Clears reports whether cold points have the provider clear results.
func (e *Engine) Clears() bool {
	return e.config.Clears && e.config.ChecksThinking && e.config.Policy.Clears()
}

// clear has the provider clear more results, if it is worth it, with what a scan has chosen.
func (st *State) clear(scan *evictionScan) {
	seen := st.plan.clone()
	sent := st.plan.clone()
	sent.sort()
	st.asSent(sent)
	n := max(st.cleared, st.clearable(scan, sent))
	st.evictFirst(n)
	if n == st.cleared {
		return
	}
	st.planAgain()
	st.plan.sort()
	if !slices.Equal(editsBehind(sent.Edits, st.clearedTo(n)), editsBehind(st.plan.Edits, st.clearedTo(n))) {
		// What was sent would change. The plan stays as it was, and later results point to nothing that stands before.
		st.evictFirst(st.cleared)
		st.plan = *seen
		st.ledger.clear()
		return
	}
	st.cleared, st.behindCleared = n, nil
	for i, e := range sent.Edits {
		if e.Message <= st.clearedTo(n) {
			st.behindCleared = append(st.behindCleared, sentEdit{e, sent.Omissions[i]})
		}
	}
}

// clearedTo is the last message with one of the first n results; -1: there is none.
func (st *State) clearedTo(n int) int {
	if n == 0 {
		return -1
	}
	return st.results[n-1].at.Message
}

// evictFirst has the first n results leave, and all others stay.
func (st *State) evictFirst(n int) {
	for i := range st.results {
		res := &st.results[i]
		res.eviction = eviction{}
		if i < n && len(res.text) > len(clearedText) {
			res.eviction.text, res.eviction.why, res.eviction.paths = clearedText, Cleared, res.paths()
		}
	}
}

// editsBehind are the edits of the messages behind one of them.
func editsBehind(edits []llm.Edit, message int) []llm.Edit {
	n := 0
	for n < len(edits) && edits[n].Message <= message {
		n++
	}
	return edits[n:]
}

// clearable returns how many of the first results the provider should clear. A result that may not leave by the rules of
// eviction counts against those before it, by its size.
func (st *State) clearable(scan *evictionScan, sent *Plan) int {
	shown := make(map[PartRef]int) // bytes of the results that are shortened
	for _, o := range sent.Omissions {
		shown[PartRef{o.Message, o.Part}] = o.After
	}
	needed := make([]int, len(st.results)+1) // by result: the first message that a pointer in it, or behind it, names
	needed[len(st.results)] = math.MaxInt
	for i := len(st.results) - 1; i >= 0; i-- {
		needed[i] = min(needed[i+1], st.results[i].pointsTo)
	}
	sum, best, n := 0, worthClearing, 0
	for i := range st.results[:max(0, len(st.results)-recent)] {
		res := &st.results[i]
		size, shortened := shown[res.at]
		if !shortened {
			size = len(res.text)
		}
		needs := res.call.action.Op == dialect.Read && !res.shown.Failed || res.call.action.Once
		switch {
		case i < st.cleared, res.eviction.text != "":
			sum += size
		case res.at.Message >= st.unknownResult || res.locked || scan.stubbed[i]:
			return n
		case res.placeholder, size < smallResult && (st.engine.config.Policy == Bold || !needs):
		case needs:
			return n
		default:
			sum -= size
		}
		answered := st.results[i+1].turn > res.turn // all calls up to it
		if answered && sum > best && needed[i+1] > res.at.Message {
			best, n = sum, i+1
		}
	}
	return n
}

// asSent makes p, the plan of the request as the model sees it, what is sent: the provider clears the rest.
func (st *State) asSent(p *Plan) {
	if st.cleared == 0 {
		return
	}
	var kept Plan
	for i, o := range p.Omissions {
		if o.Reason == Cleared {
			p.Cleared = append(p.Cleared, o)
			continue
		}
		kept.Edits, kept.Omissions = append(kept.Edits, p.Edits[i]), append(kept.Omissions, o)
	}
	for _, s := range st.behindCleared {
		kept.Edits, kept.Omissions = append(kept.Edits, s.edit), append(kept.Omissions, s.omission)
	}
	kept.sort()
	p.Edits, p.Omissions = kept.Edits, kept.Omissions
	p.ClearedCalls = st.results[st.cleared-1].calls
}

// Empty reports whether a plan leaves everything as it is.
func (p *Plan) Empty() bool { return len(p.Edits) == 0 && p.ClearedCalls == 0 }

// ClearFirst has a plan, which clears nothing yet, clear the results of the first calls of messages: as many as were cleared when they
// were sent before.
func (p *Plan) ClearFirst(messages []llm.Message, calls int) {
	if calls == 0 {
		return
	}
	for n, i := 0, 0; i < len(messages); i++ {
		if n >= calls && messages[i].Role == llm.Assistant {
			break
		}
		for j := range messages[i].Parts {
			part := &messages[i].Parts[j]
			switch {
			case part.Kind == llm.ToolCall:
				n++
			case part.Kind == llm.ToolResult && len(part.Text) > len(clearedText):
				p.Cleared = append(p.Cleared, Omission{
					Message: i, Part: j, CallID: part.CallID, Reason: Cleared, Before: len(part.Text), After: len(clearedText),
				})
			}
		}
	}
	p.ClearedCalls = calls
}

// Uncleared returns the plan without what the provider is to clear. p may be nil.
func (p *Plan) Uncleared() *Plan {
	if p == nil || p.ClearedCalls == 0 {
		return p
	}
	c := p.clone()
	c.Cleared, c.ClearedCalls, c.Saved = nil, 0, 0
	for _, o := range p.Omissions {
		c.Saved += o.Before - o.After
	}
	return c
}

// Seen returns the plan as the model sees the request: what the provider clears is left out like the rest. p may be nil.
func (p *Plan) Seen() *Plan {
	if p == nil || len(p.Cleared) == 0 {
		return p
	}
	cleared := make(map[PartRef]bool, len(p.Cleared))
	seen := &Plan{Folds: p.Folds, Stats: p.Stats}
	for _, o := range p.Cleared {
		cleared[PartRef{o.Message, o.Part}] = true
		seen.Edits = append(seen.Edits, llm.Edit{Message: o.Message, Part: o.Part, Text: clearedText})
		seen.Omissions = append(seen.Omissions, o)
	}
	for i, e := range p.Edits {
		if !cleared[PartRef{e.Message, e.Part}] {
			seen.Edits, seen.Omissions = append(seen.Edits, e), append(seen.Omissions, p.Omissions[i])
		}
	}
	seen.sort()
	return seen
}
