package approval_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/tool"
)

// asker asks a queue in the background.
type asker struct {
	a    approval.Answer
	err  error
	done chan struct{}
}

func ask(ctx context.Context, q *approval.Queue, question approval.Question) *asker {
	a := &asker{done: make(chan struct{})}
	go func() {
		defer close(a.done)
		a.a, a.err = q.Ask(ctx, question)
	}()
	return a
}

// Two people answer one queue: the first answer counts, and the second person is told whose answer it was.
func TestFirstAnswerWins(t *testing.T) {
	for range 50 {
		var q approval.Queue
		asked := ask(t.Context(), &q, approval.Question{Path: "a", Seal: "seal"})
		sub := q.Subscribe()
		e, err := sub.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var won atomic.Int32
		var winner atomic.Value
		var wg sync.WaitGroup
		for _, name := range []string{"desk", "lab", "cleo"} {
			wg.Go(func() {
				err := q.Answer(e.Opened.ID, approval.Answer{Verdict: approval.Approve, Seal: "seal", By: name})
				if err == nil {
					won.Add(1)
					winner.Store(name)
				} else if !errors.Is(err, approval.ErrAnswered) || !strings.Contains(err.Error(), "approved by ") {
					t.Errorf("the late one hears %v", err)
				}
			})
		}
		wg.Wait()
		<-asked.done
		if won.Load() != 1 || asked.err != nil || asked.a.By != winner.Load() {
			t.Errorf("%d won; answer %+v, %v", won.Load(), asked.a, asked.err)
		}
		e, err = sub.Next(t.Context())
		if err != nil || e.Closed == nil || e.Closed.By != winner.Load() || e.Closed.How != "approve" {
			t.Errorf("event %+v, %v", e, err)
		}
		sub.Close()
	}
}

func TestLateAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q approval.Queue
		ctx, cancel := context.WithCancel(t.Context())
		withdrawn := ask(ctx, &q, approval.Question{Path: "a"})
		synctest.Wait()
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		expired := ask(ctx, &q, approval.Question{Path: "b", Expires: time.Now().Add(time.Minute)})
		synctest.Wait()
		open := q.Open()
		if len(open) != 2 || open[0].Path != "a" || open[1].Path != "b" {
			t.Fatalf("open: %+v", open)
		}
		cancel()
		<-withdrawn.done
		<-expired.done
		if !errors.Is(withdrawn.err, context.Canceled) || !errors.Is(expired.err, context.DeadlineExceeded) {
			t.Errorf("%v, %v", withdrawn.err, expired.err)
		}
		for i, how := range []string{"withdrawn", "expired"} {
			err := q.Answer(open[i].ID, approval.Answer{Verdict: approval.Approve})
			if !errors.Is(err, approval.ErrAnswered) || !strings.HasSuffix(err.Error(), how) {
				t.Errorf("%v, want %s", err, how)
			}
		}
		if err := q.Answer("nonsense", approval.Answer{Verdict: approval.Approve}); !errors.Is(err, approval.ErrUnknown) {
			t.Error(err)
		}
	})
}

// A question cannot be approved at or after its deadline, not even by a grant for another question, while its caller has not yet
// withdrawn it.
func TestExpiredIsNotApproved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, late := range []time.Duration{0, time.Second} {
			var q approval.Queue
			ctx, cancel := context.WithCancel(t.Context())
			question := approval.Question{Path: "a", Session: "s", Grantable: true, Expires: time.Now().Add(time.Minute)}
			expired := ask(ctx, &q, question)
			synctest.Wait()
			question.Expires = time.Time{}
			lasting := ask(ctx, &q, question)
			synctest.Wait()
			open := q.Open()
			time.Sleep(time.Minute + late)
			for _, v := range []approval.Verdict{approval.Approve, approval.ForSession, approval.Reject} {
				if err := q.Answer(open[0].ID, approval.Answer{Verdict: v}); !errors.Is(err, approval.ErrAnswered) || !strings.HasSuffix(err.Error(), "expired") {
					t.Errorf("%v late: %s: %v", late, v, err)
				}
			}
			if err := q.Answer(open[1].ID, approval.Answer{Verdict: approval.ForSession}); err != nil {
				t.Error(err)
			}
			<-lasting.done
			if left := q.Open(); len(left) != 1 || left[0].ID != open[0].ID {
				t.Errorf("%v late: open: %+v", late, left)
			}
			cancel()
			<-expired.done
			if !errors.Is(expired.err, context.Canceled) {
				t.Errorf("%v late: %+v, %v", late, expired.a, expired.err)
			}
			if err := q.Answer(open[0].ID, approval.Answer{Verdict: approval.Approve}); err == nil || !strings.HasSuffix(err.Error(), "expired") {
				t.Error(err)
			}
		}
	})
}

// A question is either answered or expired: exactly one of the two.
func TestAnswerAtTheLastMoment(t *testing.T) {
	for i := range 300 {
		synctest.Test(t, func(t *testing.T) {
			var q approval.Queue
			deadline := time.Now().Add(time.Second)
			ctx, cancel := context.WithDeadline(t.Context(), deadline)
			defer cancel()
			asked := ask(ctx, &q, approval.Question{Path: "a", Expires: deadline})
			synctest.Wait()
			id := q.Open()[0].ID
			time.Sleep(time.Second - time.Duration(i%2))
			err := q.Answer(id, approval.Answer{Verdict: approval.Approve})
			<-asked.done
			if (err == nil) != (asked.err == nil) {
				t.Errorf("the person hears %v, the call %v", err, asked.err)
			}
		})
	}
}

func TestQueueLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := approval.Queue{Limit: 2}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for range 2 {
			ask(ctx, &q, approval.Question{})
		}
		synctest.Wait()
		if _, err := q.Ask(ctx, approval.Question{}); !errors.Is(err, approval.ErrFull) {
			t.Error(err)
		}
		cancel()
		synctest.Wait()
		if len(q.Open()) != 0 {
			t.Error("still open")
		}
	})
}

// The lines of a question are counted once, when it is asked.
func TestQueueCountsLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for diff, want := range map[string][2]int{
			"--- a/x\n+++ b/x\n@@ -1,3 +1,4 @@\n one\n--- two\n+++ two\n+more\n three\n":       {2, 1},
			"--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+one\n\\ No newline at end of file\n":      {1, 0},
			"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n--- a/y\n+++ b/y\n@@ -2,2 +2 @@\n-a\n b\n": {1, 2},
			"no diff": {0, 0},
		} {
			var q approval.Queue
			ctx, cancel := context.WithCancel(t.Context())
			ask(ctx, &q, approval.Question{Diff: tool.ParseDiff(diff), Content: []byte("unused")})
			synctest.Wait()
			if got := q.Open()[0]; got.Added != want[0] || got.Removed != want[1] {
				t.Errorf("%q: %d added, %d removed", diff, got.Added, got.Removed)
			}
			cancel()
			synctest.Wait()
		}
	})
}

// A subscriber that did not fetch a question before its end holds none of its content.
func TestClosedUnseen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q approval.Queue
		sub := q.Subscribe()
		defer sub.Close()
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		_, _ = q.Ask(gone, approval.Question{Path: "a", Diff: tool.Diff{Other: "d"}, Content: []byte("c")})
		e, err := sub.Next(t.Context())
		if err != nil || e.Opened == nil || e.Opened.Path != "a" || !e.Opened.Diff.Empty() || e.Opened.Content != nil {
			t.Errorf("%+v %v", e.Opened, err)
		}
		if e, err := sub.Next(t.Context()); err != nil || e.Closed == nil {
			t.Error(e, err)
		}
	})
}

// The bytes of open questions are bounded, for one workspace and for all.
func TestQueueBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := approval.Queue{Bytes: 3 << 20}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		large := approval.Question{Root: "a", Diff: tool.Diff{Other: strings.Repeat("x", 200<<10)}, Content: make([]byte, 200<<10)}
		first := ask(ctx, &q, large)
		synctest.Wait()
		if _, err := q.Ask(ctx, large); !errors.Is(err, approval.ErrFull) {
			t.Error("another one of the same workspace:", err)
		}
		large.Root = "b"
		ask(ctx, &q, large)
		synctest.Wait()
		large.Root = "c"
		if _, err := q.Ask(ctx, large); !errors.Is(err, approval.ErrFull) || !errors.Is(err, limits.ErrFull) {
			t.Error("another one of any workspace:", err)
		}
		if err := q.Answer(q.Open()[0].ID, approval.Answer{Verdict: approval.Reject}); err != nil {
			t.Fatal(err)
		}
		<-first.done
		ask(ctx, &q, large)
		synctest.Wait()
		if n := len(q.Open()); n != 2 {
			t.Error(n, "are open")
		}
	})
}

func TestSubscribe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q approval.Queue
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ask(ctx, &q, approval.Question{Path: "before"})
		synctest.Wait()
		sub, slow := q.Subscribe(), q.Subscribe()
		ask(ctx, &q, approval.Question{Path: "after"})
		synctest.Wait()
		next := func() string {
			e, err := sub.Next(t.Context())
			switch {
			case err != nil:
				return err.Error()
			case e.Opened != nil:
				return "opened " + e.Opened.Path
			}
			return "closed " + e.Closed.How
		}
		for _, want := range []string{"opened before", "opened after"} {
			if got := next(); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
		short, done := context.WithTimeout(t.Context(), time.Second)
		defer done()
		if _, err := sub.Next(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		for range 2500 {
			gone, cancel := context.WithCancel(t.Context())
			cancel()
			_, _ = q.Ask(gone, approval.Question{})
			next()
			next()
		}
		if _, err := slow.Next(t.Context()); !errors.Is(err, approval.ErrSlow) {
			t.Errorf("the slow one hears %v", err)
		}
		waits := make(chan error)
		go func() {
			_, err := sub.Next(t.Context())
			waits <- err
		}()
		synctest.Wait()
		sub.Close()
		sub.Close()
		if err := <-waits; !errors.Is(err, approval.ErrClosed) {
			t.Error(err)
		}
	})
}
