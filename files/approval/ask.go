package approval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/tool"
)

// ask asks a person about a plan. It returns an error if the person did not approve.
func (r *run) ask(ctx context.Context, p *tool.Plan, d policy.Decision) (Answer, error) {
	_, tokens := r.h.limits()
	done, ok := tokens.Ask(r.c.Account)
	if !ok {
		return Answer{}, &refused{decision: "refused", by: "handler", code: tool.RateLimited, message: limits.ManyQuestions}
	}
	defer done()
	q := r.question(p, d)
	asking, cancel := ctx, context.CancelFunc(func() {})
	if t := r.patience(); t > 0 {
		q.Expires = q.Asked.Add(t)
		asking, cancel = context.WithDeadline(ctx, q.Expires)
	}
	defer cancel()
	limits.Free(ctx) // the Queue counts the bytes of an open question
	a, err := r.h.Approver.Ask(asking, q)
	if err != nil {
		return Answer{}, r.unanswered(ctx, q, p, err)
	}
	if err := q.Check(a); err != nil {
		return Answer{}, fmt.Errorf("answer about %q: %w", p.Path, err)
	}
	tool.Decided(ctx, decided(q, a))
	switch {
	case a.Approves():
		r.approved(q, a)
		return a, nil
	case a.Verdict == Cancel:
		return Answer{}, &refused{decision: "cancelled", by: person(a), code: tool.Cancelled,
			message: "The person who was asked cancelled the call. " + r.nothing(p)}
	}
	return Answer{}, &refused{decision: "rejected", by: person(a), code: tool.UserRejected, message: rejection(a.Words, r.nothing(p))}
}

// unanswered returns the end of a call whose question q got no answer, for the reason err. A caller may end the call at the
// question's deadline, too: the question has expired then.
func (r *run) unanswered(ctx context.Context, q Question, p *tool.Plan, err error) error {
	switch {
	case q.expired(time.Now()), errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		return &refused{decision: "timeout", by: "handler", code: tool.Timeout,
			message: fmt.Sprintf("No person answered within %v. %s", r.patience(), r.nothing(p))}
	case ctx.Err() != nil:
		return err
	case errors.Is(err, ErrNoPerson):
		return r.denied(p, r.decide(p, true))
	case errors.Is(err, ErrFull):
		return &refused{decision: "refused", by: "handler", code: tool.RateLimited,
			message: "Too many questions wait for a person already. Wait for their answers."}
	}
	return err
}

func (r *run) question(p *tool.Plan, d policy.Decision) Question {
	q := Question{
		Asked: time.Now(), Root: r.h.Root, Session: r.c.Session, Client: r.c.Client, CallID: r.c.ID, Tool: r.c.Name,
		Path: p.Path, Write: r.writes(p), Before: p.Before, After: p.After, Size: p.Size, Diff: p.Diff,
		Notes: p.Notes, Content: p.Content, Editable: p.Content != nil && p.Replan != nil,
		Why: d.Rule, Grantable: d.Grantable, Relay: d.Relay, Again: r.asked, Seal: seal(p),
	}
	for _, f := range p.Files {
		q.Files = append(q.Files, File{Path: f.Path, Before: f.Before, After: f.After, Size: f.Size})
	}
	q.Complete()
	return q
}

// approved records the approver, and stores what the answer allows beyond this call.
func (r *run) approved(q Question, a Answer) {
	r.by = person(a)
	grant := policy.Rule{On: policy.Read, Do: policy.Allow}
	if q.Write {
		grant.On = policy.Write
	}
	switch a.Verdict {
	case Approve:
		r.decision = "approved"
	case Edit:
		r.decision = "edited"
	case ForSession:
		r.decision = "approved for the session"
		if q.Outside() {
			if p, err := policy.ParsePattern(q.Tool); err == nil { // if this fails, the next call is asked about again
				grant.Tools = []policy.Pattern{p}
			}
		}
		r.s.grant(grant)
	case ForPattern:
		r.decision = "approved for " + a.Pattern
		if p, err := policy.ParsePattern(a.Pattern); err == nil { // Check has parsed it before
			grant.Paths = []policy.Pattern{p}
			r.s.grant(grant)
		}
	}
}

// decided returns an answer to q in the form for a witness.
func decided(q Question, a Answer) tool.Decision {
	verdicts := map[Verdict]string{Edit: "edited", Reject: "rejected", Cancel: "cancelled"}
	d := tool.Decision{CallID: q.CallID, Tool: q.Tool, Path: q.Path, Verdict: cmp.Or(verdicts[a.Verdict], "approved"), By: person(a), Words: a.Words}
	switch a.Verdict {
	case ForSession:
		d.Grant = "*"
	case ForPattern:
		d.Grant = a.Pattern
	}
	return d
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
