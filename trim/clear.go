package trim

import (
	"math"
	"slices"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim/dialect"
)

// Some providers leave out the results of the oldest calls of tools themselves, if a request asks for it. The client sends
// the same text as before, so thinking behind these results stays valid. With Config.Clears, a cold point has the provider clear the
// results of the first calls; under bold also a warm break (see break.go): the provider then writes to its cache again what stands
// behind the first of them, as it does where the client sends something else.
//
// The provider cannot be told to keep one result among the first. So results are cleared up to one that must stay: what an
// agent's own stub is about, what cannot be had again, or the source of a pointer behind them; under adaptive also a read that
// may still be needed. Under bold such a read, or an output, is cleared with the others where they save more than the agent would
// spend to have it again, times the chance that it needs it.
//
// What is cleared stays cleared, and nothing else that was sent changes. Later results do not point to what is
// cleared.

const (
	// smallResult is below how many bytes a result is cleared with the others, though no rule of eviction says
	// that it may leave. A read is only under bold. In recorded sessions 2 of 1,756 were needed again.
	smallResult = 2000

	// neededAgain is the chance that a result is needed again which the rules of eviction would keep. In recorded sessions
	// 23 of 107 such reads were, and 2 of 51 such outputs.
	neededAgain = 0.25

	// recallCall is what a call costs by which an agent asks for a text again: 80 tokens, at five times the price of input.
	recallCall = 80 * 5 * bytesPerToken

	// worthClearing is how many bytes must leave at least. Less is not worth another kind of request.
	worthClearing = 4 << 10
)

// sentEdit is how a result was sent that the provider clears.
type sentEdit struct {
	edit     llm.Edit
	omission Omission
}

// Clears reports whether cold points, and warm breaks under bold, have the provider clear results.
func (e *Engine) Clears() bool {
	return e.config.Clears && e.config.ChecksThinking && e.config.Policy.Clears()
}

// clear has the provider clear more results, with what a scan has chosen, if it is worth it. warm says that the provider's
// cache holds what was sent: then all behind the first of them is written to it again.
func (st *State) clear(scan *evictionScan, warm bool) {
	sent := st.plan.Clone()
	sent.Sort()
	st.asSent(sent)
	n, gain := st.clearable(scan, sent, warm)
	st.evictFirst(st.cleared)
	if n <= st.cleared {
		return
	}
	results, plan, ledger, cleared := slices.Clone(st.results), st.plan, st.ledger, st.cleared
	st.evictFirst(n)
	st.cleared = n
	st.planAgain(st.messages)
	st.plan.Sort()
	same := slices.Equal(editsBehind(sent.Edits, st.clearedTo(n)), editsBehind(st.plan.Edits, st.clearedTo(n)))
	if !same || warm && !st.paysBreak(&plan, gain) {
		st.results, st.plan, st.ledger, st.cleared = results, plan, ledger, cleared
		return
	}
	st.behindCleared = nil
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
		if res.eviction = (eviction{}); i < n {
			res.clear()
		}
	}
}

// clear has a result leave that the provider clears.
func (res *toolResult) clear() *toolResult {
	res.eviction = eviction{}
	if len(res.text) > len(clearedText) {
		res.eviction.text, res.eviction.why, res.eviction.paths = clearedText, Cleared, res.paths()
	}
	return res
}

// editsBehind are the edits of the messages behind one of them.
func editsBehind(edits []llm.Edit, message int) []llm.Edit {
	n := 0
	for n < len(edits) && edits[n].Message <= message {
		n++
	}
	return edits[n:]
}

// clearable returns how many of the first results the provider should clear, and what that saves in the requests to come, in
// plain input bytes. A result that may not leave by the rules of eviction counts against those before it.
func (st *State) clearable(scan *evictionScan, sent *Plan, warm bool) (n int, gain float64) {
	shown := make(map[PartRef]int) // bytes of the results that are shortened
	for _, o := range sent.Omissions {
		shown[PartRef{o.Message, o.Part}] = o.After
	}
	needed := make([]int, len(st.results)+1) // by result: the first message that a pointer in it, or behind it, names
	needed[len(st.results)] = math.MaxInt
	for i := len(st.results) - 1; i >= 0; i-- {
		needed[i] = min(needed[i+1], st.results[i].pointsTo)
	}
	bold := st.engine.config.Policy == Bold
	price := st.price()
	if warm {
		price = st.breakPrice()
	}
	saves := st.savesEach(price, warm)
	sum := 0.
	gain = saves * worthClearing
	for i := range st.results[:max(0, len(st.results)-recent)] {
		res := &st.results[i]
		bytes, shortened := shown[res.at]
		if !shortened {
			bytes = len(res.text)
		}
		size := float64(bytes)
		a := &res.call.action
		needs := a.Op == dialect.Read && !res.shown.Failed || a.Once
		switch {
		case i < st.cleared: // they are gone
		case res.eviction.text != "":
			sum += saves * size
		case res.at.Message >= st.unknownResult || res.locked || scan.stubbed[i]:
			return n, gain
		case res.placeholder, size < smallResult && (bold || !needs):
		case needs && (!bold || a.Once || res.staying()):
			return n, gain
		case bold:
			sum += saves*size - neededAgain*st.recallCost(price, size)
		default:
			sum -= saves * size
		}
		answered := st.results[i+1].turn > res.turn // all calls up to it
		if answered && sum > gain && needed[i+1] > res.at.Message {
			n, gain = i+1, sum
		}
	}
	return n, gain
}

// savesEach is what each byte saves that leaves, in the requests to come: it is not read in any of them. Where the cache is
// cold, it is not written either.
func (st *State) savesEach(p Price, warm bool) float64 {
	saves := p.Read * float64(st.turns) / payback
	if !warm {
		saves += p.Write
	}
	return saves
}

// recallCost is what it costs, in plain input bytes, that an agent needs a text again which has left: it asks for it with a call, in one
// more request. From then on the text is sent as before.
func (st *State) recallCost(p Price, size float64) float64 {
	return p.Read*float64(st.bytes-st.plan.Saved) + recallCall + st.savesEach(p, false)*size
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
	kept.Sort()
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
	c := p.Clone()
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
	seen := &Plan{Stats: p.Stats}
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
	seen.Sort()
	return seen
}
