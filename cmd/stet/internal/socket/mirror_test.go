package socket

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/server/web"
)

// A question of the guard is on the page of another process. If two people answer at once, here and there, exactly one answer counts, and who comes
// second hears of the first. A question whose agent is gone cannot be answered on the page either. (GRD-1)
func TestMirror(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	state := t.TempDir()
	listener, err := ListenGuard(state)
	if err != nil {
		t.Fatal(err)
	}
	guard, page := new(approval.Queue), new(approval.Queue)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() {
		defer listener.Remove()
		if err := (&web.Handler{Queue: guard}).ServeLocal(ctx, listener); err != nil {
			t.Error(err)
		}
	})
	running.Go(func() { MirrorGuards(ctx, state, page, slog.New(slog.DiscardHandler)) })
	sub := page.Subscribe()
	defer sub.Close()
	next := func() approval.Event {
		e, err := sub.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	ask := func() (q approval.Question, gone context.CancelFunc, given <-chan approval.Answer) {
		asking, gone := context.WithCancel(ctx)
		answers := make(chan approval.Answer, 1)
		running.Go(func() {
			a, _ := guard.Ask(asking, approval.Question{Native: true, Command: "touch one", Seal: "seal", Session: "s"})
			answers <- a
		})
		return *next().Opened, gone, answers
	}
	answer := func(q *approval.Queue, id string, v approval.Verdict, by string) error {
		return q.Answer(id, approval.Answer{Verdict: v, Seal: "seal", By: by})
	}
	for range 10 {
		q, _, given := ask()
		var there, here error
		var both sync.WaitGroup
		both.Go(func() { there = answer(guard, q.ID, approval.Reject, "terminal") })
		both.Go(func() { here = answer(page, q.ID, approval.Approve, "desk") })
		both.Wait()
		a := <-given
		if (there == nil) == (here == nil) || (a.Verdict == approval.Reject) != (there == nil) {
			t.Fatalf("%v, %v, and what counts is %+v", there, here, a)
		}
		if late := errors.Join(there, here); !errors.Is(late, approval.ErrAnswered) {
			t.Error(late)
		}
		if c := next().Closed; c == nil || c.ID != q.ID {
			t.Fatalf("%+v", c)
		}
	}
	q, gone, _ := ask()
	gone()
	next()
	if err := answer(page, q.ID, approval.Approve, "desk"); !errors.Is(err, approval.ErrAnswered) {
		t.Error(err)
	}
}
