package filetools

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/test/recordtest"
	"github.com/stet-dev/stet/tool"
)

func (b *bench) has(name string, want bool) {
	b.t.Helper()
	if _, err := os.Lstat(b.file(name)); (err == nil) != want {
		b.t.Errorf("%s: %v, want it there: %v", name, err, want)
	}
}

// The undo of a new file removes the directories that were made with it, if they are empty. The undo of that undo makes them
// again. (FILE-12)
func TestUndoRemovesDirs(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	b.put("there/f", "x")
	create := func(name string) {
		t.Helper()
		if o := b.op("write_file", args("path", name, "content", name, "create_dirs", true)); !o.Success {
			t.Fatalf("%s: %+v", name, o)
		}
	}
	undo := func(args string) {
		t.Helper()
		if o := b.op("undo", args); !o.Success {
			t.Fatalf("%s: %+v", args, o)
		}
	}
	create("there/a/b/f") // write 1
	create("there/a/g")   // write 2
	undo(`{"write":1}`)   // write 3
	b.has("there/a/b", false)
	b.has("there/a/g", true)
	undo(`{"write":3}`) // write 4
	if got := b.get("there/a/b/f"); got != "there/a/b/f" {
		t.Errorf("the undo of the undo: %q", got)
	}
	undo(`{"write":4}`)
	b.has("there/a/b", false)
	undo(`{"write":2}`)
	b.has("there/a", false) // made by write 1
	b.has("there/f", true)

	create("x/f")
	create("x/y/f")
	create("x/z/f")
	b.put("x/z/foreign", "x")
	undo(`{"all":true}`)
	b.has("x/y", false)
	b.has("x/z/f", false)
	b.has("x/z/foreign", true)

	for _, name := range []string{".github/workflows/ci.yml", ".vscode/tasks.json", "sub/.husky/_/pre-commit", "Makefile.d/.mvn/jvm.config"} {
		create(name)
	}
	b.put(".github/CODEOWNERS", "x")
	undo(`{"all":true}`)
	for name, want := range map[string]bool{".github/workflows": false, ".github": true, ".vscode": false, "sub": false, "Makefile.d": false} {
		b.has(name, want)
	}

	if err := os.Mkdir(b.file("empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	create("empty/made/f")
	undo(`{"all":true}`)
	b.has("empty/made", false)
	b.has("empty", true) // it was there before
}

// An undo changes all its files or none. If another program changes one of them after the plan, the files that were already put
// back get their content from before the undo. (FILE-12)
func TestUndoIsAllOrNothing(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	for _, name := range []string{"a", "b", "c"} {
		b.put(name, "old\n")
		if o := b.op("write_file", args("path", name, "content", "new\n")); !o.Success {
			t.Fatalf("%+v", o)
		}
	}
	p := b.plan("undo", `{"all":true}`)
	b.put("c", "another program's\n")
	if r, err := p.Apply(t.Context()); !errors.Is(err, tool.ErrChanged) {
		t.Errorf("%+v, %v", r, err)
	}
	for name, want := range map[string]string{"a": "new\n", "b": "new\n", "c": "another program's\n"} {
		if got := b.get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A person may approve an undo, but may not change its text. (FILE-6, FILE-12)
func TestUndoIsNotEdited(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	b.put("f", "old\n")
	b.op("read_file", args("path", "f"))
	if o := b.op("write_file", args("path", "f", "content", "new\n")); !o.Success {
		t.Fatalf("%+v", o)
	}
	p := b.plan("undo", `{"write":1}`)
	if string(p.Content) != "old\n" || p.Has(tool.Large) {
		t.Errorf("%q, %v", p.Content, p.Notes)
	}
	if edited, err := p.Replan(t.Context(), []byte("mine\n")); err != nil || edited.Done == nil || edited.Done.Code != tool.InvalidArgument {
		t.Errorf("%+v, %v", edited, err)
	}
	if again, err := p.Replan(t.Context(), p.Content); err != nil || again.Done != nil || again.After != p.After {
		t.Errorf("%+v, %v", again, err)
	}
}

// The trail records with a write's intent which directories it made, so the undo in a later process removes them too. (FILE-11,
// FILE-12)
func TestUndoOfTheTrailRemovesDirs(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	var trail recordtest.Memory
	h := &approval.Handler{Tools: &b.set, Journal: &record.Journal{Trail: &trail}, Rate: -1, Approver: person(func(approval.Question) approval.Answer {
		return approval.Answer{Verdict: approval.Approve}
	})}
	for _, name := range []string{"a/b/f", "a/g"} {
		c := tool.Call{ID: name, Session: "one", Name: "write_file", Arguments: json.RawMessage(args("path", name, "content", "x", "create_dirs", true))}
		if r, err := h.Call(t.Context(), c); err != nil || r.Failed() {
			t.Fatalf("%+v %v", r, err)
		}
	}
	writes, err := record.Writes(t.Context(), &trail, "one", 0)
	if err != nil || len(writes) != 2 || writes[0].Dirs != 2 || writes[1].Dirs != 0 {
		t.Fatalf("%+v %v", writes, err)
	}
	later, err := New(Config{Root: b.root})
	if err != nil {
		t.Fatal(err)
	}
	c := tool.Call{ID: "undo", Session: "two", Name: "undo"}
	p, err := TakeBack{Tools: later, Writes: writes}.Plan(t.Context(), c)
	if err != nil || p.Done != nil {
		t.Fatalf("%+v %v", p, err)
	}
	if r, err := h.Apply(t.Context(), c, p, "person"); err != nil || r.Failed() {
		t.Fatalf("%+v %v", r, err)
	}
	b.has("a", false)
}

// A process that is killed does not record whether its last writes were done, nor how far an undo came. The files show it, and the
// rest is undone. (FILE-12)
func TestUndoAfterKill(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	var writes []record.Write
	write := func(path, content string, open bool) {
		t.Helper()
		o := b.op("read_file", args("path", path))
		before, _ := os.ReadFile(b.file(path))
		if o = b.op("write_file", args("path", path, "content", content)); !o.Success {
			t.Fatalf("%+v", o)
		}
		w := record.Write{Seq: uint64(len(writes) + 1), Path: path, After: string(workspace.VersionOf([]byte(content))), Open: open}
		if before != nil {
			w.Before = string(workspace.VersionOf(before))
		}
		writes = append(writes, w)
	}
	for _, name := range []string{"done", "cut", "back"} {
		b.put(name, "old\n")
	}
	write("done", "1\n", false)
	write("done", "2\n", true) // killed after it
	write("made", "1\n", true)
	write("cut", "1\n", false)
	writes = append(writes, record.Write{Seq: 100, Path: "cut", Before: writes[3].After, After: "never", Open: true}) // killed before it
	write("back", "1\n", false)
	b.put("back", "old\n") // an undo that was killed has put it back

	later, err := New(Config{Root: b.root})
	if err != nil {
		t.Fatal(err)
	}
	p, err := TakeBack{Tools: later, Writes: writes}.Plan(t.Context(), tool.Call{ID: "undo", Session: "two", Name: "undo"})
	if err != nil || p.Done != nil {
		t.Fatalf("%+v %v", p, err)
	}
	if r, err := p.Apply(t.Context()); err != nil || r.Failed() {
		t.Fatalf("%+v %v", r, err)
	}
	for _, name := range []string{"done", "cut", "back"} {
		if got := b.get(name); got != "old\n" {
			t.Errorf("%s holds %q", name, got)
		}
	}
	b.has("made", false)
}

// Of several undos of one write at once, one undoes it. The others write nothing, and say that it is undone: for a person, who undoes
// what the trail has, and for an agent's session. (FILE-12)
func TestUndoAtOnce(t *testing.T) {
	const most = 6
	for name, old := range map[string]string{"changed": "old\n", "made": "", "one of two": "old\n"} {
		for _, foreign := range []bool{true, false} {
			b := newBench(t, Config{}, workspace.Options{})
			var trail recordtest.Memory
			waiting := make(chan struct{}, most)
			decide := make(chan struct{})
			h := &approval.Handler{Tools: &b.set, Journal: &record.Journal{Trail: &trail}, Rate: -1, Approver: person(func(q approval.Question) approval.Answer {
				if q.Tool == "undo" {
					waiting <- struct{}{}
					<-decide
				}
				return approval.Answer{Verdict: approval.Approve}
			})}
			if old != "" {
				b.put("a", old)
				b.call("read_file", `{"path":"a"}`)
			}
			files := []string{"a"}
			if name == "one of two" {
				files = append(files, "b")
			}
			for _, f := range files {
				if r, err := h.Call(t.Context(), tool.Call{ID: f, Session: "one", Name: "write_file", Arguments: json.RawMessage(args("path", f, "content", "new\n"))}); err != nil || r.Failed() {
					t.Fatalf("%+v %v", r, err)
				}
			}
			writes, err := record.Writes(t.Context(), &trail, "one", 0)
			if err != nil || len(writes) != len(files) {
				t.Fatalf("%+v %v", writes, err)
			}
			results := make(chan tool.Result, most)
			for i := range most {
				c := tool.Call{ID: fmt.Sprint("undo", i), Session: "one", Name: "undo", Arguments: json.RawMessage(`{"all":true}`)}
				by := h
				if foreign {
					later, err := New(Config{Root: b.root})
					if err != nil {
						t.Fatal(err)
					}
					c.Arguments = json.RawMessage(`{}`)
					by = &approval.Handler{Tools: new(tool.Set), Journal: h.Journal, Rate: -1, Approver: h.Approver}
					if err := by.Tools.Add(TakeBack{Tools: later, Writes: writes}); err != nil {
						t.Fatal(err)
					}
				}
				go func() {
					r, err := by.Call(t.Context(), c)
					if err != nil {
						t.Error(err)
					}
					results <- r
				}()
			}
			for range most {
				<-waiting
			}
			close(decide)
			var undone []string // paths: two calls may each undo one of the files
			for range most {
				switch r := <-results; {
				case !r.Failed():
					var done struct {
						Data struct{ Files []struct{ Path string } }
					}
					if err := json.Unmarshal([]byte(r.Text), &done); err != nil {
						t.Fatal(err)
					}
					for _, f := range done.Data.Files {
						undone = append(undone, f.Path)
					}
				case r.Code != tool.ConcurrentModification || !strings.Contains(r.Text, "undone already") && !strings.Contains(r.Text, "nothing to undo"):
					t.Errorf("%s, foreign %v: %+v", name, foreign, r)
				}
			}
			if slices.Sort(undone); !slices.Equal(undone, files) {
				t.Errorf("%s, foreign %v: undone %q", name, foreign, undone)
			}
			if got := b.get("a"); old != "" && got != old {
				t.Errorf("%s, foreign %v: %q", name, foreign, got)
			}
			b.has("a", old != "")
			b.has("b", false)
		}
	}
}
