package approval

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/stet-dev/stet/internal/budget"
	"github.com/stet-dev/stet/policy"
	"github.com/stet-dev/stet/tool"
)

// run is one call on its way.
type run struct {
	h *Handler
	s *session
	c tool.Call
	t tool.Tool

	decision, by string // as the audit trail has them
	flags        []string
	request      string // see record.Entry; "": the call may be done again

	place   *place // among the calls of its session
	endTurn func() // nil: it is not this call's turn
}

// again is how often a person is asked again because the file changed; moves is
// how often it may change where nobody has to be asked. (FILE-15)
const (
	again = 3
	moves = 20
)

func (r *run) call(ctx context.Context, known bool) (tool.Result, error) {
	if wait := r.admit(time.Now()); wait > 0 {
		return r.limited(wait)
	}
	r.decision, r.by = "refused", "handler"
	if !known {
		return r.refuse(nil, tool.InvalidArgument, fmt.Sprintf("There is no tool %q.", r.c.Name))
	}
	if err := r.place.wait(ctx); err != nil {
		return r.ended(ctx, nil)
	}
	if r.h.isSuspended(ctx, r.s) {
		return r.refuse(nil, tool.PermissionDenied, suspended)
	}
	if r.c.Once && !r.t.Spec().ReadOnly {
		if res, over, err := r.earlier(ctx); err != nil {
			return r.broke(ctx, nil, err)
		} else if over {
			return res, nil
		}
	}
	plan, err := noted(r.t.Plan(ctx, r.c))
	if err != nil {
		return r.broke(ctx, nil, err)
	}
	var agreed *tool.Plan // what a person has agreed to
	defer r.giveWay()
	for asks, moved := 0, 0; ; {
		if r.s.suspension() != nil { // by another call, meanwhile
			return r.refuse(plan, tool.PermissionDenied, suspended)
		}
		d := r.decide(plan, r.h.Approver == nil)
		if plan.Done != nil && plan.Done.Failed() {
			return r.failed(plan, d)
		}
		if d.Action == policy.Ask && !covers(agreed, plan) {
			if asks > again {
				return r.conflict(plan)
			}
			r.giveWay()
			r.place.leave()
			a, res, err := r.ask(ctx, plan, d, asks)
			if res != nil || err != nil {
				return deref(res), err
			}
			asks++
			if a.Verdict == Edit {
				shown := plan
				if plan, err = noted(plan.Replan(ctx, a.Content)); err != nil {
					return r.broke(ctx, shown, err)
				}
				agreed = written(shown, plan)
				continue
			}
		} else if d.Action == policy.Deny {
			return r.deny(plan, d)
		} else if d.Action == policy.Allow {
			r.decision, r.by = "allowed", "policy "+d.Rule
		}
		if d.Action == policy.Ask {
			agreed = plan
		}
		if plan.Done != nil {
			return r.finish(plan, plan.Result())
		}
		if r.endTurn == nil && !plan.Has(tool.Outside) {
			if r.endTurn, err = r.h.turn(ctx, plan.Path); err != nil {
				return r.ended(ctx, plan)
			}
		}
		res, err := r.apply(ctx, plan)
		if !errors.Is(err, tool.ErrChanged) {
			return res, err
		}
		if moved++; moved > moves || plan.Replan == nil || !pause(ctx, moved) {
			return r.conflict(plan)
		}
		if plan, err = noted(plan.Replan(ctx, plan.Content)); err != nil {
			return r.broke(ctx, plan, err)
		}
	}
}

// failed ends a call that the tool itself refuses. What it says may quote the
// file, so who may not read the file, or not unasked, hears no more than that.
func (r *run) failed(p *tool.Plan, d policy.Decision) (tool.Result, error) {
	switch {
	case p.Path != "" && d.Action == policy.Deny:
		return r.deny(p, d)
	case p.Path != "" && d.Action == policy.Ask:
		r.decision, r.by = "refused", "tool"
		return r.refuse(p, p.Done.Code, fmt.Sprintf("%s of %q failed; why is not said, since to read the file a person has to be asked.", r.c.Name, p.Path))
	}
	r.decision, r.by = "refused", "tool"
	return r.finish(p, p.Result())
}

// giveWay ends the call's turn, if it is.
func (r *run) giveWay() {
	if r.endTurn != nil {
		r.endTurn()
		r.endTurn = nil
	}
}

// pause lets other processes get done with the file; longer, the more often it
// has moved. It reports whether ctx still holds.
func pause(ctx context.Context, moved int) bool {
	if moved == 1 {
		return true
	}
	most := min(time.Millisecond<<moved, 50*time.Millisecond)
	select {
	case <-time.After(rand.N(most)):
		return true
	case <-ctx.Done():
		return false
	}
}

// decide is what policy says of the plan. Of several files the one decides
// about which it is strictest.
func (r *run) decide(p *tool.Plan, nobody bool) policy.Decision {
	var worst policy.Decision
	grants := r.s.granted()
	for i, f := range files(p) {
		d := r.h.policy().Decide(policy.Request{
			Tool: r.c.Name, Path: f.Path, Write: r.writes(p), Notes: p.Notes, Grants: grants, Nobody: nobody,
		})
		if i == 0 || d.Stricter(worst) {
			worst = d
		}
	}
	return worst
}

// writes reports whether the plan would change something.
func (r *run) writes(p *tool.Plan) bool {
	return p.Done == nil && !(p.Has(tool.Outside) && r.t.Spec().ReadOnly)
}

// noted adds to a plan that writes what the names of its files give reason to
// note: the person is told, and the audit trail has it.
func noted(p *tool.Plan, err error) (*tool.Plan, error) {
	if err != nil || p.Done != nil {
		return p, err
	}
	for _, f := range files(p) {
		for _, n := range policy.NotesOf(f.Path) {
			if !p.Has(n) {
				p.Notes = append(p.Notes, n)
			}
		}
	}
	return p, nil
}

// written returns the plan if the person who wrote its content has thereby
// agreed to it: nothing about the file differs from what was shown. Else nil.
func written(shown, plan *tool.Plan) *tool.Plan {
	if shown.Path == plan.Path && shown.Before == plan.Before && !warnsOf(plan, shown, tool.Hidden, tool.Large) {
		return plan
	}
	return nil
}

// covers reports whether what a person agreed to is what plan does: it is the
// same plan, or the same change to a file that has only grown at its end
// since, as logs do.
func covers(agreed, plan *tool.Plan) bool {
	if agreed == nil || agreed == plan {
		return agreed != nil
	}
	same := plan.Path == agreed.Path && !plan.Diff.Empty() && plan.Diff.Text() == agreed.Diff.Text()
	return same && plan.Grown != "" && plan.Grown == agreed.Before && !warnsOf(plan, agreed, tool.Merged)
}

// warnsOf reports whether plan has notes that shown has not, other than these.
func warnsOf(plan, shown *tool.Plan, but ...tool.Note) bool {
	return slices.ContainsFunc(plan.Notes, func(n tool.Note) bool { return !shown.Has(n) && !slices.Contains(but, n) })
}

// ask asks a person. A result or an error is the end of the call.
func (r *run) ask(ctx context.Context, p *tool.Plan, d policy.Decision, asks int) (Answer, *tool.Result, error) {
	done, ok := r.h.beginAsking(r.c)
	if !ok {
		r.decision, r.by = "refused", "handler"
		res, err := r.refuse(p, tool.RateLimited, ManyQuestions)
		return Answer{}, &res, err
	}
	defer done()
	q := r.question(p, d, asks)
	asking, cancel := ctx, context.CancelFunc(func() {})
	if t := r.h.timeout(); t > 0 {
		q.Expires = q.Asked.Add(t)
		asking, cancel = context.WithDeadline(ctx, q.Expires)
	}
	defer cancel()
	budget.Free(ctx) // an open question is counted by its Queue
	a, err := r.h.Approver.Ask(asking, q)
	if err == nil {
		if err = q.Check(a); err != nil {
			err = fmt.Errorf("answer about %q: %w", p.Path, err)
		}
	}
	if err == nil {
		tool.Decided(ctx, decided(q, a))
	}
	var res tool.Result
	switch {
	case err == nil && a.Approves() && r.s.suspension() != nil:
		res, err = r.refuse(p, tool.PermissionDenied, suspended)
	case err == nil && a.Approves():
		r.approved(q, a)
		return a, nil, nil
	case err == nil && a.Verdict == Cancel:
		r.decision, r.by = "cancelled", person(a)
		res, err = r.refuse(p, tool.Cancelled, "The person who was asked cancelled the call. Nothing was written.")
	case err == nil:
		r.decision, r.by = "rejected", person(a)
		res, err = r.refuse(p, tool.UserRejected, rejection(a.Words))
	case ctx.Err() != nil:
		res, err = r.ended(ctx, p)
	case asking.Err() != nil:
		r.decision, r.by = "timeout", "handler"
		res, err = r.refuse(p, tool.Timeout, fmt.Sprintf("Nobody answered within %v. Nothing was written.", r.h.timeout()))
	case errors.Is(err, context.DeadlineExceeded): // by the approver's clock
		r.decision, r.by = "timeout", "approver"
		res, err = r.refuse(p, tool.Timeout, "Nobody answered in time. Nothing was written.")
	case errors.Is(err, ErrNobody):
		res, err = r.deny(p, r.decide(p, true))
	case errors.Is(err, ErrFull):
		r.decision, r.by = "refused", "handler"
		res, err = r.refuse(p, tool.RateLimited, "Too many questions wait for a person already. Wait for their answers.")
	default:
		res, err = r.broke(ctx, p, err)
	}
	return Answer{}, &res, err
}

// decided is an answer to q as a witness hears of it.
func decided(q Question, a Answer) tool.Decision {
	d := tool.Decision{CallID: q.CallID, Tool: q.Tool, Path: q.Path, Verdict: "approved", By: person(a), Words: a.Words}
	switch a.Verdict {
	case Edit:
		d.Verdict = "edited"
	case ForSession:
		d.Grant = "*"
	case ForPattern:
		d.Grant = a.Pattern
	case Reject:
		d.Verdict = "rejected"
	case Cancel:
		d.Verdict = "cancelled"
	}
	return d
}

func (r *run) question(p *tool.Plan, d policy.Decision, asks int) Question {
	q := Question{
		Asked: time.Now(), Root: r.h.Root, Session: r.c.Session, Client: r.c.Client, CallID: r.c.ID, Tool: r.c.Name,
		Path: p.Path, Write: r.writes(p), Before: p.Before, After: p.After, Size: p.Size, Diff: p.Diff,
		Notes: p.Notes, Content: p.Content, Editable: p.Content != nil && p.Replan != nil,
		Why: d.Rule, Grantable: d.Grantable, Relay: d.Relay, Again: asks, Seal: seal(p),
	}
	for _, f := range p.Files {
		q.Files = append(q.Files, File{Path: f.Path, Before: f.Before, After: f.After, Size: f.Size})
	}
	return q
}

// approved notes who approved, and what that holds for beyond this call.
func (r *run) approved(q Question, a Answer) {
	r.by = person(a)
	all := policy.Rule{On: policy.Read, Do: policy.Allow}
	if q.Write {
		all.On = policy.Write
	}
	if q.Outside() {
		if p, err := policy.ParsePattern(q.Tool); err == nil { // else it is asked about again
			all.Tools = []policy.Pattern{p}
		}
	}
	switch a.Verdict {
	case Approve:
		r.decision = "approved"
	case Edit:
		r.decision = "edited"
	case ForSession:
		r.decision = "approved for the session"
		r.s.grant(all)
	case ForPattern:
		r.decision = "approved for " + a.Pattern
		if p, err := policy.ParsePattern(a.Pattern); err == nil { // Check has parsed it before
			r.s.grant(policy.Rule{Paths: []policy.Pattern{p}, On: all.On, Do: policy.Allow})
		}
	}
}

// apply does what is planned, between its intent and its outcome in the trail.
// ErrChanged is the caller's to deal with; another error comes out of here as
// Call returns it.
func (r *run) apply(ctx context.Context, p *tool.Plan) (tool.Result, error) {
	if ctx.Err() != nil {
		return r.ended(ctx, p)
	}
	if !r.s.beginWrite() { // suspended while a person was asked
		return r.refuse(p, tool.PermissionDenied, suspended)
	}
	defer r.s.endWrite()
	return r.write(ctx, p)
}

// write is apply for what needs nobody's leave any more.
func (r *run) write(ctx context.Context, p *tool.Plan) (tool.Result, error) {
	intents, err := r.intend(ctx, p)
	if err != nil {
		if ctx.Err() != nil {
			return r.ended(ctx, p)
		}
		return tool.Result{}, fmt.Errorf("audit trail: %w; nothing was written", err)
	}
	res, err := p.Apply(ctx)
	r.conclude(ctx, p, intents, res, err)
	return res, err
}

func (r *run) conflict(p *tool.Plan) (tool.Result, error) {
	return r.refuse(p, tool.ConcurrentModification,
		fmt.Sprintf("%q keeps being changed meanwhile: nothing was written. Read it again and start from there.", p.Path))
}

func (r *run) deny(p *tool.Plan, d policy.Decision) (tool.Result, error) {
	r.decision, r.by = "denied", "policy "+d.Rule
	what := r.c.Name
	if p.Path != "" {
		what += fmt.Sprintf(" of %q", p.Path)
	}
	return r.refuse(p, tool.PermissionDenied, what+" is refused: "+d.Why+".")
}

// ended is the call's end when ctx is over.
func (r *run) ended(ctx context.Context, p *tool.Plan) (tool.Result, error) {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		r.decision, r.by = "timeout", "caller"
		return r.refuse(p, tool.Timeout, "The call's time is over. Nothing was written.")
	}
	r.decision, r.by = "cancelled", "caller"
	return r.refuse(p, tool.Cancelled, "The call was cancelled. Nothing was written.")
}

func rejection(words string) string {
	if words == "" {
		return "The person who was asked rejected this. Nothing was written."
	}
	return "The person who was asked rejected this, and says: " + words
}

func person(a Answer) string {
	by := "person"
	if a.By != "" {
		by += " " + a.By
	}
	if a.Relayed {
		by += " through the client"
	}
	return by
}

func deref(res *tool.Result) tool.Result {
	if res == nil {
		return tool.Result{}
	}
	return *res
}
