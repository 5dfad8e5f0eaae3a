package guard

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/tool"
	"github.com/stet-dev/stet/trim/dialect"
)

// Dialog says how an agent asks its person.
type Dialog uint8

// The dialogs.
const (
	NoDialog  Dialog = iota // it cannot ask: the guard holds the call while the queue asks, and denies it if no answer comes in time
	Beside                  // it shows a dialog of its own at the same time; the first answer wins
	AfterHook               // it shows a dialog of its own if the guard says nothing
)

// Default waits for a person.
const (
	DefaultWait  = 10 * time.Minute // of a call whose agent cannot ask
	DefaultPause = 30 * time.Second // of a dialog that comes after the hook
)

// maxAsks is how many questions of a session may be open at once.
const maxAsks = 100

// Why a question ended without an answer in the queue.
var (
	errElsewhere = approval.Ended("approved at the agent")
	errRefused   = approval.Ended("rejected at the agent")
	errPassed    = approval.Ended("the agent has gone on without it: a no there, or it was interrupted")
	errEnds      = approval.Ended("stet ends")
)

// ask is an open question.
type ask struct {
	call   *call
	of     call // as it was when it was asked about
	cancel context.CancelCauseFunc
}

// has reports whether a call's record may still be changed: it has not begun, or it runs. Whoever has removed a call from those that run has it alone.
// Guard.mu is held.
func (s *session) has(c *call) bool { return !c.begun || slices.Contains(s.calls, c) }

// decide notes a decision about a call, unless its record has ended. agreed: the arguments that a person has approved. Guard.mu is held.
func (s *session) decide(c *call, decision, who string, agreed json.RawMessage) {
	if s.has(c) {
		c.decision, c.who, c.agreed = decision, who, agreed
	}
}

// put asks the queue about a call and waits. of is the call as it is now. An error says why there is no answer; title then names the question.
func (g *Guard) put(ctx context.Context, s *session, c *call, of call, wait time.Duration) (answer Answer, title string, err error) {
	q := g.question(s, &of, of.notes)
	g.mu.Lock()
	q.About = s.about
	who := s.grants[q.Covered()]
	granted := q.Grantable && who != ""
	if granted {
		s.decide(c, "approved for the session", who, of.event.Input)
	}
	g.mu.Unlock()
	if granted {
		return Answer{Decided: true, Action: policy.Allow}, "", nil
	}
	agent := ctx
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(agent))
	defer cancel(nil)
	defer context.AfterFunc(agent, func() { cancel(errPassed) })()
	if wait > 0 {
		q.Expires = q.Asked.Add(wait)
		var stop context.CancelFunc
		ctx, stop = context.WithDeadline(ctx, q.Expires)
		defer stop()
	}
	a := &ask{c, of, cancel}
	g.mu.Lock()
	full := len(s.asks) >= maxAsks
	if !full {
		s.asks[a] = true
	}
	g.mu.Unlock()
	if full {
		return Answer{}, "", approval.ErrFull
	}
	given, err := g.Approver.Ask(ctx, q)
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(s.asks, a)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return Answer{}, q.Title(), err
	}
	answer, err = g.decided(q, of.event, &of.action, given)
	if err != nil {
		return Answer{}, q.Title(), err
	}
	who = strings.TrimSpace("person " + given.By)
	agreed := of.event.Input
	if answer.Input != nil {
		agreed = answer.Input
	}
	decision := "approved"
	switch {
	case answer.Action == policy.Deny:
		decision = "rejected"
	case given.Verdict == approval.Edit:
		decision = "edited"
	case given.Verdict == approval.ForSession:
		decision = "approved for the session"
		if len(s.grants) < maxGrants {
			s.grants[q.Covered()] = who
		}
	}
	s.decide(c, decision, who, agreed)
	return answer, "", nil
}

// maxGrants is how many answers for the session are remembered. Later ones count once.
const maxGrants = 1000

// hold asks about a call before it runs. Deny: the call must not run. Ask: the agent's own dialog opens. No decision: the agent's own
// rules decide.
func (g *Guard) hold(ctx context.Context, s *session, c *call) Answer {
	if g.Approver == nil {
		return Answer{Decided: true, Action: policy.Deny, Reason: fmt.Sprintf("stet: %s asks about this, and there is no person to ask", c.by.Rule)}
	}
	wait := g.wait(c.event)
	answer, title, err := g.put(ctx, s, c, *c, wait)
	switch {
	case err == nil && answer.Action == policy.Allow:
		g.change(c, answer.Input)
		return Answer{Input: answer.Input}
	case err == nil:
		return answer
	case c.event.Dialog == AfterHook: // without a person there the agent denies it, with these words
		return Answer{Decided: true, Action: policy.Ask, Reason: unanswered(title, c.by.Rule, wait, err)}
	}
	c.decision, c.who = "timeout", "guard"
	return Answer{Decided: true, Action: policy.Deny, Reason: unanswered(title, c.by.Rule, wait, err)}
}

// change gives a call the arguments that a person has changed; nil: they have not.
func (g *Guard) change(c *call, input json.RawMessage) {
	if input == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	c.event.Input = input
	c.action = g.Dialects.Action(c.event.Tool, string(input))
}

// takeApproved reports whether a person has approved a call just before its agent reported that it begins, or ends, and gives it their decision. The
// approval counts for no later call.
func (g *Guard) takeApproved(s *session, c *call) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.IndexFunc(s.approved, func(a *call) bool { return a.event.SubAgent == c.event.SubAgent && a.like(&c.action, c.event) })
	if i < 0 {
		return false
	}
	c.decision, c.who, c.agreed = s.approved[i].decision, s.approved[i].who, s.approved[i].agreed
	s.approved = slices.Delete(s.approved, i, i+1)
	return true
}

// dropApproved ends approvals of calls that will not begin: the agent's turn has ended, or the person has spoken.
func (g *Guard) dropApproved(s *session, e Event) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s.approved = slices.DeleteFunc(s.approved, func(a *call) bool {
		return e.stops(a.event.SubAgent) || a.event.SubAgent == e.SubAgent && (e.Kind == Prompted || e.Kind == Started)
	})
}

// unanswered says to the model why a call without an answer is denied.
func unanswered(title, rule string, wait time.Duration, err error) string {
	if errors.Is(err, approval.ErrFull) {
		return "stet: too many questions wait for a person already. Wait for their answers."
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("stet: the question %q was not answered: %v", title, err)
	}
	return fmt.Sprintf("stet: nobody answered the question %q within %v (asked because of: %s). Nothing was done; it can be tried again when a person is there.", title, wait, rule)
}

// wait returns how long an event may wait for a person.
func (g *Guard) wait(e Event) time.Duration {
	wait := cmp.Or(g.Wait, DefaultWait)
	if e.Dialog == AfterHook {
		wait = cmp.Or(g.Pause, DefaultPause)
	}
	if e.Most > 0 {
		wait = min(wait, e.Most)
	}
	return wait
}

// asking puts a question into the queue that the agent asks its person about. Without an answer the agent's own dialog decides, if it has one.
func (g *Guard) asking(ctx context.Context, e Event) (Answer, error) {
	s := g.session(e)
	c, of := g.askedCall(s, e)
	if g.Approver == nil {
		return Answer{}, nil
	}
	wait := g.wait(e)
	if e.Dialog == Beside {
		wait = e.Most // the dialog waits, too
	}
	answer, title, err := g.put(ctx, s, c, of, wait)
	recording := context.WithoutCancel(ctx)
	switch {
	case err == nil && answer.Action == policy.Allow:
		if !c.begun {
			g.change(c, answer.Input)
			g.mu.Lock()
			s.approved = append(s.approved, c)
			if len(s.approved) > maxCalls {
				s.approved = s.approved[1:]
			}
			g.mu.Unlock()
		}
		g.renew(ctx, s, c, e.Dialog)
		return answer, nil
	case err == nil:
		return answer, g.drop(recording, s, c, string(tool.UserRejected))
	case errors.Is(err, errElsewhere):
		return Answer{}, nil // after records it
	case errors.Is(err, errPassed):
		g.mu.Lock()
		if s.has(c) {
			c.cancel()
		}
		g.mu.Unlock()
		if e.Dialog == Beside && c.begun {
			return Answer{}, nil // the next event says whether it was the person: dismissed
		}
		return Answer{}, g.drop(recording, s, c, string(tool.Cancelled))
	case errors.Is(err, errRefused):
		return Answer{}, g.drop(recording, s, c, string(tool.UserRejected))
	case e.Dialog != NoDialog:
		return Answer{}, nil
	}
	g.mu.Lock()
	s.decide(c, "timeout", "guard", nil)
	g.mu.Unlock()
	return Answer{Decided: true, Action: policy.Deny, Reason: unanswered(title, "the agent's own rules", wait, err)}, g.drop(recording, s, c, string(tool.Timeout))
}

// askedCall returns the call that a question is about, and how it is now: agents do not name it. A call that was not seen to begin is made up.
func (g *Guard) askedCall(s *session, e Event) (*call, call) {
	action := g.Dialects.Action(e.Tool, string(e.Input))
	g.mu.Lock()
	defer g.mu.Unlock()
	var found *call
	newest := func(is func(*call) bool) {
		for _, c := range s.calls {
			if c.event.SubAgent == e.SubAgent && is(c) && (found == nil || c.began.After(found.began)) {
				found = c
			}
		}
	}
	if e.Call != "" {
		newest(func(c *call) bool { return c.event.Call == e.Call })
	} else if newest(func(c *call) bool { return c.event.Tool == e.Tool && sameJSON(c.event.Input, e.Input) }); found == nil {
		newest(func(c *call) bool { return c.like(&action, e) })
	}
	if found != nil {
		found.event.Edits = e.Edits && found.by.Action != policy.Ask // an agent may drop changed arguments where a hook has asked
		return found, *found
	}
	c := &call{event: e, action: action, began: time.Now()}
	c.notes = g.cautions(s.workspace, e, &c.action, g.line(e, &c.action))
	return c, *c
}

// like reports whether an event without an id is about the call. An agent may add a reason to a command about which it asks, or end a patch otherwise.
func (c *call) like(a *dialect.Action, e Event) bool {
	of := &c.action
	switch {
	case c.event.Tool != e.Tool:
		return false
	case sameJSON(c.event.Input, e.Input):
		return true
	case a.Command != "" && a.Op == dialect.Shell:
		return a.Command == of.Command && a.Dir == of.Dir && slices.Equal(switches(c.event.Input), switches(e.Input))
	}
	return len(a.Targets) > 0 && slices.Equal(a.Targets, of.Targets) && slices.Equal(a.Edits, of.Edits) &&
		(len(a.Edits) > 0 || a.Content != "") && strings.TrimRight(a.Content, "\n") == strings.TrimRight(of.Content, "\n")
}

// renew begins the record of a call again: what was changed while it waited for its answer is not the call's. An agent with a dialog of its own is an
// exception. A yes there may have come first, and the agent tells that only at the end of the call. So the earlier changes may be the call's. They get an
// entry of their own.
func (g *Guard) renew(agent context.Context, s *session, c *call, dialog Dialog) {
	if c.snap == nil || c.own != "" || agent.Err() != nil { // the agent has gone on without the answer: the call may run
		return
	}
	g.mu.Lock()
	has, early := s.has(c), call{}
	if has {
		early = *c
	}
	g.mu.Unlock()
	if !has {
		return
	}
	ctx := context.WithoutCancel(agent)
	r, err := g.result(ctx, c, c.snap.Restart)
	if !nothing(r) && dialog == Beside {
		r.Shared = true
		early.notes = append(slices.Clone(early.notes), whileAsked)
		err = errors.Join(err, g.write(ctx, s, &early, r))
	}
	g.warn(err)
}

// whileAsked is noted of changes that were made while a question was open beside the agent's own dialog.
const whileAsked tool.Note = "changed while the question was open: somebody else did it, or the call ran already"

// drop records a call that does not run. A call with a dialog at the agent may run all the same, if a yes there came first: it stays until its end, or
// until the agent goes on.
func (g *Guard) drop(ctx context.Context, s *session, c *call, outcome string) error {
	g.mu.Lock()
	if !s.has(c) { // it was recorded meanwhile
		g.mu.Unlock()
		return nil
	}
	c.ended, c.told = outcome, c.begun && c.event.Dialog == Beside
	now := *c
	if !now.told {
		s.remove(c)
	}
	g.mu.Unlock()
	if now.told {
		return g.log(s, &now, outcome)
	}
	return g.finish(ctx, s, c)
}

// atAgent is noted of a call about which the person has decided in the agent's own dialog.
const atAgent tool.Note = "decided at the agent"

// decidedThere notes a decision in the agent's own dialog. It is that of the user as whom the agent and this process run.
func (c *call) decidedThere(decision string) {
	c.decision, c.who = decision, "person "+approval.LocalPerson()
	c.notes = append(c.notes, atAgent)
}

// elsewhere ends the open questions that an event shows to be answered at the agent: its call has ended, or the agent has gone on without it.
func (g *Guard) elsewhere(s *session, e Event) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for a := range s.asks {
		of := a.of.event
		if of.SubAgent != e.SubAgent && !e.stops(of.SubAgent) {
			continue
		}
		same := e.Call != "" && of.Call == e.Call || (e.Call == "" || of.Call == "") && of.Tool == e.Tool && (len(e.Input) == 0 || sameJSON(of.Input, e.Input))
		cause, there := errPassed, "" // there: the decision at the agent
		switch {
		case same && (e.Kind == After || e.Kind == Settled && !e.Failed):
			cause, there = errElsewhere, "approved"
		case same && e.Kind == Settled, e.Kind == Prompted && of.Dialog == Beside: // who talks to the agent again has closed its dialog
			cause, there = errRefused, "rejected"
		case e.Kind == Stopped, e.Kind == Prompted,
			e.Kind == Before && e.Serial && !same && changes(&a.of.action) && a.of.action.Op != dialect.Agent:
		default:
			continue
		}
		switch {
		case !s.has(a.call): // its record has ended
		case there == "":
			a.call.cancel()
		default:
			a.call.decidedThere(there)
		}
		a.cancel(cause)
		delete(s.asks, a)
	}
}

// dismissed records the calls of a session whose dialog has closed at the agent without an answer, if the person goes on talking to it: they have said no.
func (g *Guard) dismissed(ctx context.Context, s *session) error {
	return g.finishWhere(ctx, func(of *session, c *call) bool {
		no := of == s && c.ended == string(tool.Cancelled)
		if no {
			c.decidedThere("rejected")
			c.ended = string(tool.UserRejected)
		}
		return no
	})
}

// Withdraw ends all open questions, because the guard is about to end: the agents' own dialogs go on.
func (g *Guard) Withdraw() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range g.sessions {
		for a := range s.asks {
			a.cancel(errEnds)
		}
	}
}
