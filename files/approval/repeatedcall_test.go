//go:build unix

package approval_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store/sqlite"
	"github.com/stet-dev/stet/tool"
)

// process is a handler with all state of one process. A second process on the same directory is the process after a restart.
type process struct {
	*approval.Handler
	put   *fileTool
	store *sqlite.Store
	root  *workspace.Root
}

func newProcess(dir string) (*process, error) {
	store, err := sqlite.Open(context.Background(), filepath.Join(dir, "stet.db"))
	if err != nil {
		return nil, err
	}
	root, err := workspace.Open(filepath.Join(dir, "tree"), workspace.Options{State: filepath.Join(dir, "state")})
	if err != nil {
		return nil, err
	}
	p := &process{put: &fileTool{root: root, write: true}, store: store, root: root}
	var set tool.Set
	if err := set.Add(p.put); err != nil {
		return nil, err
	}
	p.Handler = &approval.Handler{
		Tools: &set, Policy: &policy.Policy{Unattended: true}, Journal: &record.Journal{Trail: store}, Root: root.Dir(),
		Version: func(ctx context.Context, path string) (string, error) {
			name, err := root.Path(path)
			if err != nil {
				return "", err
			}
			v, err := root.Version(ctx, name)
			return string(v), err
		},
	}
	return p, nil
}

func (p *process) close() error {
	return errors.Join(p.Journal.Close(), p.store.Close(), p.root.Close())
}

// once is a write that must not be done twice.
func once(id, content string) tool.Call {
	c := call("s", "put", "a", content)
	c.ID, c.Once = id, true
	return c
}

// killedOnce kills its process in the middle of a call, before or after its file is written.
func killedOnce() error {
	p, err := newProcess(os.Getenv(roleEnv + "_DIR"))
	if err != nil {
		return err
	}
	kill := func(*tool.Plan) { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL); select {} }
	if os.Getenv(roleEnv+"_AT") == "before" {
		p.put.onApply = kill
	} else {
		p.put.applied = kill
	}
	_, err = p.Call(context.Background(), once("1", "two"))
	return errors.Join(errors.New("still alive"), err)
}

// A call that an earlier process did or began is not done again. Its result comes from the record or from the file. (FILE-4,
// FILE-11)
func TestOnceAcrossProcesses(t *testing.T) {
	for _, c := range []struct {
		name   string
		first  string // how the first call ends: "done", or the process is killed "before" or "after" the file is written
		then   string // what another program then writes to the file; "": no other program writes
		second tool.Call
		code   tool.Code
		says   string
		writes int // writes of the second call
		file   string
	}{
		{"done", "done", "", once("1", "two"), "", "done before", 0, "two"},
		{"done, and changed since", "done", "three", once("1", "two"), "", "done before", 0, "three"},
		{"done, another id", "done", "three", once("2", "two"), "", "bytes written", 1, "two"},
		{"done, another call", "done", "", once("1", "other"), tool.InvalidArgument, "for another call", 0, "two"},
		{"done, no promise", "done", "three", call("s", "put", "a", "two"), "", "bytes written", 1, "two"},
		{"killed before the write", "before", "", once("1", "two"), "", "bytes written", 1, "two"},
		{"killed after the write", "after", "", once("1", "two"), "", "done before", 0, "two"},
		{"killed, and changed since", "after", "three", once("1", "two"), tool.ConcurrentModification, "not known", 0, "three"},
		{"killed before, and changed since", "before", "three", once("1", "two"), tool.ConcurrentModification, "not known", 0, "three"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "tree", "a")
			write(t, file, "one")
			if c.first == "done" {
				p := reopened(t, dir)
				if res, err := p.Call(t.Context(), once("1", "two")); err != nil || res.Failed() {
					t.Fatal(res, err)
				}
				ended(t, p)
			} else {
				t.Setenv(roleEnv+"_AT", c.first)
				if out, err := again(t, "once", dir); err == nil || !strings.Contains(err.Error(), "killed") {
					t.Fatalf("%v: %s", err, out)
				}
			}
			if c.then != "" {
				write(t, file, c.then)
			}
			p, writes := reopened(t, dir), 0
			p.put.onApply = func(*tool.Plan) { writes++ }
			res, err := p.Call(t.Context(), c.second)
			if err != nil || res.Code != c.code || !strings.Contains(res.Text, c.says) {
				t.Errorf("%+v, %v", res, err)
			}
			if b, err := os.ReadFile(file); err != nil || string(b) != c.file || writes != c.writes {
				t.Errorf("%d writes, the file has %q, %v", writes, b, err)
			}
			ended(t, p)
			if c.code == tool.ConcurrentModification {
				write(t, file, "one") // it stays so
			} else {
				write(t, file, "four") // the done write stays
			}
			p, writes = reopened(t, dir), 0
			p.put.onApply = func(*tool.Plan) { writes++ }
			if res, err = p.Call(t.Context(), c.second); err != nil || c.second.Once && (writes != 0 || res.Code != c.code) {
				t.Errorf("a third time: %d writes, %+v, %v", writes, res, err)
			}
			ended(t, p)
		})
	}
}

// A write is not done again if the trail has only its outcome, because the intent was pruned. (FILE-4)
func TestOncePruned(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "tree", "a")
	write(t, file, "one")
	p := reopened(t, dir)
	if res, err := p.Call(t.Context(), once("1", "two")); err != nil || res.Failed() {
		t.Fatal(res, err)
	}
	if n, err := p.store.PruneTrail(t.Context(), time.Now(), 1, "test"); err != nil || n != 1 {
		t.Fatalf("%d entries were removed, %v", n, err)
	}
	write(t, file, "three")
	res, err := p.Call(t.Context(), once("1", "two"))
	if err != nil || res.Failed() || !strings.Contains(res.Text, "done before") {
		t.Errorf("%+v, %v", res, err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "three" {
		t.Errorf("%q, %v", b, err)
	}
	ended(t, p)
}

// A person's decision also holds for a repeated call: no person is asked again. (FILE-6)
func TestOnceRejected(t *testing.T) {
	h := newRig(t)
	res, _ := h.asked(once("1", "two"), approval.Answer{Verdict: approval.Reject, Words: "no"})
	code(t, res, tool.UserRejected)
	res = h.run(once("1", "two"))
	code(t, res, tool.UserRejected)
	h.has("a", "")
	h.said("s",
		"call put a: rejected by person: user_rejected",
		"call put a: repeated by handler: user_rejected")
}

func reopened(t *testing.T, dir string) *process {
	t.Helper()
	p, err := newProcess(dir)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ended ends a process, and checks that its trail is valid.
func ended(t *testing.T, p *process) {
	t.Helper()
	v, err := record.Verify(t.Context(), p.store)
	if err != nil || v.Broken != nil {
		t.Errorf("%+v, %v", v, err)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, file, content string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(file), 0o755)
	if err == nil {
		err = os.WriteFile(file, []byte(content), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
