package approval_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/internal/diff"
	"github.com/stet-dev/stet/internal/merge3"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/test/recordtest"
	"github.com/stet-dev/stet/tool"
)

func TestMain(m *testing.M) {
	if act, ok := role(); ok {
		if err := act(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// fileTool reads or writes whole files of a real workspace. It has only what the handler needs.
type fileTool struct {
	root    *workspace.Root
	write   bool
	onApply func(p *tool.Plan) // before the file is written
	applied func(p *tool.Plan) // after the file is written
}

func (f *fileTool) Spec() tool.Spec {
	if f.write {
		return tool.Spec{Name: "put", Destructive: true}
	}
	return tool.Spec{Name: "get", ReadOnly: true}
}

// Refuse has its own text, as Read has.
func (f *fileTool) Refuse(c tool.Call, code tool.Code, message string) tool.Result {
	return tool.Result{Text: fmt.Sprintf("%s %s: %s", c.Name, strings.ToUpper(string(code)), message), Code: code}
}

func (f *fileTool) Plan(ctx context.Context, c tool.Call) (*tool.Plan, error) {
	var args struct{ Path, Content string }
	if err := json.Unmarshal(c.Arguments, &args); err != nil {
		return f.done(c, "", tool.InvalidArgument, err.Error()), nil
	}
	path, err := f.root.Path(args.Path)
	if err != nil {
		p := f.done(c, "", tool.InvalidPath, err.Error())
		p.Done.Outside = true
		return p, nil
	}
	if f.write {
		return f.plan(ctx, c, path, []byte(args.Content))
	}
	content, err := f.root.ReadAll(ctx, path)
	if errors.Is(err, workspace.ErrNotFound) {
		return f.done(c, path.String(), tool.FileNotFound, err.Error()), nil
	} else if err != nil {
		return nil, err
	}
	return f.done(c, path.String(), "", string(content.Data)), nil
}

func (f *fileTool) done(c tool.Call, path string, code tool.Code, text string) *tool.Plan {
	return &tool.Plan{Call: c, Path: path, Done: &tool.Result{Text: text, Code: code}}
}

func (f *fileTool) plan(ctx context.Context, c tool.Call, path workspace.Path, data []byte) (*tool.Plan, error) {
	content, err := f.root.ReadAll(ctx, path)
	if err != nil && !errors.Is(err, workspace.ErrNotFound) {
		return nil, err
	}
	return f.planOn(c, path, content, data)
}

// planOn makes a plan for the found content of a file.
func (f *fileTool) planOn(c tool.Call, path workspace.Path, found workspace.Content, data []byte) (*tool.Plan, error) {
	before, was := found.Data, found.Version
	info, err := f.root.Inspect(path)
	if err != nil && !errors.Is(err, workspace.ErrNotFound) {
		return nil, err
	}
	p := &tool.Plan{
		Call: c, Path: info.Path.String(), Before: string(was), After: string(workspace.VersionOf(data)),
		Size: int64(len(data)), Content: append([]byte{}, data...),
		Diff: tool.ParseDiff(diff.Lines(string(before), string(data), diff.Options{}).Unified("a/"+info.Path.String(), "b/"+info.Path.String())),
	}
	if info.Class == workspace.Control {
		p.Notes = append(p.Notes, tool.Control)
	}
	if info.Cautions()&workspace.ExecutableFile != 0 {
		p.Notes = append(p.Notes, tool.Executable)
	}
	p.Apply = func(ctx context.Context) (tool.Result, error) {
		if f.onApply != nil {
			f.onApply(p)
		}
		w, err := f.root.Write(ctx, path, data, was, workspace.WriteMode{Agreed: workspace.ControlFile | workspace.ExecutableFile})
		if f.applied != nil {
			f.applied(p)
		}
		if errors.Is(err, workspace.ErrChanged) {
			return tool.Result{}, fmt.Errorf("write %s: %w", path, tool.ErrChanged)
		}
		return tool.Result{Text: fmt.Sprintf("%d bytes written", w.Bytes)}, err
	}
	p.Replan = func(ctx context.Context, approved []byte) (*tool.Plan, error) {
		now, err := f.root.ReadAll(ctx, path)
		if err != nil && !errors.Is(err, workspace.ErrNotFound) {
			return nil, err
		}
		if now.Version == was {
			return f.planOn(c, path, now, approved)
		}
		m := merge3.Merge(string(before), string(approved), string(now.Data), merge3.Options{})
		if m.Conflicts > 0 {
			return f.done(c, path.String(), tool.ConcurrentModification, m.Text), nil
		}
		merged, err := f.planOn(c, path, now, []byte(m.Text))
		if err == nil {
			merged.Notes = append(merged.Notes, tool.Merged)
		}
		return merged, err
	}
	return p, nil
}

// rig is a handler over a real directory, with a person at its queue.
type rig struct {
	*approval.Handler
	t     testing.TB
	dir   string
	put   *fileTool
	queue *approval.Queue
	trail *recordtest.Memory
}

func newRig(t testing.TB) *rig {
	t.Helper()
	h := &rig{t: t, dir: t.TempDir(), queue: new(approval.Queue), trail: new(recordtest.Memory)}
	root, err := workspace.Open(h.dir, workspace.Options{State: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	h.put = &fileTool{root: root, write: true}
	var set tool.Set
	if err := set.Add(h.put, &fileTool{root: root}); err != nil {
		t.Fatal(err)
	}
	h.Handler = &approval.Handler{
		Tools: &set, Approver: h.queue, Root: h.dir,
		Journal: &record.Journal{Trail: h.trail}, Policy: &policy.Policy{},
	}
	t.Cleanup(func() {
		if err := h.Journal.Close(); err != nil {
			t.Error(err)
		}
		if err := root.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func (h *rig) file(name, content string, mode os.FileMode) {
	h.t.Helper()
	name = filepath.Join(h.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), mode); err != nil {
		h.t.Fatal(err)
	}
}

// has checks a file's content; "" means that there is no file.
func (h *rig) has(name, want string) {
	h.t.Helper()
	b, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		h.t.Fatal(err)
	}
	if string(b) != want {
		h.t.Errorf("%s has %q, want %q", name, b, want)
	}
}

func call(session, name, path, content string) tool.Call {
	args, _ := json.Marshal(map[string]string{"path": path, "content": content})
	return tool.Call{ID: "call_1", Session: session, Client: "some-agent", Name: name, Arguments: args}
}

func (h *rig) run(c tool.Call) tool.Result {
	h.t.Helper()
	res, err := h.Call(h.t.Context(), c)
	if err != nil {
		h.t.Fatal(err)
	}
	return res
}

// pending is a call that runs in the background.
type pending struct {
	res  tool.Result
	err  error
	done chan struct{}
}

func (h *rig) start(ctx context.Context, c tool.Call) *pending {
	p := &pending{done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.res, p.err = h.Call(ctx, c)
	}()
	return p
}

func (h *rig) wait(p *pending) tool.Result {
	h.t.Helper()
	select {
	case <-p.done:
	case <-time.After(time.Minute):
		h.t.Fatal("the call does not end")
	}
	if p.err != nil {
		h.t.Fatal(p.err)
	}
	return p.res
}

// next waits for the next open question.
func (h *rig) next(sub *approval.Subscription) approval.Question {
	h.t.Helper()
	for {
		e, err := sub.Next(h.t.Context())
		if err != nil {
			h.t.Fatal(err)
		}
		if e.Opened != nil {
			return *e.Opened
		}
	}
}

func (h *rig) answer(q approval.Question, a approval.Answer) {
	h.t.Helper()
	a.Seal = q.Seal
	if err := h.queue.Answer(q.ID, a); err != nil {
		h.t.Fatal(err)
	}
}

// asked runs a call that causes one question.
func (h *rig) asked(c tool.Call, a approval.Answer) (tool.Result, approval.Question) {
	h.t.Helper()
	sub := h.queue.Subscribe()
	defer sub.Close()
	p := h.start(h.t.Context(), c)
	q := h.next(sub)
	h.answer(q, a)
	return h.wait(p), q
}

// said checks the trail's entries of the session, one line each.
func (h *rig) said(session string, want ...string) {
	h.t.Helper()
	if err := h.Journal.Flush(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
	entries, err := h.trail.Entries(h.t.Context(), record.TrailQuery{Session: session})
	if err != nil {
		h.t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		line := fmt.Sprintf("%s %s %s: %s by %s: %s", e.Kind, e.Tool, e.Path, e.Decision, e.By, e.Outcome)
		if len(e.Flags) > 0 {
			line += " " + fmt.Sprint(e.Flags)
		}
		got = append(got, line)
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		h.t.Errorf("the trail says\n%s\nwant\n%s", g, w)
	}
}

func code(t testing.TB, res tool.Result, want tool.Code) {
	t.Helper()
	if res.Code != want {
		t.Errorf("%q with code %q, want %q", res.Text, res.Code, want)
	}
}
