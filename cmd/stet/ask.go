package main

import (
	"cmp"
	"context"

	"github.com/stet-dev/stet/approval"
	"github.com/stet-dev/stet/tui"
)

// agreed approves what the person has agreed to on the command line.
type agreed struct{}

// Ask implements approval.Approver.
func (agreed) Ask(_ context.Context, q approval.Question) (approval.Answer, error) {
	return approval.Answer{Verdict: approval.Approve, Seal: q.Seal, By: "on the command line"}, nil
}

// here puts questions to the person at this terminal, and offers no answers
// that hold for longer.
type here struct{ approval.Approver }

// Ask implements approval.Approver.
func (h here) Ask(ctx context.Context, q approval.Question) (approval.Answer, error) {
	q.Grantable, q.Editable = false, false
	a, err := h.Approver.Ask(ctx, q)
	a.By = "at the terminal"
	return a, err
}

// dialog is the dialog on the program's own streams.
func (p *program) dialog() *tui.Dialog {
	return &tui.Dialog{
		In: p.in, Out: p.out, Color: isTerminal(p.out) && p.getenv("NO_COLOR") == "",
		Editor: cmp.Or(p.getenv("VISUAL"), p.getenv("EDITOR")),
	}
}
