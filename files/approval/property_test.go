package approval_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/record"
)

// Two sessions write to the same files at once, with random answers of the person. Each write on the disk was shown to the person
// in that state, and approved for that session. (FILE-6, FILE-15)
func TestEveryWriteHasItsApproval(t *testing.T) {
	type step struct {
		session, path, content string
	}
	steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
		content := ""
		for i := range 6 {
			content += rapid.SampledFrom([]string{"", fmt.Sprint("x", i)}).Draw(t, "line") + fmt.Sprint(i, "\n\n\n")
		}
		return step{
			rapid.SampledFrom([]string{"one", "two"}).Draw(t, "session"),
			rapid.SampledFrom([]string{"a", "b"}).Draw(t, "path"), content,
		}
	}), 1, 8)
	rapid.Check(t, func(rt *rapid.T) {
		h := newRig(t)
		h.Rate = -1
		plan := steps.Draw(rt, "steps")
		verdicts := rapid.SliceOfN(rapid.SampledFrom([]approval.Verdict{
			approval.Approve, approval.Approve, approval.Approve, approval.Edit, approval.Reject, approval.Cancel,
		}), 40, 40).Draw(rt, "verdicts")
		type key struct{ session, path, before, after string }
		approved := map[key]bool{}
		edited := map[[3]string]bool{}
		sub := h.queue.Subscribe()
		ctx, cancel := context.WithCancel(t.Context())
		var person sync.WaitGroup
		person.Go(func() {
			for n := 0; ; n++ {
				e, err := sub.Next(ctx)
				if err != nil {
					return
				}
				if e.Opened == nil {
					continue
				}
				q := *e.Opened
				a := approval.Answer{Verdict: verdicts[n%len(verdicts)], Seal: q.Seal}
				switch a.Verdict {
				case approval.Approve:
					approved[key{q.Session, q.Path, q.Before, q.After}] = true
				case approval.Edit:
					a.Content = append([]byte("edited\n"), q.Content...)
					edited[[3]string{q.Session, q.Path, q.Before}] = true
				}
				if err := h.queue.Answer(q.ID, a); err != nil {
					t.Error(err)
				}
			}
		})
		var calls sync.WaitGroup
		for _, s := range plan {
			calls.Go(func() {
				if _, err := h.Call(t.Context(), call(s.session, "put", s.path, s.content)); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
		cancel()
		person.Wait()
		sub.Close()

		// The writes of each file, in order, lead to its current content, and each write was approved.
		writes, err := record.Writes(t.Context(), h.trail, "", 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range writes {
			byEdit := edited[[3]string{w.Session, w.Path, w.Before}]
			if w.Open || !approved[key{w.Session, w.Path, w.Before, w.After}] && !byEdit {
				rt.Fatalf("no person approved %+v", w)
			}
		}
		for _, path := range []string{"a", "b"} {
			p, err := h.put.root.Path(path)
			if err != nil {
				t.Fatal(err)
			}
			now, err := h.put.root.Version(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			if at := follow(writes, path); at != string(now) {
				rt.Fatalf("%s is at %q, its writes lead to %q: %+v", path, now, at, writes)
			}
		}
	})
}

// follow follows the writes of a path, beginning with no file. Two writes may be recorded in another order than they happened. A
// write whose content is already there does nothing.
func follow(writes []record.Write, path string) string {
	at, used, been := "", make([]bool, len(writes)), map[string]bool{"": true}
	for moved := true; moved; {
		moved = false
		for i, w := range writes {
			if !used[i] && w.Path == path && w.Before == at {
				at, used[i], moved = w.After, true, true
				been[at] = true
				break
			}
		}
	}
	for i, w := range writes {
		if w.Path == path && !used[i] && !been[w.After] {
			return "a write without the write before it"
		}
	}
	return at
}
