package tui

import (
	"context"
	"errors"
	"io"

	"github.com/stet-dev/stet/approval"
)

// Ask implements approval.Approver, for a program that asks the person before
// it now, one question at a time. Who leaves without an answer has cancelled.
func (d *Dialog) Ask(ctx context.Context, q approval.Question) (approval.Answer, error) {
	a, err := d.ask(ctx, q, func() ([]byte, error) { return append([]byte(nil), q.Content...), nil })
	if errors.Is(err, errNext) || errors.Is(err, errQuit) || errors.Is(err, io.EOF) {
		return approval.Answer{Verdict: approval.Cancel}, nil
	}
	return a, err
}
