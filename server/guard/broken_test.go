package guard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/files/snapshot"
	"github.com/stet-dev/stet/record"
)

// changed returns the paths of the entries that can be undone, one string for each.
func (r *rig) changed() (all []string) {
	r.t.Helper()
	for _, e := range r.entries() {
		if e.Kind != record.Changed {
			continue
		}
		res, err := snapshot.Load(r.store, e.After)
		if err != nil {
			all = append(all, "gone")
			continue
		}
		var paths []string
		for _, c := range res.Changes.Sorted() {
			paths = append(paths, c.Path)
		}
		all = append(all, strings.Join(paths, " "))
	}
	return all
}

// A command removes the workspace and makes it again: it is followed again, and later calls can be undone. (GRD-3)
func TestWorkspaceMadeAgain(t *testing.T) {
	r := newRig(t)
	e, _ := r.before("rm -rf $PWD; mkdir $PWD")
	if err := os.RemoveAll(r.dir); err != nil {
		t.Fatal(err)
	}
	r.write("a.txt", "new\n")
	e.Kind = After
	r.handle(e)
	e, _ = r.before("rm a.txt")
	if err := os.Remove(filepath.Join(r.dir, "a.txt")); err != nil {
		t.Fatal(err)
	}
	e.Kind = After
	r.handle(e)
	if got := fmt.Sprintf("%q", r.changed()); got != `["a.txt src src/b.txt" "a.txt"]` {
		t.Error(got)
	}
}

// What a call has changed is recorded, too, when the service ends, when there are more calls or sessions than the guard knows, and when the agent
// has closed the connection. (GRD-2)
func TestInMidCall(t *testing.T) {
	t.Run("close", func(t *testing.T) {
		r := newRig(t)
		r.before("touch c")
		r.write("c", "")
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(r.changed()); got != "[c]" {
			t.Error(got)
		}
	})
	t.Run("many", func(t *testing.T) {
		r := newRig(t)
		for i := range maxSessions + maxCalls + 2 {
			e := Event{Kind: Before, Agent: "agent", Session: fmt.Sprint(i), Call: "c", Tool: "Bash", Input: shell("touch x"), Dir: r.dir}
			if i > maxSessions {
				e.Session, e.SubAgent = "one", fmt.Sprint(i)
			}
			if _, err := r.Handle(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
		open := 0
		for _, s := range r.sessions {
			open += len(s.calls)
		}
		if all := len(r.entries()); all+open != maxSessions+maxCalls+2 || all == 0 {
			t.Error(all, open)
		}
	})
	t.Run("connection", func(t *testing.T) {
		r := newRig(t)
		e, _ := r.before("touch c")
		r.write("c", "")
		e.Kind, e.Session, e.Dir = After, "s", r.dir
		h := r.Handler("secret", map[string]Form{"agent": {
			Read: func(string, string, []byte) (Event, error) { return e, nil }, Write: func(Event, Answer) []byte { return nil },
		}})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		req := httptest.NewRequestWithContext(ctx, "POST", "/guard/agent/after", bytes.NewReader(nil))
		req.Header.Set("Authorization", "Bearer secret")
		h.ServeHTTP(httptest.NewRecorder(), req)
		if got := fmt.Sprint(r.changed()); got != "[c]" {
			t.Error(got)
		}
	})
}

// When the limit of what is kept is reached, the oldest goes, and the newest call can be undone.
func TestLimitOfKept(t *testing.T) {
	r := newRig(t)
	r.Limit = 200 << 10
	clear(r.trees)
	random := rand.NewChaCha8([32]byte{})
	text := make([]byte, 30<<10)
	for range 20 {
		r.pruned = r.pruned.AddDate(-1, 0, 0)
		e, _ := r.before("rewrite")
		random.Read(text)
		r.write("a.txt", string(text))
		e.Kind = After
		r.handle(e)
	}
	all := r.entries()
	last, err := snapshot.Load(r.store, all[len(all)-1].After)
	if err != nil {
		t.Fatal(err)
	}
	if c := last.Changes["a.txt"]; c.Before.Sum == "" || !r.store.Has(c.Before.Sum) || r.store.Used() > 2*r.Limit {
		t.Error(c.Before, r.store.Used())
	}
	if r.changed()[0] != "gone" {
		t.Error("the limit was not reached")
	}
}

// What is older than record-days goes, but not what a followed workspace needs to undo its next call.
func TestOldGoes(t *testing.T) {
	r := newRig(t)
	dir := t.TempDir()
	store, err := snapshot.OpenStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	r.Store, r.store = store, store
	clear(r.trees)
	e, _ := r.before("rewrite")
	r.write("a.txt", "second\n")
	e.Kind = After
	r.handle(e)
	old := time.Now().AddDate(0, 0, -40)
	err = filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error { return errors.Join(err, os.Chtimes(name, old, old)) })
	if err != nil {
		t.Fatal(err)
	}
	if n, err := r.Prune(time.Now().AddDate(0, 0, -30)); err != nil || n != 2 { // what it held before, and the list of changes
		t.Error(n, err)
	}
	if got := fmt.Sprint(r.changed()); got != "[gone]" {
		t.Error(got)
	}
	e, _ = r.before("rm a.txt")
	if err := os.Remove(filepath.Join(r.dir, "a.txt")); err != nil {
		t.Fatal(err)
	}
	e.Kind = After
	r.handle(e)
	last := r.entries()
	res, err := snapshot.Load(store, last[len(last)-1].After)
	if err != nil || !store.Has(res.Changes["a.txt"].Before.Sum) {
		t.Error(err, res.Changes)
	}
}

// A workspace that is named by a link is recorded by its own name: the link may lead elsewhere later.
func TestLinkedWorkspace(t *testing.T) {
	r := newRig(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(r.dir, link); err != nil {
		t.Skip(err)
	}
	for _, kind := range []Kind{Started, Before, Stopped} {
		if _, err := r.Handle(t.Context(), Event{Kind: kind, Agent: "agent", Session: "l", Call: "c", Tool: "Bash", Input: shell("touch x"), Dir: link}); err != nil {
			t.Fatal(err)
		}
	}
	if all := r.entries(); len(all) != 1 || all[0].Root != r.dir || len(r.trees) != 1 {
		t.Error(all, len(r.trees))
	}
}

// The changes of a call are not lost without a word when they cannot be kept.
func TestNotKept(t *testing.T) {
	r := newRig(t)
	dir := t.TempDir()
	store, err := snapshot.OpenStore(filepath.Join(dir, "kept"))
	if err != nil {
		t.Fatal(err)
	}
	e, _ := r.before("touch c")
	r.write("c", "")
	r.Store = store
	if err := os.RemoveAll(filepath.Join(dir, "kept")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kept"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	e.Kind, e.Agent, e.Session, e.Dir = After, "agent", "s", r.dir
	if _, err := r.Handle(t.Context(), e); err == nil {
		t.Error("no error")
	}
	if all := r.entries(); len(all) != 1 || !strings.Contains(strings.Join(all[0].Flags, " "), "no snapshot: 1 changes") {
		t.Error(all)
	}
}

// Rules that cannot be read, because an agent has written into the project's file, end neither the rules nor the undo: a person decides. (GRD-2)
func TestUnreadableRules(t *testing.T) {
	r := newRig(t)
	r.Rules = func(string) (*policy.Policy, error) { return nil, errors.New("line 1 is wrong") }
	if _, a := r.before("ls"); a.Decided {
		t.Error(a)
	}
	if _, a := r.before("touch c"); !a.Decided || a.Action != policy.Ask || !strings.Contains(a.Reason, "line 1 is wrong") {
		t.Error(a)
	}
	r.write("c", "")
	r.handle(Event{Kind: Stopped})
	if got := fmt.Sprint(r.changed()); got != "[c]" {
		t.Error(got)
	}
}

// Several sub-agents run at once, and an agent may work in a directory of another's workspace: each record is whole, and says so.
func TestAtOnce(t *testing.T) {
	r := newRig(t)
	for _, id := range []string{"t1", "t2"} {
		r.handle(Event{Kind: Before, Call: id, Tool: "Task", Input: []byte("{}")})
	}
	below := Event{Kind: Before, Agent: "agent", Session: "below", Call: "b", Tool: "Bash", Input: shell("touch x"), Dir: filepath.Join(r.dir, "src")}
	for _, kind := range []Kind{Started, Before} {
		below.Kind = kind
		if _, err := r.Handle(t.Context(), below); err != nil {
			t.Fatal(err)
		}
	}
	r.write("src/x", "")
	below.Kind = After
	if _, err := r.Handle(t.Context(), below); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"t1", "t2"} {
		r.handle(Event{Kind: After, Call: id, Tool: "Task", Input: []byte("{}")})
	}
	all := r.entries()
	if len(all) != 3 {
		t.Fatal(all)
	}
	for _, e := range all {
		flags := strings.Join(e.Flags, "\n")
		for id, name := range map[string]string{
			"t1": "Task of agent session s, call t1", "t2": "Task of agent session s, call t2", "b": "Bash of agent session below, call b",
		} {
			if e.Kind != record.Changed || strings.Contains(flags, AtOnce+name) != (id != e.CallID) {
				t.Error(name, e)
			}
		}
	}
}
