package session_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/test/sessiontest"
)

// With Poll, a waiting subscriber gets the events of another process, once and in order. Without Poll it gets none.
func TestHubPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var store session.Memory
		other, err := session.Create(t.Context(), &store, session.Opening{}, sessiontest.Text(llm.User, "2"))
		if err != nil {
			t.Fatal(err)
		}
		here := &session.Hub{Store: &store, Poll: time.Second}
		sub, err := here.Subscribe(t.Context(), other.ID(), 2)
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		deaf, err := (&session.Hub{Store: &store}).Subscribe(t.Context(), other.ID(), 2)
		if err != nil {
			t.Fatal(err)
		}
		defer deaf.Close()
		go func() {
			for i := range 3 {
				time.Sleep(5 * time.Second)
				if err := other.Append(t.Context(), sessiontest.Text(llm.User, "a"), sessiontest.Text(llm.User, "b")); err != nil {
					t.Errorf("append %d: %v", i, err)
				}
			}
		}()
		for seq := uint64(3); seq <= 8; seq++ {
			if e, err := sub.Next(t.Context()); err != nil || e.Seq != seq {
				t.Fatalf("event %d, %v, want %d", e.Seq, err, seq)
			}
		}
		waiting, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if e, err := sub.Next(waiting); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("event %d, %v, want none", e.Seq, err)
		}
		waiting, stop = context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if e, err := deaf.Next(waiting); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without a poll: event %d, %v", e.Seq, err)
		}
	})
}
