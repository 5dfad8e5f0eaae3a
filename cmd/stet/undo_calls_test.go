package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/files/snapshot"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/web"
	"github.com/stet-dev/stet/store"
)

// undoRig is a workspace with a trail and the contents that the guard keeps.
type undoRig struct {
	t    *testing.T
	p    *program
	out  bytes.Buffer
	dir  string
	tree *snapshot.Tree
	kept *snapshot.Store
}

func newUndoRig(t *testing.T, scripts ...string) *undoRig {
	home, dir := t.TempDir(), t.TempDir()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := &undoRig{t: t, dir: dir}
	r.p = &program{out: &r.out, err: &r.out, env: []string{"HOME=" + home, "XDG_STATE_HOME=" + home}, dir: dir}
	if r.kept, err = r.p.keptContents(); err != nil {
		t.Fatal(err)
	}
	r.sh("printf 'one\n' > a; mkdir d; printf 'two\n' > d/b")
	for _, script := range scripts {
		r.sh(script)
	}
	if r.tree, err = snapshot.Open(dir, r.kept, snapshot.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.tree.Close() })
	<-r.tree.Ready()
	return r
}

func (r *undoRig) sh(script string) {
	r.t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = r.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("%s: %v %s", script, err, out)
	}
}

// call runs a command as a call of an agent, and records it.
func (r *undoRig) call(script string) {
	r.t.Helper()
	c, err := r.tree.Begin(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	r.sh(script)
	result, err := c.End(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	sum, err := result.Save(r.kept)
	if err != nil {
		r.t.Fatal(err)
	}
	trail, err := store.Open(r.t.Context(), r.p.trailFile())
	if err != nil {
		r.t.Fatal(err)
	}
	defer trail.Close()
	if _, err := trail.Log(r.t.Context(), record.Entry{
		Kind: record.Changed, Time: time.Now(), Root: r.dir, Session: "s", Client: "claude", Tool: "Bash", After: sum, Outcome: record.OK,
	}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *undoRig) stet(args ...string) (int, string) {
	r.out.Reset()
	return r.p.run(r.t.Context(), args), r.out.String()
}

// An undo that fails half-way says so, and the rest is undone when it is run again. (GRD-3)
func TestUndoHalfway(t *testing.T) {
	r := newUndoRig(t)
	r.call("rm a d/b")
	r.sh("rmdir d; ln -s /nowhere d") // d/b cannot be put back
	code, said := r.stet("undo", "--last", "--yes")
	if text, err := os.ReadFile(filepath.Join(r.dir, "a")); code == 0 || err != nil || string(text) != "one\n" || !strings.Contains(said, "not all is undone") {
		t.Fatal(code, said, err)
	}
	r.sh("rm d; mkdir d")
	code, said = r.stet("undo", "--last", "--yes")
	if text, err := os.ReadFile(filepath.Join(r.dir, "d/b")); code != 0 || err != nil || string(text) != "two\n" {
		t.Fatal(code, said, err)
	}
}

// takeBack takes back for anna at the page.
func (r *undoRig) takeBack(ctx context.Context, in web.TakeBack) (out web.TakenBack, err error) {
	err = r.p.withTrail(context.WithoutCancel(ctx), func(trail store.Store) (err error) {
		out, err = r.p.takeBack(ctx, trail, in, "anna")
		return err
	})
	return out, err
}

// At the page a session's calls are taken back from one of them on. What would change is shown first, and only that is done. (GRD-1, GRD-3)
func TestTakeBack(t *testing.T) {
	r := newUndoRig(t)
	r.call("echo more >> a")   // 1
	r.call("echo again >> a")  // 2
	r.call("rm -r d; touch c") // 3
	has := func(want string) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(r.dir, "a"))
		if err != nil || string(text) != want {
			t.Errorf("%q, %v", text, err)
		}
	}
	take := func(in web.TakeBack) (web.TakenBack, error) {
		in.Session = "s"
		return r.takeBack(t.Context(), in)
	}
	look, err := take(web.TakeBack{From: 2})
	if err != nil || !strings.Contains(look.Said, "a is put back") || !strings.Contains(look.Said, "c is removed") {
		t.Fatal(look, err)
	}
	if one, err := take(web.TakeBack{From: 1, Alone: true}); err != nil || strings.Contains(one.Said, "c is removed") {
		t.Error("one call alone:", one, err)
	}
	if one, err := take(web.TakeBack{From: 3, Alone: true}); err != nil || !strings.Contains(one.Said, "c is removed") || strings.Contains(one.Said, "a is put back") {
		t.Error("one call alone:", one, err)
	}
	has("one\nmore\nagain\n")
	r.sh("echo mine >> a")
	if _, err := take(web.TakeBack{From: 2, Seal: look.Seal}); err == nil || !strings.Contains(err.Error(), "look again") {
		t.Error(err)
	}
	r.sh("printf 'one\nmore\nagain\n' > a")
	r.call("echo yet >> a") // 4: the words that were shown would be the same
	if _, err := take(web.TakeBack{From: 2, Seal: look.Seal}); err == nil || !strings.Contains(err.Error(), "look again") {
		t.Error("a call that nobody has seen was taken back:", err)
	}
	if look, err = take(web.TakeBack{From: 2}); err != nil {
		t.Fatal(err)
	}
	if _, err := take(web.TakeBack{From: 2, Seal: look.Seal}); err != nil {
		t.Fatal(err)
	}
	has("one\nmore\n")
	if _, err := os.Stat(filepath.Join(r.dir, "d/b")); err != nil {
		t.Error(err)
	}
	if _, err := take(web.TakeBack{From: 2}); err == nil {
		t.Error("it was taken back twice")
	}
	if _, said := r.stet("audit", "--last", "0"); !strings.Contains(said, "approved, by person anna") {
		t.Error(said)
	}
}

// The seal of a take-back is also of the paths that are not shown, because there are many. (GRD-1)
func TestTakeBackOfManyPaths(t *testing.T) {
	r := newUndoRig(t)
	r.call("mkdir m; for i in $(seq 100 199); do echo x > m/$i; done")
	look, err := r.takeBack(t.Context(), web.TakeBack{Session: "s"})
	if err != nil || strings.Contains(look.Said, "m/190") {
		t.Fatal(look.Said, err)
	}
	r.sh("echo mine > m/190")
	if _, err := r.takeBack(t.Context(), web.TakeBack{Session: "s", Seal: look.Seal}); err == nil || !strings.Contains(err.Error(), "look again") {
		t.Error(err)
	}
}

// endsWhen is a context that ends as soon as it is asked after something has happened.
type endsWhen struct {
	context.Context
	end      context.CancelFunc
	happened func() bool
}

func (e endsWhen) Err() error {
	if e.happened() {
		e.end()
	}
	return e.Context.Err()
}

// An undo that is interrupted has recorded what it did, and the rest is undone when it is run again. A yes at the page is carried out to its
// end also if the person closes the page. (GRD-1, GRD-3)
func TestUndoInterrupted(t *testing.T) {
	for _, page := range []bool{false, true} {
		r := newUndoRig(t)
		r.call("rm a d/b")
		is := func(path string) bool {
			_, err := os.Stat(filepath.Join(r.dir, path))
			return err == nil
		}
		look, err := r.takeBack(t.Context(), web.TakeBack{Session: "s"})
		if err != nil {
			t.Fatal(err)
		}
		inner, end := context.WithCancel(t.Context())
		defer end()
		ctx := endsWhen{inner, end, func() bool { return is("a") }}
		if page {
			end()
			_, err = r.takeBack(inner, web.TakeBack{Session: "s", Seal: look.Seal})
		} else {
			c := &undoCommand{command: command{program: r.p}, yes: true}
			err = r.p.withTrail(ctx, func(trail store.Store) error { return c.undo(ctx, trail, "1") })
		}
		if !is("a") || is("d/b") != page || (err == nil) != page {
			t.Fatal(page, err, r.out.String())
		}
		if _, said := r.stet("audit", "--last", "0"); strings.Count(said, "approved, by person") != 1 {
			t.Errorf("page %t: what was undone is not recorded: %s", page, said)
		}
		if !page {
			if code, said := r.stet("undo", "1", "--yes"); code != 0 || !is("d/b") {
				t.Error(code, said)
			}
		}
	}
}

// With an error of a take-back the page gets what was said, in words for the page. (GRD-3)
func TestTakeBackHalfway(t *testing.T) {
	r := newUndoRig(t)
	r.call("rm a d/b; touch c")
	r.sh("rmdir d; ln -s /nowhere d; echo mine > c") // d/b cannot be put back, and a person has changed c
	look, err := r.takeBack(t.Context(), web.TakeBack{Session: "s"})
	if err != nil {
		t.Fatal(err)
	}
	out, err := r.takeBack(t.Context(), web.TakeBack{Session: "s", Seal: look.Seal})
	if err == nil || !strings.Contains(out.Said, "c was changed since, and stays") || !strings.Contains(out.Said, "and look again") || strings.Contains(out.Said, "--yes") {
		t.Error(out.Said, err)
	}
}

// The undo of an undo of an undo, and a workspace that is gone. (GRD-3)
func TestUndoChain(t *testing.T) {
	r := newUndoRig(t)
	r.call("rm -r d; echo more >> a") // 1
	for i, id := range []string{"1", "2", "3", "4", "5"} {
		if code, said := r.stet("undo", id, "--yes"); code != 0 {
			t.Fatal(id, said)
		}
		text, err := os.ReadFile(filepath.Join(r.dir, "a"))
		if want := map[bool]string{true: "one\n", false: "one\nmore\n"}[i%2 == 0]; err != nil || string(text) != want {
			t.Fatalf("%s: %q, %v", id, text, err)
		}
	}
	r.call("echo x > x")
	if err := os.Rename(r.dir, r.dir+"-elsewhere"); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(r.dir + "-elsewhere")
	if code, said := r.stet("undo", "--last", "--yes"); code == 0 || !strings.Contains(said, "is gone: make it again") {
		t.Error(code, said)
	}
}

// A call that has moved only a branch changes no file: its undo shows the commands of git, and does not say that there is nothing. (GRD-3)
func TestUndoOfBranches(t *testing.T) {
	r := newUndoRig(t, "git init -q; git add a; git -c user.name=a -c user.email=a@example.com commit -qm one; git branch kept")
	r.call("git branch -q -D kept")
	code, said := r.stet("undo", "--last", "--yes")
	if code == 0 || !strings.Contains(said, "git update-ref refs/heads/kept ") || !strings.Contains(said, "--yes is about files alone") {
		t.Error(code, said)
	}
	// The printed commands work. They fail if the branch was moved in between.
	i := strings.Index(said, "git update-ref")
	line := said[i : i+strings.IndexByte(said[i:], '\n')]
	r.sh("git branch kept; if " + line + "; then exit 1; fi; git branch -q -D kept; " + line + "; git rev-parse kept")
}

// stet undo --last takes back what was done in the project in which it is called, and goes to no other one. (GRD-3)
func TestUndoLastOfProject(t *testing.T) {
	r := newUndoRig(t)
	r.call("rm a")
	first, dir := r.tree, r.dir
	r.dir = t.TempDir()
	var err error
	if r.dir, err = filepath.EvalSymlinks(r.dir); err != nil {
		t.Fatal(err)
	}
	if r.tree, err = snapshot.Open(r.dir, r.kept, snapshot.Options{}); err != nil {
		t.Fatal(err)
	}
	defer r.tree.Close()
	<-r.tree.Ready()
	r.call("touch other")
	r.p.dir = filepath.Join(dir, "d")
	for i, want := range []string{"a is made again", "nothing to undo here"} {
		if code, said := r.stet("undo", "--last", "--yes"); code != 0 || !strings.Contains(said, want) {
			t.Error(i, code, said)
		}
	}
	r.p.dir = t.TempDir()
	if code, said := r.stet("undo", "--last", "--yes"); code != 0 || !strings.Contains(said, "nothing to undo here") {
		t.Error("in a project without an agent:", code, said)
	}
	if code, said := r.stet("undo", "--last"); code != exitAlone || !strings.Contains(said, `run "stet undo 2 --yes"`) {
		t.Error("what works here is not said:", code, said)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "other")); err != nil {
		t.Error("another project was changed:", err)
	}
	if code, said := r.stet("undo", "--preview", "1"); code == 0 || !strings.Contains(said, "1: there is nothing left to undo") {
		t.Error("a call that is undone already:", code, said)
	}
	_ = first.Close()
}

// Names that an agent chose do nothing when a person gives the line to a shell. (GRD-3)
func TestShellLine(t *testing.T) {
	for _, word := range []string{"a", "refs/heads/a;touch x", "$(touch x)", "it's", "a\nb", "\x1b[2J", "", "`id`", "\xff", "~", "é"} {
		line := shellLine([]string{"printf", "%s", word})
		out, err := exec.Command("bash", "-c", line).Output()
		if err != nil || string(out) != word {
			t.Errorf("%q: %s: %q, %v", word, line, out, err)
		}
		if strings.ContainsAny(line, "\x1b\n") {
			t.Errorf("%q", line)
		}
	}
}

// A hook never ends with 2, by which it would deny each call: not where the configuration is wrong either.
func TestHookNeverDenies(t *testing.T) {
	r := newUndoRig(t)
	home := strings.TrimPrefix(r.p.env[0], "HOME=")
	config := filepath.Join(home, ".config", "stet", "config.toml")
	if err := os.MkdirAll(filepath.Dir(config), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"listen = \"127.0.0.1:1\"\n", "this is no TOML", "nothing = 1\n"} {
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		p := *r.p
		p.out, p.in = &out, strings.NewReader("{}")
		if code := p.run(t.Context(), []string{"hook", "codex", "PreToolUse"}); code != exitFailed || out.Len() > 0 {
			t.Errorf("%q: exit %d, %q", text, code, &out)
		}
	}
}
