package approval_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/test/recordtest"
	"github.com/stet-dev/stet/tool"
)

// FILE-11: after the refused call that exceeded the limit, every call is refused until a person resumes the session, also while the
// suspension waits for a running write.
func TestSuspendedAtOnce(t *testing.T) {
	for _, do := range []policy.Response{policy.Suspend, policy.RollBack} {
		synctest.Test(t, func(t *testing.T) {
			h := newRig(t)
			h.file("r", "text", 0o644)
			h.Suspicion = policy.Suspicion{Escapes: 1, Do: do}
			release, undoing := make(chan struct{}), make(chan struct{})
			h.RollBack = func(context.Context, string) error { <-undoing; return nil }
			h.put.onApply = func(*tool.Plan) { <-release }
			sub := h.queue.Subscribe()
			defer sub.Close()
			writing := h.start(t.Context(), call("s", "put", "a", "x"))
			h.answer(h.next(sub), approval.Answer{Verdict: approval.Approve})
			synctest.Wait() // it is writing
			escape := h.start(t.Context(), call("s", "get", "../x", ""))
			synctest.Wait()
			refused := func(when string) {
				t.Helper()
				for _, c := range []tool.Call{call("s", "get", "r", ""), call("s", "put", "b", "x")} {
					if res := h.run(c); res.Code != tool.PermissionDenied || !strings.Contains(res.Text, "suspended") {
						t.Errorf("%v, %s: %s is answered by %v", do, when, c.Name, res)
					}
				}
			}
			refused("while it writes")
			h.End("s") // a new session of that name stays suspended
			refused("begun again")
			close(release)
			synctest.Wait()
			refused("while it is rolled back")
			close(undoing)
			h.wait(escape)
			code(t, h.wait(writing), "")
			refused("afterwards")
			elsewhere := &approval.Handler{Journal: h.Journal}
			if err := elsewhere.Resume(t.Context(), "s", "desk"); err != nil {
				t.Fatal(err)
			}
			code(t, h.run(call("s", "get", "r", "")), "")
		})
	}
}

// refusingTrail is a trail that refuses suspensions for a while.
type refusingTrail struct {
	*recordtest.Memory
	full atomic.Bool
}

var errTrailFull = errors.New("no space left")

func (s *refusingTrail) Log(ctx context.Context, entries ...record.Entry) ([]record.Entry, error) {
	for _, e := range entries {
		if e.Kind == record.Suspend && s.full.Load() {
			return nil, errTrailFull
		}
	}
	return s.Memory.Log(ctx, entries...)
}

// FILE-11: a suspension that cannot be recorded holds anyway, is recorded as soon as possible, and is not ended by an older Resume.
func TestSuspensionNotRecorded(t *testing.T) {
	h := newRig(t)
	trail := &refusingTrail{Memory: h.trail}
	trail.full.Store(true)
	h.Journal = &record.Journal{Trail: trail}
	t.Cleanup(func() { h.Journal.Close() })
	h.file("r", "text", 0o644)
	h.Suspicion = policy.Suspicion{Escapes: 1, Do: policy.Suspend}
	read := func() tool.Result { return h.run(call("s", "get", "r", "")) }
	code(t, h.run(call("s", "get", "../x", "")), tool.InvalidPath)
	code(t, read(), tool.PermissionDenied)
	elsewhere := &approval.Handler{Journal: &record.Journal{Trail: h.trail}}
	if err := elsewhere.Resume(t.Context(), "s", "desk"); err != nil {
		t.Fatal(err)
	}
	code(t, read(), tool.PermissionDenied)
	h.End("s")
	code(t, read(), tool.PermissionDenied)

	trail.full.Store(false)
	code(t, read(), tool.PermissionDenied)
	said, err := h.trail.Entries(t.Context(), record.TrailQuery{Session: "s", Kinds: []record.Kind{record.Alarm, record.Suspend}})
	if err != nil || len(said) != 2 || said[1].Kind != record.Suspend {
		t.Errorf("the trail says %+v, %v", said, err)
	}
	if err := elsewhere.Resume(t.Context(), "s", "desk"); err != nil {
		t.Fatal(err)
	}
	code(t, read(), "")
}

// FILE-11: when a session is suspended, a read or a write that a person allows meanwhile is not done.
func TestSuspendedWhileAsked(t *testing.T) {
	for _, tools := range []string{"get", "put"} {
		h := newRig(t)
		h.file("secret", "sesame", 0o600)
		h.Policy.Rules = []policy.Rule{{On: policy.Read, Do: policy.Ask}}
		h.Suspicion = policy.Suspicion{Escapes: 1, Do: policy.Suspend}
		sub := h.queue.Subscribe()
		defer sub.Close()
		p := h.start(t.Context(), call("s", tools, "secret", "changed"))
		q := h.next(sub)
		code(t, h.run(call("s", "get", "../x", "")), tool.InvalidPath)
		h.answer(q, approval.Answer{Verdict: approval.Approve})
		res := h.wait(p)
		if code(t, res, tool.PermissionDenied); strings.Contains(res.Text, "sesame") || !strings.Contains(res.Text, "suspended") {
			t.Error(res.Text)
		}
		h.has("secret", "sesame")
	}
}

// endingTrail ends a session while it is asked about the session.
type endingTrail struct {
	*recordtest.Memory
	end func(session string)
}

func (e *endingTrail) Entries(ctx context.Context, q record.TrailQuery) ([]record.Entry, error) {
	e.end(q.Session)
	runtime.Gosched()
	return e.Memory.Entries(ctx, q)
}

// A session may end while its first call asks the trail whether it is suspended. The race detector checks this.
func TestEndDuringFirstCall(t *testing.T) {
	h := newRig(t)
	var ends sync.WaitGroup
	defer ends.Wait()
	h.Journal.Trail = &endingTrail{h.trail, func(session string) {
		ends.Go(func() { h.End(session) })
	}}
	h.file("a", "x", 0o644)
	for i := range 200 {
		code(t, h.run(call(fmt.Sprint("s", i), "get", "a", "")), "")
	}
}
