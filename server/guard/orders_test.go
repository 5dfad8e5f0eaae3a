package guard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/files/snapshot"
	"github.com/stet-dev/stet/record"
)

// worker is an agent or a sub-agent. It asks its person in its own dialog, and the guard asks the same question in the queue. The guard is not told how the
// dialog was answered.
type worker struct {
	*rig
	session, sub string
	rng          *rand.Rand
	hooks        sync.WaitGroup
	ran          map[string]bool // by the call's directory; false: it was rejected in the queue, and did not run
}

func (w *worker) tell(ctx context.Context, e Event) Answer {
	e.Agent, e.Session, e.SubAgent, e.Dir, e.Dialog, e.Tool, e.Serial, e.Running = "agent", w.session, w.sub, w.dir, Beside, "Bash", true, []string{"x", "y"}
	a, err := w.Handle(ctx, e)
	if err != nil {
		w.t.Error(err)
	}
	return a
}

// call makes a call: it is asked about or not, here and in the queue, and runs or not.
func (w *worker) call(name string) {
	e, runs, asked := Event{Kind: Before, Input: shell(fmt.Sprint("make ", w.rng.IntN(3)))}, true, w.rng.IntN(4) > 0
	if w.rng.IntN(4) > 0 {
		e.Call = name
	}
	w.tell(w.t.Context(), e)
	ctx, kill := context.WithCancel(w.t.Context())
	defer kill()
	if asked {
		got := make(chan Answer, 1)
		w.hooks.Go(func() { got <- w.tell(ctx, Event{Kind: Asking, Input: e.Input, Edits: true}) })
		var a Answer
		select {
		case a = <-got:
		case <-time.After(time.Duration(w.rng.IntN(8000)) * time.Microsecond): // the dialog has its answer
		}
		switch {
		case !a.Decided:
			if runs = w.rng.IntN(3) > 0; w.rng.IntN(4) == 0 {
				kill()
			}
		case a.Action == policy.Deny:
			runs, w.ran[name] = false, false
		case a.Input != nil:
			e.Input = a.Input
		}
	}
	if runs {
		w.ran[name] = true
		w.write(name+"/early", "")
		time.Sleep(time.Duration(w.rng.IntN(4000)) * time.Microsecond)
		w.write(name+"/late", "")
		next := filepath.Join(w.t.TempDir(), "state") // the file is renamed into its place when it is complete
		if err := errors.Join(os.WriteFile(next, []byte(name), 0o600), os.Rename(next, filepath.Join(w.dir, "state"+w.session+w.sub))); err != nil {
			w.t.Error(err)
		}
	}
	if e.Kind = After; runs && (asked || w.rng.IntN(3) > 0) { // the end of a call may be lost
		w.tell(w.t.Context(), e)
	}
	if kind := []Kind{Other, Other, Stopped, Prompted}[w.rng.IntN(4)]; kind != Prompted || w.sub == "" {
		w.tell(w.t.Context(), Event{Kind: kind})
	}
}

// answers gives random answers until the context ends. Another one, or the agent, may be first.
func answers(ctx context.Context, queue *approval.Queue, rng *rand.Rand) {
	sub := queue.Subscribe()
	defer sub.Close()
	for e, err := sub.Next(ctx); err == nil; e, err = sub.Next(ctx) {
		if q := e.Opened; q != nil && rng.IntN(3) > 0 {
			time.Sleep(time.Duration(rng.IntN(4000)) * time.Microsecond)
			v := []approval.Verdict{approval.Approve, approval.Reject, approval.Edit, approval.ForSession}[rng.IntN(4)]
			_ = queue.Answer(q.ID, approval.Answer{Verdict: v, Content: []byte("make x"), Seal: q.Seal, By: "anna"})
		}
	}
}

// contents returns what is in a directory.
func contents(t *testing.T, dir string) string {
	var all []string
	err := filepath.WalkDir(dir, func(name string, _ fs.DirEntry, _ error) error {
		text, _ := os.ReadFile(name) // "" of a directory
		all = append(all, fmt.Sprintf("%s %q", name, text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, "\n")
}

// Two sessions with two sub-agents each work in one workspace, and two people answer, in random orders of events. What each call has changed is in one entry,
// or in some that say that it may be of another; nothing is recorded of rejected calls that did not run; no question stays open; and all can be
// undone. (GRD-1, GRD-3)
func TestOrders(t *testing.T) {
	for seed := range uint64(4) {
		r, queue := asks(t)
		first, ran, where := contents(t, r.dir), map[string]bool{}, map[string][]string{}
		ctx, stop := context.WithCancel(t.Context())
		var people, agents sync.WaitGroup
		for i := range uint64(2) {
			people.Go(func() { answers(ctx, queue, rand.New(rand.NewPCG(seed, i))) })
		}
		var mu sync.Mutex
		for i, s := range []string{"a", "ax", "ay", "b", "bx", "by"} {
			w := &worker{rig: r, session: s[:1], sub: s[1:], rng: rand.New(rand.NewPCG(seed, uint64(9+i))), ran: map[string]bool{}}
			agents.Go(func() {
				for n := range 12 {
					w.call(fmt.Sprint(s, n))
				}
				w.tell(t.Context(), Event{Kind: Stopped})
				w.hooks.Wait()
				mu.Lock()
				maps.Copy(ran, w.ran)
				mu.Unlock()
			})
		}
		agents.Wait()
		stop()
		people.Wait()
		if open := queue.Open(); len(open) > 0 || len(r.running) > 0 {
			t.Errorf("seed %d: %d questions are open, and %d calls", seed, len(open), len(r.running))
		}
		for _, e := range slices.Backward(r.entries()) {
			if did, known := ran[e.CallID]; e.Kind == record.Changed && known && !did {
				t.Errorf("seed %d: it was rejected: %+v", seed, e)
			} else if e.Kind != record.Changed {
				continue
			}
			res := must(snapshot.Load(r.store, e.After))
			for p := range res.Changes {
				where[p] = append(where[p], strings.Join(e.Flags, ", "))
			}
			back := must(snapshot.Prepare(t.Context(), r.dir, r.store, res.Changes))
			_, err := back.Apply(t.Context(), func(s snapshot.Step) bool { return s.Why == snapshot.Fits })
			if err = errors.Join(err, back.Close()); err != nil {
				t.Error(err)
			}
		}
		sure := func(flags string) bool {
			return !strings.Contains(flags, AtOnce) && !strings.Contains(flags, string(whileAsked))
		}
		for name, did := range ran {
			for _, in := range [][]string{where[name+"/early"], where[name+"/late"]} {
				if did && (len(in) == 0 || len(in) > 1 && slices.ContainsFunc(in, sure)) {
					t.Errorf("seed %d: what %s has changed is in these entries: %q", seed, name, in)
				}
			}
		}
		if last := contents(t, r.dir); first != last {
			t.Errorf("seed %d: it is not as it was: %s", seed, last)
		}
	}
}
