package trim

import (
	"slices"
	"strings"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim/dialect"
)

// What was sent is repeated. A conversation goes on with a state that was made from what was sent before: the caller's
// messages, the edits with which they were sent, and the account. Such a state decides on new messages, at cold
// points and at warm breaks as the state does that has planned all of them.

// Sent says how the first messages of a conversation were sent.
type Sent struct {
	Messages     int        // how many
	Whole        int        // as many messages always stay as they are: see State.KeepWhole
	ClearedCalls int        // as in Plan
	Edits        []llm.Edit // of these messages, in order
	Reasons      []Reason   // one for each edit
	Balance      Balance
}

// Balance is the account of a conversation when a number of messages had been added. It does not follow from the
// newest edits, and is stored with them.
type Balance struct {
	Messages int // how many; 0: there is no account
	Breaks   int // warm breaks so far
	Weighed  int // bytes of the request when a warm break was considered last
	Balance  float64
	Spent    float64
	Size     int
	Omitted  int
	Cold     bool

	Weight float64 `json:",omitempty"` // as Balance, by estimated tokens
	Light  int     `json:",omitempty"` // as Omitted
}

// Balance returns the account after the messages that were added.
func (st *State) Balance() Balance {
	a := &st.account
	return Balance{
		Messages: st.messages, Breaks: st.plan.Breaks, Weighed: st.weighed,
		Balance: a.balance, Spent: a.spent, Size: a.size, Omitted: a.omitted, Cold: a.cold, Weight: a.weight, Light: a.light,
	}
}

// take goes on with a stored account.
func (st *State) take(b Balance) {
	st.plan.Breaks, st.weighed = b.Breaks, b.Weighed
	a := &st.account
	a.balance, a.spent, a.size, a.omitted, a.cold, a.weight, a.light = b.Balance, b.Spent, b.Size, b.Omitted, b.Cold, b.Weight, b.Light
}

// Resume returns the state of a conversation whose first messages were sent before.
func (e *Engine) Resume(messages []llm.Message, s Sent) *State {
	st := e.NewState()
	st.whole = s.Whole
	st.given = newGiven(s.Edits, s.Reasons)
	st.given.clearedCalls = s.ClearedCalls
	at := min(s.Balance.Messages, s.Messages)
	st.Add(messages[:at]...)
	if at > 0 {
		st.take(s.Balance)
	}
	st.Add(messages[at:s.Messages]...)
	st.plan.Sort()
	to := st.clearedTo(st.cleared)
	for i, e := range s.Edits {
		if e.Message <= to && s.Reasons[i] != Thinking {
			o := Omission{Message: e.Message, Part: e.Part, Reason: s.Reasons[i], After: len(e.Text)}
			o.CallID, o.Before = st.textOf(messages, PartRef{e.Message, e.Part})
			st.behindCleared = append(st.behindCleared, sentEdit{e, o})
		}
	}
	st.given = nil
	return st
}

// textOf returns the call of a part, and the bytes of its text.
func (st *State) textOf(messages []llm.Message, at PartRef) (callID string, size int) {
	p := &messages[at.Message].Parts[at.Part]
	if p.Kind == llm.ToolCall {
		return p.CallID, len(p.Args)
	}
	return p.CallID, len(p.Text)
}

// given has decisions that were made before.
type given struct {
	decisions    map[PartRef]*decision
	clearedCalls int            // calls of tools whose results the provider clears
	shown        map[string]int // by the name that a pointer gives to a call: the message of its result
}

// decision says how a part was sent.
type decision struct {
	text string // in place of its own; with why
	why  Reason // "": it was sent as it is
}

// changed reports whether a part that was sent before was changed. d may be nil.
func (d *decision) changed() bool { return d != nil && d.why != "" }

func newGiven(edits []llm.Edit, reasons []Reason) *given {
	g := &given{decisions: make(map[PartRef]*decision, len(edits)), shown: make(map[string]int)}
	for i, e := range edits {
		g.decisions[PartRef{e.Message, e.Part}] = &decision{e.Text, reasons[i]}
	}
	return g
}

// givenBy has the decisions of a plan.
func givenBy(p *Plan) *given {
	g := newGiven(nil, nil)
	for i, e := range p.Edits {
		g.decisions[PartRef{e.Message, e.Part}] = &decision{e.Text, p.Omissions[i].Reason}
	}
	return g
}

// asIs is the decision that a part is sent as it is.
var asIs = &decision{}

func (g *given) of(at PartRef) *decision {
	if d := g.decisions[at]; d != nil {
		return d
	}
	return asIs
}

// repeat makes the decision on a result, and on the arguments of its call, that was made before.
func (st *State) repeat(res *toolResult, g *given) {
	if res.calls <= g.clearedCalls {
		st.cleared = len(st.results)
		st.apply(res.clear(), nil)
		return
	}
	text, args := g.of(res.at), g.of(res.call.at)
	res.eviction = eviction{}
	e := &res.eviction
	if args.why != "" {
		e.args, e.shown = args.text, res.call.action.Op == dialect.Edit
		for _, t := range res.call.action.Targets {
			e.paths = append(e.paths, t.Path)
		}
	}
	switch text.why {
	case "", Repeat, Partial, Output, Numbers, Restored:
	default:
		e.text, e.why, e.paths = text.text, text.why, res.paths()
	}
	st.apply(res, text)
	if e.text == "" && text.changed() {
		g.pointAsSent(res, text.text)
	}
	if id := st.sourceOf(res).call; id != "" {
		g.shown[plain(id, 80)] = res.at.Message
	}
}

// apply makes the decision on one result: what was chosen leaves, and the rest is deduplicated, or is sent as it was sent before
// (sent; nil: it is new).
func (st *State) apply(res *toolResult, sent *decision) {
	e := &res.eviction
	if e.args != "" {
		st.plan.replaceArguments(res, e.args, e.paths)
	}
	switch {
	case e.text != "":
		st.plan.replaceResult(res, e.text, e.paths, e.why)
		st.hideEvicted(res)
	case e.args != "" && !e.shown:
		st.recordWrite(res, false)
		st.hideEvicted(res)
	default:
		st.deduplicate(res, sent)
	}
}

// replacedLines are the lines of a section that a pointer took the place of when it was sent.
type replacedLines struct {
	spans []span // half-open ranges of indexes of the section's lines
	whole bool   // one pointer took the place of the whole section
}

// replacedIn returns, by section, which lines of a read were sent as pointers.
func (st *State) replacedIn(res *toolResult, sent *decision) map[*dialect.Section]*replacedLines {
	var sections []*dialect.Section
	paths := map[*dialect.Section]string{}
	for i := range res.reads {
		r := &res.reads[i]
		for j := range r.sections {
			if s := &r.sections[j]; numbered(s) {
				sections, paths[s] = append(sections, s), r.path
			}
		}
	}
	slices.SortStableFunc(sections, func(a, b *dialect.Section) int { return a.Start - b.Start })
	out := map[*dialect.Section]*replacedLines{}
	for _, p := range findPointers(sent.text) {
		for len(sections) > 0 && !(p.of(paths[sections[0]]) && p.lines.within(spanOf(sections[0]))) {
			sections = sections[1:]
		}
		if len(sections) == 0 {
			break
		}
		s := sections[0]
		if out[s] == nil {
			out[s] = new(replacedLines)
		}
		out[s].spans = append(out[s].spans, span{p.lines.first - s.First, p.lines.last - s.First + 1})
	}
	for s, r := range out {
		f := st.ledger.file(st.keys.key(paths[s]))
		r.whole = len(r.spans) == 1 && r.spans[0] == span{0, len(s.Lines)} && !s.Cut && !f.tellsMore(res.call.action.Row, s)
	}
	return out
}

// pointAsSent notes the results that the pointers in a sent text name.
func (g *given) pointAsSent(res *toolResult, text string) {
	for _, at := range pointerForm.FindAllStringSubmatchIndex(text, -1) {
		_, sources, _ := strings.Cut(text[at[7]:at[1]], ": ")
		for source := range strings.SplitSeq(sources, ", ") {
			if strings.Contains(source, "written by ") {
				continue
			}
			if _, name, ok := strings.Cut(source, "shown above by "); ok {
				source = name
			}
			name, _, _ := strings.Cut(source, " ")
			if at, ok := g.shown[strings.TrimRight(name, ".]")]; ok {
				res.pointsTo = min(res.pointsTo, at)
			} else {
				res.pointsTo = 0 // it may be any
			}
		}
	}
}
