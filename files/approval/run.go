package approval

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/tool"
)

// run is the run of one call.
type run struct {
	h *Handler
	s *session
	c tool.Call
	t tool.Tool // nil: no tool has that name

	path     string // the path in the arguments; "": none
	turn     *turn  // in the lane of its session
	fileTurn *turn  // in the lane of its file; nil: the call is not in that lane

	agreed *tool.Plan // the plan that a person approved; nil: none yet
	asked  int        // how often a person was asked
	moved  int        // how often the file had changed before the plan was applied

	decision, by string // values for the audit trail
	flags        []string
	request      string // see record.Entry; "": the call may be done again
}

// maxAgain limits how often a person is asked again because the file changed. maxMoves limits how often the file may change when no
// person has to be asked.
const (
	maxAgain = 3
	maxMoves = 20
)

// start gives a call its turn among the calls of its session.
func (h *Handler) start(c tool.Call, t tool.Tool) *run {
	r := &run{h: h, t: t, path: tool.PathIn(c.Arguments), decision: "refused", by: "handler"}
	touched, writes := ".", false
	if t != nil {
		s := t.Spec()
		c.Name = s.Name // rules and the trail use the tool's name, not an alias
		touched, writes = h.clean(r.path), !s.ReadOnly
	}
	r.c = c
	r.turn = h.order.enter(lane{sessionLane, c.Session}, touched, writes)
	return r
}

// call runs the call from its start to its end.
func (r *run) call(ctx context.Context) (tool.Result, error) {
	defer r.turn.leave()
	defer r.leaveFile()
	s, err := r.h.openSession(ctx, r.c.Session)
	if err != nil {
		return tool.Result{}, fmt.Errorf("%s: %w", r.c.Name, err)
	}
	defer r.h.closeSession(s)
	r.s = s
	res, err := r.do(ctx)
	switch {
	case errors.Is(err, record.ErrFull):
		full := refused{code: tool.DiskFull, message: "The call cannot be recorded, since the file system of stet's state directory is full; make space there. " + r.nothing(nil)}
		res = full.result(r)
	case errors.Is(err, record.ErrLost):
		res = (&refused{code: tool.PermissionDenied, message: lost}).result(r)
	case err != nil:
		return tool.Result{}, fmt.Errorf("%s: %w", r.c.Name, err)
	}
	res.CallID = r.c.ID
	return res, nil
}

// do runs the steps of the call: plan, decide, ask, apply, record. If the file changed meanwhile, it plans again.
func (r *run) do(ctx context.Context) (tool.Result, error) {
	if err := r.check(ctx); err != nil {
		return r.end(ctx, nil, err)
	}
	if r.c.Once && !r.t.Spec().ReadOnly {
		if res, over, err := r.earlier(ctx); err != nil {
			return r.end(ctx, nil, err)
		} else if over {
			return res, nil
		}
	}
	plan, err := noted(r.t.Plan(ctx, r.c))
	if err != nil {
		return r.end(ctx, nil, err)
	}
	for {
		settled, err := r.settlePlan(ctx, plan)
		if err != nil {
			return r.end(ctx, plan, err)
		}
		if settled != plan { // the person edited the content
			plan = settled
			continue
		}
		if plan.Done != nil {
			if r.s.suspension() != nil { // since it was planned; for writes see apply
				r.decision, r.by = "refused", "handler"
				return r.end(ctx, plan, r.suspended())
			}
			return r.finish(plan, plan.Result())
		}
		res, err := r.apply(ctx, plan)
		if !errors.Is(err, tool.ErrChanged) {
			return res, err
		}
		again, err := r.planAgain(ctx, plan)
		if err != nil {
			return r.end(ctx, plan, err)
		}
		plan = again
	}
}

// check refuses calls that must not be planned.
func (r *run) check(ctx context.Context) error {
	if err := r.checkRate(time.Now()); err != nil {
		return err
	}
	if r.t == nil {
		return &refused{decision: "refused", by: "handler", code: tool.InvalidArgument, message: fmt.Sprintf("There is no tool %q.", r.c.Name)}
	}
	if err := r.turn.wait(ctx); err != nil {
		return err
	}
	if r.h.isSuspended(ctx, r.s) {
		return r.suspended()
	}
	return nil
}

// settlePlan decides about a plan, and asks a person if policy says so. It returns the plan if it may be applied. If the person
// edited the content, it returns a new plan, which must be decided about again.
func (r *run) settlePlan(ctx context.Context, plan *tool.Plan) (*tool.Plan, error) {
	d := r.decide(plan, r.h.Approver == nil)
	switch {
	case plan.Done != nil && plan.Done.Failed():
		return plan, r.hideFailure(plan, d)
	case d.Action == policy.Deny:
		return nil, r.denied(plan, d)
	case d.Action == policy.Allow:
		r.decision, r.by = "allowed", "policy "+d.Rule
		return plan, nil
	case covers(r.agreed, plan):
		r.agreed = plan
		return plan, nil
	case r.asked > maxAgain:
		return nil, conflict(plan)
	}
	r.leaveFile()
	r.turn.leave()
	a, err := r.ask(ctx, plan, d)
	if err != nil {
		return nil, err
	}
	r.asked++
	r.agreed = plan
	if a.Verdict != Edit {
		return plan, nil
	}
	edited, err := noted(plan.Replan(ctx, a.Content))
	if err != nil {
		return nil, err
	}
	r.agreed = nil
	if asShown(plan, edited) {
		r.agreed = edited
	}
	return edited, nil
}

// hideFailure handles a call that the tool itself refuses. The tool's message may quote the file. If the caller may not read the
// file without a question, it learns only that the call failed.
func (r *run) hideFailure(p *tool.Plan, d policy.Decision) error {
	r.decision, r.by = "refused", "tool"
	switch {
	case p.Path == "" || d.Action == policy.Allow:
		return nil
	case p.Done.Code == tool.FileNotFound && d.Rule == policy.ForSecret: // there is nothing to quote
		return nil
	case d.Action == policy.Deny:
		return r.denied(p, d)
	}
	return &refused{decision: "refused", by: "tool", code: p.Done.Code, message: fmt.Sprintf(
		"%s of %q failed; why is not said, since to read the file a person has to be asked.", r.c.Name, p.Path)}
}

// decide returns policy's decision about the plan. If the plan has several files, the strictest decision counts.
func (r *run) decide(p *tool.Plan, unattended bool) policy.Decision {
	var worst policy.Decision
	grants := r.s.granted()
	for i, f := range files(p) {
		d := r.h.policy().Decide(policy.Request{
			Tool: r.c.Name, Path: f.Path, Write: r.writes(p), Notes: p.Notes, Grants: grants, NoPerson: unattended,
		})
		if i == 0 || d.Stricter(worst) {
			worst = d
		}
	}
	return worst
}

// writes reports whether the plan would change a file.
func (r *run) writes(p *tool.Plan) bool {
	return p.Done == nil && !(p.Has(tool.Outside) && r.t.Spec().ReadOnly)
}

// noted adds the notes about the names of a plan's files. The person and the audit trail get the notes.
func noted(p *tool.Plan, err error) (*tool.Plan, error) {
	if err != nil {
		return p, err
	}
	for _, f := range files(p) {
		var notes []tool.Note
		if p.Done == nil {
			notes = policy.NotesOf(f.Path)
		}
		if policy.Secret(f.Path) {
			notes = append(notes, tool.Secret)
		}
		for _, n := range notes {
			if !p.Has(n) {
				p.Notes = append(p.Notes, n)
			}
		}
	}
	return p, nil
}

// asShown reports whether a person who edited the content has also approved it: apart from the content, the file is as it was
// shown.
func asShown(shown, edited *tool.Plan) bool {
	return shown.Path == edited.Path && shown.Before == edited.Before && !warnsOf(edited, shown, tool.Hidden, tool.Large)
}

// covers reports whether a person's approval of agreed covers plan. It is the same plan, or the same change to a file that has only
// grown at its end since, as log files do.
func covers(agreed, plan *tool.Plan) bool {
	if agreed == nil || agreed == plan {
		return agreed != nil
	}
	same := plan.Path == agreed.Path && !plan.Diff.Empty() && plan.Diff.Text() == agreed.Diff.Text()
	return same && plan.Grown != "" && plan.Grown == agreed.Before && !warnsOf(plan, agreed, tool.Merged)
}

// warnsOf reports whether plan has notes that shown does not have, apart from these.
func warnsOf(plan, shown *tool.Plan, but ...tool.Note) bool {
	return slices.ContainsFunc(plan.Notes, func(n tool.Note) bool { return !shown.Has(n) && !slices.Contains(but, n) })
}

// apply applies the plan when it is the call's turn at the file. ErrChanged says that the file has changed since the plan. Other
// errors are returned by Call unchanged.
func (r *run) apply(ctx context.Context, p *tool.Plan) (tool.Result, error) {
	if r.fileTurn == nil && !p.Has(tool.Outside) {
		r.fileTurn = r.h.order.enter(lane{fileLane, p.Path}, p.Path, true)
		if err := r.fileTurn.wait(ctx); err != nil {
			return r.end(ctx, p, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return r.end(ctx, p, err)
	}
	if !r.s.beginWrite() { // the session was suspended while a person was asked
		return r.end(ctx, p, r.suspended())
	}
	defer r.s.endWrite()
	return r.write(ctx, p)
}

// write applies the plan between the trail's intent and outcome.
func (r *run) write(ctx context.Context, p *tool.Plan) (tool.Result, error) {
	intents, err := r.intend(ctx, p)
	switch {
	case err != nil && ctx.Err() != nil:
		return r.end(ctx, p, err)
	case err != nil:
		return tool.Result{}, fmt.Errorf("audit trail: %w; nothing was written", err)
	}
	p.Numbers = nil
	for _, e := range intents {
		p.Numbers = append(p.Numbers, e.Seq)
	}
	res, err := p.Apply(ctx)
	r.conclude(ctx, p, intents, res, err)
	return res, err
}

// planAgain plans again after the file has changed.
func (r *run) planAgain(ctx context.Context, p *tool.Plan) (*tool.Plan, error) {
	if r.moved++; r.moved > maxMoves || p.Replan == nil || !pause(ctx, r.moved) {
		return nil, conflict(p)
	}
	return noted(p.Replan(ctx, p.Content))
}

// pause waits so that other processes can finish with the file. The wait grows with the number of changes. It reports whether ctx
// is still valid.
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

// leaveFile gives up the call's turn in the lane of its file, if it has one.
func (r *run) leaveFile() {
	if r.fileTurn != nil {
		r.fileTurn.leave()
		r.fileTurn = nil
	}
}

// end turns the error of a step into the end of the call: a result or an error, and an entry in the trail. p may be nil.
func (r *run) end(ctx context.Context, p *tool.Plan, err error) (tool.Result, error) {
	var no *refused
	switch {
	case errors.As(err, &no):
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		no = &refused{decision: "timeout", by: "caller", code: tool.Timeout, message: "The call's time is over. " + r.nothing(p)}
	case ctx.Err() != nil:
		no = &refused{decision: "cancelled", by: "caller", code: tool.Cancelled, message: "The call was cancelled. " + r.nothing(p)}
	default:
		e := r.entry(record.Call, p)
		e.Outcome = record.Broke
		if audit := r.h.journal().Later(e); audit != nil {
			err = errors.Join(err, fmt.Errorf("audit trail: %w", audit))
		}
		return tool.Result{}, err
	}
	res := no.result(r)
	if no.unrecorded {
		return res, nil
	}
	if no.decision != "" {
		r.decision, r.by = no.decision, no.by
	}
	return r.finish(p, res)
}
