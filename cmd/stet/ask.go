package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os/exec"
	"runtime"

	"github.com/stet-dev/stet/cmd/stet/internal/terminal"
	"github.com/stet-dev/stet/files/approval"
)

// agreed approves changes that the person has agreed to on the command line.
type agreed struct{}

// Ask implements approval.Approver.
func (agreed) Ask(_ context.Context, q approval.Question) (approval.Answer, error) {
	return approval.Answer{Verdict: approval.Approve, Seal: q.Seal, By: approval.LocalPerson()}, nil
}

// here asks the person at this terminal, and does not offer answers for later calls.
type here struct{ approval.Approver }

// Ask implements approval.Approver.
func (h here) Ask(ctx context.Context, q approval.Question) (approval.Answer, error) {
	q.Grantable, q.Editable = false, false
	a, err := h.Approver.Ask(ctx, q)
	if a.By = approval.LocalPerson(); errors.Is(err, io.EOF) {
		err = approval.ErrNoPerson
	}
	return a, err
}

// dialog is the dialog on the program's own streams.
func (p *program) dialog() *terminal.Dialog {
	return &terminal.Dialog{In: p.in, Out: p.out, Env: p.env, Editor: p.editor()}
}

// editor returns the shell command of a person's editor: the configured one, or else an installed one; "" if there is none.
func (p *program) editor() string {
	if own := cmp.Or(p.getenv("VISUAL"), p.getenv("EDITOR")); own != "" {
		return own
	}
	usual := []string{"nano", "vi"}
	if runtime.GOOS == "windows" {
		usual = []string{"notepad"}
	}
	for _, name := range usual {
		if _, err := exec.LookPath(name); err == nil {
			return name
		}
	}
	return ""
}
