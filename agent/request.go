package agent

import (
	"slices"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/tokens"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/trim"
)

// built is a request with its plan and its size.
type built struct {
	req      *llm.Request
	fold     *trim.State
	plan     *trim.Plan
	estimate int // estimated tokens, before calibration
	size     int // estimated tokens, calibrated
}

// fitted is the rest of a conversation that did not fit into the window. It stays the same while it fits, so that the same messages
// are sent again. It is not stored, so a resume begins without it.
type fitted struct {
	upto     int           // the stored messages from this index on are sent after messages
	messages []llm.Message // the kept messages before upto
}

// build makes the next request. The request depends only on the stored session. It does not matter whether a turn, a
// resume, a rewind or a compaction led to this session. There is one exception: if the conversation did not fit
// into the window, the choice of what to leave out is not stored. A resume may choose differently.
func (c *Conversation) build() built {
	st := c.State()
	return c.buildOf(st, c.inView(st), new(planned))
}

// next is build for the holder of the turn. It continues the plan of the last request, so only new messages must be
// planned.
func (c *Conversation) next() built {
	c.mu.Lock()
	ses, fit := c.ses, c.fitted
	c.mu.Unlock()
	if ses != c.plan.of || fit != c.plan.after {
		c.plan = planned{of: ses, after: fit}
	}
	st := c.State()
	return c.buildOf(st, c.inView(st), &c.plan)
}

// inView returns the messages to send: those of the session, or the fitted ones.
func (c *Conversation) inView(st session.State) []llm.Message {
	c.mu.Lock()
	f, thinkingFrom := c.fitted, c.thinkingFrom
	c.mu.Unlock()
	if f == nil || f.upto > len(st.Messages) {
		return c.withoutThinking(st.Messages, thinkingFrom)
	}
	return append(f.messages[:len(f.messages):len(f.messages)], st.Messages[f.upto:]...)
}

// withoutThinking returns the messages without the thinking of the first n. A provider that checks thinking accepts that
// thinking is missing at the beginning. It does not accept that content before the thinking has changed. After a resume, a
// rewind, a compaction or a fit, system text, tools or messages may have changed.
func (c *Conversation) withoutThinking(messages []llm.Message, n int) []llm.Message {
	if !c.a.checks || n == 0 {
		return messages
	}
	isThinking := func(p llm.Part) bool { return p.Kind == llm.Thinking }
	out := make([]llm.Message, 0, len(messages))
	for i, m := range messages {
		if i < n && slices.ContainsFunc(m.Parts, isThinking) {
			if m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), isThinking); len(m.Parts) == 0 {
				continue
			}
		}
		out = append(out, m)
	}
	return out
}

// planned is the plan of the last request. The next request continues it.
type planned struct {
	of    *session.Session
	after *fitted

	fold   *trim.State
	breaks int  // number of applied cold points
	owed   bool // the answer after the last of them had not arrived
}

// add continues the plan to the end of a conversation. The earlier messages must not have changed.
func (p *planned) add(e *trim.Engine, all []llm.Message, breaks []trim.Point) *trim.Plan {
	if p.fold == nil {
		p.fold = e.NewState()
	}
	if p.owed {
		p.answered(all, breaks[p.breaks-1].After)
	}
	for _, b := range breaks[p.breaks:] {
		p.fold.Add(all[p.fold.Len():b.After]...)
		p.fold.Cold(b.Why, 0)
		p.fold.Plan()
		p.breaks++
		p.answered(all, b.After)
	}
	p.fold.Add(all[p.fold.Len():]...)
	return p.fold.Plan()
}

// answered passes the usage of the request before message i to the plan.
func (p *planned) answered(all []llm.Message, i int) {
	if p.owed = i == len(all); !p.owed && all[i].Usage != nil {
		p.fold.Answered(*all[i].Usage)
	}
}

// buildOf is the only function that makes requests. history makes the conversation valid and decides what is left out. p is
// the plan of a shorter request of the same conversation, or a new one.
func (c *Conversation) buildOf(st session.State, messages []llm.Message, p *planned) built {
	a := c.a
	all := trim.Normalize(append(c.system[:len(c.system):len(c.system)], messages...))
	breaks := a.breaks(st, all)
	plan := p.add(a.engine, all, breaks)
	b := built{fold: p.fold, plan: plan, req: &llm.Request{
		Model: a.Name, Messages: llm.Apply(all, plan.Edits), Tools: a.specs(),
		Cache: &llm.Cache{Frontier: frontier(all, breaks)},
	}}
	b.estimate = tokens.CountRequest(b.req, a.counter)
	b.size = c.size(b.estimate)
	b.req.MaxTokens = a.answerLimit(b.size)
	return b
}

// breaks returns the cold points of a conversation: requests before which the provider's cache held nothing of it. They
// depend only on what is stored, so a resume makes the same plan as the earlier process. A resume after a pause is a cold
// point because of the time that has passed. An immediate resume is not: the cache is still warm, and another plan would
// only cost.
func (a *Agent) breaks(st session.State, all []llm.Message) []trim.Point {
	var out []trim.Point
	var last *llm.Message // the previous answer
	lifetime := a.lifetime()
	bound := false // there is signed thinking before this message
	moment := func(i int, model string) {
		switch {
		case bound:
		case last == nil && st.From.Relation == session.Compacted && i > 0:
			out = append(out, trim.Point{After: i, Why: trim.Compaction})
		case last == nil:
		case last.Model != "" && model != "" && model != last.Model:
			out = append(out, trim.Point{After: i, Why: trim.Model})
		case !last.Time.IsZero() && all[i-1].Time.Sub(last.Time) > lifetime:
			out = append(out, trim.Point{After: i, Why: trim.Gap})
		}
	}
	for i := range all {
		if all[i].Role != llm.Assistant {
			continue
		}
		moment(i, all[i].Model)
		last = &all[i]
		bound = bound || a.checks && slices.ContainsFunc(all[i].Parts, func(p llm.Part) bool { return p.Kind == llm.Thinking })
	}
	if n := len(all); n > 0 && all[n-1].Role != llm.Assistant {
		moment(n, a.Name)
	}
	return out
}

// frontier returns the number of messages that stay in the cache under any later plan: those of the last cold point, or else of the
// first request.
func frontier(all []llm.Message, breaks []trim.Point) int {
	if n := len(breaks); n > 0 {
		return breaks[n-1].After
	}
	for i := range all {
		if all[i].Role == llm.Assistant {
			return i
		}
	}
	return len(all)
}

// fit leaves out messages until the request is an eighth below limit tokens, so that the next requests fit, too.
func (c *Conversation) fit(limit int) built {
	st := c.State()
	b := c.build()
	target := limit - limit/8
	for range 3 {
		over := b.size - target
		if over <= 0 {
			break
		}
		view := append(c.system[:len(c.system):len(c.system)], c.inView(st)...)
		budget := tokens.CountMessages(trim.Normalize(view), c.a.counter) - c.estimated(over)
		messages, _ := trim.Fit(view, max(budget, 1), c.a.counter)
		for len(messages) > 0 && messages[0].Role == llm.System {
			messages = messages[1:]
		}
		c.mu.Lock()
		c.fitted = &fitted{upto: len(st.Messages), messages: c.withoutThinking(messages, len(messages))}
		c.mu.Unlock()
		was := b.size
		if b = c.build(); b.size >= was {
			break // the newest messages alone are larger
		}
	}
	return b
}

// estimated converts real tokens to estimated ones.
func (c *Conversation) estimated(real int) int {
	c.a.mu.Lock()
	defer c.a.mu.Unlock()
	return int(float64(real)/c.a.calibration.Slope()) + 1
}
