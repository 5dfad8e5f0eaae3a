package filetools

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/internal/diff"
	"github.com/stet-dev/stet/tool"
)

// How files are put back, all of an undo or none.

// restore is one file whose old content is put back.
type restore struct {
	t        workspace.Target
	name     string   // canonical
	from, to *content // to has no version where the file is to be removed
	undoes   []int
	dirs     []string          // that may go with a file that is removed
	made     workspace.Written // what putting it back came to
}

// planUndoing plans to undo writes. Several writes to one file become one.
func (q *toolCall) planUndoing(ctx context.Context, writes []pastWrite) (*tool.Plan, error) {
	var names []string
	by := map[string][]pastWrite{}
	for _, w := range writes {
		if by[w.Path] == nil {
			names = append(names, w.Path)
		}
		by[w.Path] = append(by[w.Path], w)
	}
	var todo []restore
	for _, name := range names {
		q.path = name
		r, err := q.restoring(ctx, name, by[name])
		if f, ok := asFailure(err); ok && len(names) > 1 && !q.foreign {
			all := *f // f may be one for all calls
			all.message += ". Nothing was undone: undo the writes to other files by number"
			err = &all
		}
		if err != nil {
			return nil, err
		}
		if r.from.version != r.to.version {
			todo = append(todo, r)
		}
	}
	if len(todo) == 0 {
		return nil, fail(tool.ConcurrentModification, "there is nothing to undo: the files are as they were before. Another undo, or another program, has put them back")
	}
	return q.undoPlan(writes, todo), nil
}

// restoring works out how a file is restored. It refuses where a change by another
// program would be lost.
func (q *toolCall) restoring(ctx context.Context, name string, ws []pastWrite) (restore, error) {
	first, last := ws[0], ws[len(ws)-1]
	t, err := q.target(name, true)
	if err != nil {
		return restore{}, err
	}
	for i, w := range ws[1:] {
		if ws[i].After != w.Before {
			return restore{}, q.notOurs(name, "between write %d and write %d; undo from %d", ws[i].Number, w.Number, w.Number)
		}
	}
	for _, w := range q.ses.pastWrites() {
		if w.Undone && slices.ContainsFunc(ws, func(x pastWrite) bool { return !q.foreign && x.Number == w.Number }) {
			return restore{}, fail(tool.ConcurrentModification, fmt.Sprintf("write %d is undone already", w.Number))
		}
	}
	now, err := q.current(ctx, &t, workspace.Encoding{})
	if err != nil {
		return restore{}, err
	}
	if (q.foreign || now.version == "") && now.version == first.Before { // an undo that was cut off, or another program, has put it back
		return restore{from: now, to: now}, nil
	}
	if now.version != last.After {
		for _, w := range q.ses.pastWrites() {
			if w.Path == name && w.Number > last.Number && !w.Undone && w.Undoes == nil {
				return restore{}, fail(tool.ConcurrentModification, fmt.Sprintf(
					"%s was written again by write %d; undo from %d", quoted(name), w.Number, first.Number))
			}
		}
		if now.version == "" {
			return restore{}, fail(tool.ConcurrentModification, fmt.Sprintf("%s was removed by somebody else after write %d; to have it, write it again", quoted(name), last.Number))
		}
		return restore{}, q.notOurs(name, "after write %d", last.Number)
	}
	r := restore{t: t, name: t.Path.String(), from: now, to: &content{}}
	for _, w := range ws {
		r.undoes = append(r.undoes, w.Number)
	}
	if first.Before == "" {
		r.dirs = dirsMade(name, append(q.ses.pastWrites(), ws...))
		return r, nil
	}
	data, err := q.root.Kept(first.Before)
	if errors.Is(err, workspace.ErrNotFound) {
		return restore{}, fail(tool.FileNotFound, "what "+quoted(name)+" held before is past the retention and not kept any more")
	}
	if err != nil {
		return restore{}, err
	}
	r.to = newContent(first.Before, data, workspace.Encoding{})
	return r, nil
}

// dirsMade are the directories above a file that these writes have made.
func dirsMade(name string, writes []pastWrite) []string {
	made := map[string]bool{}
	for _, w := range writes {
		for dir := path.Dir(w.Path); w.Dirs > 0; w.Dirs-- {
			made[dir] = true
			dir = path.Dir(dir)
		}
	}
	var out []string
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if made[dir] {
			out = append(out, dir)
		}
	}
	return out
}

func (q *toolCall) notOurs(name, format string, a ...any) *failure {
	return fail(tool.ConcurrentModification, quoted(name)+" was changed by somebody else "+fmt.Sprintf(format, a...))
}

// undoPlan is the plan for all files.
func (q *toolCall) undoPlan(writes []pastWrite, todo []restore) *tool.Plan {
	p := &tool.Plan{Call: q.call}
	before, after := sha256.New(), sha256.New()
	for i, r := range todo {
		f := tool.File{Path: r.name, Before: string(r.from.version), After: string(r.to.version), Size: int64(len(r.to.data)), Dirs: r.t.NewDirs}
		p.Files = append(p.Files, f)
		p.Size += f.Size
		fmt.Fprintf(before, "%q %s\n", f.Path, f.Before)
		fmt.Fprintf(after, "%q %s\n", f.Path, f.After)
		for _, n := range notes(r.t) {
			if !p.Has(n) {
				p.Notes = append(p.Notes, n)
			}
		}
		if r.from.unreadable == nil && r.to.unreadable == nil {
			p.Diff.Files = append(p.Diff.Files, undoDiff(r).Files...)
		}
		if i == 0 {
			p.Path = r.name
		} else {
			p.Path = commonDir(p.Path, r.name)
		}
	}
	p.Before, p.After = hex.EncodeToString(before.Sum(nil)), hex.EncodeToString(after.Sum(nil))
	if len(todo) == 1 {
		p.Before, p.After, p.Dirs, p.Files = p.Files[0].Before, p.Files[0].After, p.Files[0].Dirs, nil
		if todo[0].to.version != "" && todo[0].to.unreadable == nil {
			p.Content = []byte(todo[0].to.text)
		}
	}
	if len(p.Diff.Text()) > largeDiff {
		p.Notes = append(p.Notes, tool.Large)
	}
	p.Apply = func(ctx context.Context) (tool.Result, error) { return q.undo(ctx, p, todo) }
	p.Replan = func(ctx context.Context, approved []byte) (*tool.Plan, error) {
		if p.Content != nil && string(approved) != string(p.Content) {
			return q.refuse(badArgument("content", "what is undone cannot be edited; undo it, then edit."))
		}
		again, err := q.planUndoing(ctx, writes)
		if err != nil {
			return q.refuse(err)
		}
		return again, nil
	}
	return p
}

func undoDiff(r restore) tool.Diff {
	return fileDiff(r.name, r.from.version == "", r.to.version == "", diff.Lines(r.from.text, r.to.text, diff.Options{}))
}

// commonDir is the deepest directory above both.
func commonDir(a, b string) string {
	for a != "." && a != b && !strings.HasPrefix(b, a+"/") {
		a = path.Dir(a)
	}
	return a
}

// undo puts back all files, or none where one of them was changed meanwhile.
func (q *toolCall) undo(ctx context.Context, p *tool.Plan, todo []restore) (tool.Result, error) {
	for i, r := range todo {
		w, err := q.put(ctx, p, r.t, r.to, r.from.version)
		todo[i].made = w
		if err == nil && w.Unchanged { // another undo or another program has put it back
			err = workspace.ErrChanged
		}
		if err == nil {
			continue
		}
		back := i
		for back > 0 {
			d := todo[back-1]
			if w, e := q.put(context.WithoutCancel(ctx), p, d.t, d.from, d.to.version); e != nil && !w.Unchanged {
				break
			}
			back--
		}
		if back > 0 {
			return q.failed(fail(tool.ConcurrentModification, fmt.Sprintf(
				"%d of %d files are undone, %s is not: %v", back, len(todo), quoted(r.name), err)))
		}
		if outdated(err) || errors.Is(err, workspace.ErrNotFound) {
			return tool.Result{}, fmt.Errorf("undo %s: %w", workspace.Quote(r.name), tool.ErrChanged)
		}
		return q.failed(err)
	}
	q.removeDirs(todo)
	return q.undone(p, todo), nil
}

// removeDirs removes the directories that were made for files that are removed now. A
// directory that is not empty stays.
func (q *toolCall) removeDirs(todo []restore) {
	var dirs []string
	for _, r := range todo {
		dirs = append(dirs, r.dirs...)
	}
	slices.SortFunc(dirs, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) }) // the deeper one first
	for _, dir := range slices.Compact(dirs) {
		p, err := q.root.Path(dir)
		if err == nil {
			err = q.root.RemoveDir(p)
		}
		if err != nil {
			q.cfg.Log.Debug("a directory stays after an undo", "dir", dir, "err", err)
		}
	}
}

// put makes the target hold a content, or removes it.
func (q *toolCall) put(ctx context.Context, p *tool.Plan, t workspace.Target, c *content, was workspace.Version) (workspace.Written, error) {
	mode := workspace.WriteMode{CreateDirs: true, Agreed: agreed(p)}
	if c.version == "" {
		return q.root.Remove(ctx, t.Path, was, mode)
	}
	return q.writeBytes(ctx, t.Path, c.data, was, mode)
}

// undone records what was put back, and makes the result.
func (q *toolCall) undone(p *tool.Plan, todo []restore) tool.Result {
	type file struct {
		Path    string `json:"path"`
		Version string `json:"version,omitempty"`
		Removed bool   `json:"removed,omitempty"`
		Write   int    `json:"write,omitempty"`
	}
	var files []file
	var bytes int64
	var numbers []int
	for i, r := range todo {
		gone := r.to.version == ""
		bytes += int64(len(r.to.data))
		if gone {
			q.removed(r.name)
		} else {
			q.edited(r.name, r.to.version, r.made.Info, true, q.cfg.Now())
		}
		numbers = append(numbers, r.undoes...)
		if q.foreign {
			files = append(files, file{Path: r.name, Version: id(r.to.version), Removed: gone})
			continue
		}
		n := q.ses.wrote(p, i, pastWrite{Tool: "undo", Path: r.name, Before: r.from.version, After: r.to.version, Dirs: r.made.Dirs, Time: q.cfg.Now(), Undoes: r.undoes})
		q.ses.markUndone(r.undoes)
		files = append(files, file{r.name, id(r.to.version), gone, n})
	}
	slices.Sort(numbers)
	text := encode(operation{Success: true, BytesWritten: &bytes, Data: map[string]any{"undone": numbers, "files": files}})
	return q.textResult(text)
}

// markUndone marks writes as undone, the writes that they had undone as not undone, and
// so on.
func (s *session) markUndone(numbers []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mark(numbers, true)
}

func (s *session) mark(numbers []int, undone bool) {
	for _, n := range numbers {
		if i := slices.IndexFunc(s.writes, func(w pastWrite) bool { return w.Number == n }); i >= 0 {
			s.writes[i].Undone = undone
			s.mark(s.writes[i].Undoes, !undone)
		}
	}
}
