package approval

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/tool"
)

// lost is the message for every session once the trail has lost entries.
const lost = "The audit trail has lost entries, so nothing is read or written any more. A person has to look at it: \"stet audit --verify\" says what is missing."

// entry returns the trail's entry about the call. p may be nil.
func (r *run) entry(kind record.Kind, p *tool.Plan) record.Entry {
	e := record.Entry{
		Kind: kind, Time: time.Now(), Root: r.h.Root, Session: r.c.Session, Client: r.c.Client, CallID: r.c.ID, Tool: r.c.Name,
		Decision: r.decision, By: r.by, Flags: append([]string(nil), r.flags...), Request: r.request,
	}
	if p != nil {
		e.Path, e.Before = p.Path, p.Before
		for _, n := range p.Notes {
			e.Flags = append(e.Flags, string(n))
		}
	}
	if e.Path == "" && (p == nil || !p.Has(tool.Outside)) {
		e.Path = r.path
	}
	return e
}

// finish records a call that changed nothing, and returns its result.
func (r *run) finish(p *tool.Plan, res tool.Result) (tool.Result, error) {
	e := r.entry(record.Call, p)
	e.Bytes, e.Outcome = int64(len(res.Text)), outcome(res, nil)
	if res.Content != nil {
		e.Bytes += res.Content.Size
	}
	if !res.Failed() || r.s == nil {
		return res, r.record(e)
	}
	what, begun := r.suspect(res)
	if what == "" {
		return res, r.record(e)
	}
	e.Flags = append(e.Flags, "suspicious")
	err := r.record(e)
	r.h.alarm(r.s, r.c, what, begun)
	return res, err
}

// record gives an entry to the trail. If the call may be repeated under its id, the entry is written before the caller gets the
// result, because the repeated call must end in the same way.
func (r *run) record(e record.Entry) error {
	if r.request != "" {
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		defer cancel()
		if _, err := r.h.journal().Now(ctx, e); err == nil {
			return nil
		}
	}
	if err := r.h.journal().Later(e); err != nil {
		return fmt.Errorf("audit trail: %w", err)
	}
	return nil
}

// files returns the files that a plan writes to.
func files(p *tool.Plan) []tool.File {
	if len(p.Files) > 0 {
		return p.Files
	}
	return []tool.File{{Path: p.Path, Before: p.Before, After: p.After, Size: p.Size, Dirs: p.Dirs}}
}

// perFile returns an entry for each file of the plan.
func (r *run) perFile(kind record.Kind, p *tool.Plan) []record.Entry {
	var out []record.Entry
	for _, f := range files(p) {
		e := r.entry(kind, p)
		e.Path, e.Before, e.After, e.Bytes = f.Path, f.Before, f.After, f.Size
		if kind == record.Intent && f.Dirs > 0 {
			e.Flags = append(e.Flags, record.NewDirs(f.Dirs))
		}
		out = append(out, e)
	}
	return out
}

// intend records a write before it is done.
func (r *run) intend(ctx context.Context, p *tool.Plan) ([]record.Entry, error) {
	return r.h.journal().Now(ctx, r.perFile(record.Intent, p)...)
}

// conclude records the result of a write, even if ctx has ended. If the trail cannot be written, the write is not undone; then its
// outcome is missing from the trail.
func (r *run) conclude(ctx context.Context, p *tool.Plan, intents []record.Entry, res tool.Result, err error) {
	entries, what := r.perFile(record.Outcome, p), outcome(res, err)
	if len(entries) > 1 && err == nil && res.Failed() {
		what = record.Broke // some of the files may have been written
	}
	for i := range entries {
		entries[i].Intent, entries[i].Outcome = intents[i].Seq, what
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer cancel()
	if _, err := r.h.journal().Now(ctx, entries...); err != nil {
		r.h.log().Error("audit trail: outcome not recorded", "intent", intents[0].Seq, "outcome", what, "err", err)
	}
}

func outcome(res tool.Result, err error) string {
	switch {
	case errors.Is(err, tool.ErrChanged):
		return string(tool.ConcurrentModification)
	case err != nil:
		return record.Broke
	case res.Failed():
		return string(res.Code)
	}
	return record.OK
}

// suspect counts a refused call, and returns the name of the limit that it exceeded. It does not count a person's refusal, or a
// refusal that asks the session to read a file first, or a path that is written in another form and stays in the workspace.
func (r *run) suspect(res tool.Result) (what string, begun *suspension) {
	if res.Code == tool.InvalidPath && !res.Outside || r.by != "tool" && (r.decision != "denied" || r.by == "policy unread" || r.by == "policy stale") {
		return "", nil
	}
	return r.s.count(r.h.Suspicion, res.Code, time.Now())
}
