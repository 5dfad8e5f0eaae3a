package acp

import (
	"context"
	"testing"
)

// A cancellation cancels an earlier prompt that is waiting, that was taken and has no turn yet, or that has its turn.
func TestCancelAtAnyTime(t *testing.T) {
	for _, at := range []string{"waiting", "taken", "in its turn", "never"} {
		s := &session{}
		s.promptArrived()
		if at == "waiting" {
			s.cancelAll()
		}
		p := s.promptTaken()
		if at == "taken" {
			s.cancelAll()
		}
		ctx, leave, err := s.enter(context.WithValue(t.Context(), promptKey{}, p))
		if err != nil {
			t.Fatal(err)
		}
		if at == "in its turn" {
			s.cancelAll()
		}
		if got, want := ctx.Err() != nil, at != "never"; got != want {
			t.Errorf("%s: cancelled: %v", at, got)
		}
		leave()
		s.promptOver(p)

		// The next prompt is not cancelled.
		s.promptArrived()
		next := s.promptTaken()
		ctx, leave, err = s.enter(context.WithValue(t.Context(), promptKey{}, next))
		if err != nil || ctx.Err() != nil || len(s.taken) != 0 {
			t.Errorf("%s: the next prompt: %v, %v, %d taken", at, err, ctx.Err(), len(s.taken))
		}
		leave()
	}
}
