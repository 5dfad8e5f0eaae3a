package filetools

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/internal/diff"
	"github.com/stet-dev/stet/internal/edit"
	"github.com/stet-dev/stet/internal/invisible"
	"github.com/stet-dev/stet/internal/merge3"
	"github.com/stet-dev/stet/tool"
)

// From a text to a plan: the draft is based on what the session saw, and merged with what
// the file holds now.

// draft is the text that a file is to hold, from the model, or from a person who
// changed what the model wants.
type draft struct {
	text  string              // the text that the file is to hold
	asked string              // the text that the model asked for
	base  *content            // what text was made from
	note  tool.Note           // why base is not all that the session saw, "" where it is
	mode  workspace.WriteMode // as the call asks; what a person agrees to is added
	notes []string            // what the model has to know
	edits []edit.Edit         // that made text

	isEdit   bool // of a part of the file, not of all of it
	partly   bool // an edit of a file that the session does not know whole
	byPerson bool // a person changed the text
	marked   bool // the text came with a byte-order mark
}

// baseOn makes content that the session does not know, or not all of, the base.
func (d *draft) baseOn(c *content, why tool.Note) {
	d.base, d.note, d.partly = c, why, d.isEdit
}

// largeDiff is the size, in bytes, from which a diff cannot be shown whole.
const largeDiff = 256 << 10

// pendingWrite is a write that is planned: its target, what the target holds now, and
// what it will hold.
type pendingWrite struct {
	draft // text is merged with what the target holds now
	t     workspace.Target
	now   *content
	enc   workspace.Encoding
	data  []byte // text in enc
}

// plan makes the plan that turns what the target holds now into the draft, merged
// with what was written to the file since the base of the draft.
func (q *toolCall) plan(t workspace.Target, now *content, d draft) (*tool.Plan, error) {
	if text := invisible.SkipMark(d.text); text != d.text && !(d.isEdit && strings.HasPrefix(d.base.text, "\ufeff")) {
		d.text, d.marked = text, true
		d.asked = invisible.SkipMark(d.asked)
	}
	w := &pendingWrite{draft: d, t: t, now: now}
	notes, err := q.prepare(w)
	if err != nil {
		return nil, err
	}
	after := workspace.VersionOf(w.data)
	if t.Exists() && after == now.version {
		return q.unchanged(w), nil
	}
	name := t.Path.String()
	p := &tool.Plan{
		Call: q.call, Path: name, Before: string(now.version), After: string(after),
		Size: int64(len(w.data)), Content: []byte(w.text), Dirs: t.NewDirs,
	}
	added := []diff.Line{{Text: w.text}}
	if now.unreadable == nil {
		changes := diff.Lines(now.text, w.text, diff.Options{})
		p.Diff = fileDiff(name, !t.Exists(), false, changes)
		added = addedLines(changes)
	}
	if len(p.Diff.Text()) > largeDiff || now.large {
		notes = append(notes, tool.Large)
	}
	if !t.Exists() && slices.Contains(notes, tool.Hidden) {
		w.notes = append(w.notes, "the name has characters that cannot be seen: "+quoted(name))
	}
	if slices.ContainsFunc(added, func(l diff.Line) bool { return invisible.Has(l.Text) }) {
		if invisible.Has(strings.ReplaceAll(w.text, "\r", "")) {
			w.notes = append(w.notes, "the text has control characters or others that cannot be seen")
		}
		if !slices.Contains(notes, tool.Hidden) {
			notes = append(notes, tool.Hidden)
		}
	}
	p.Notes = notes
	p.Apply = func(ctx context.Context) (tool.Result, error) { return q.apply(ctx, p, w) }
	p.Replan = func(ctx context.Context, approved []byte) (*tool.Plan, error) {
		d.byPerson = d.byPerson || string(approved) != w.text
		return q.replan(ctx, now, approved, d)
	}
	return p, nil
}

// prepare computes the text and the bytes of a write, and the notes of its plan.
func (q *toolCall) prepare(w *pendingWrite) ([]tool.Note, error) {
	notes, now := notes(w.t), w.now
	if w.note != "" && w.t.Exists() {
		notes = append(notes, w.note)
	}
	if w.base.version != now.version {
		merged, err := q.merge(&w.t, w.base, now, w.text, !w.isEdit)
		if err != nil {
			return nil, err
		}
		w.text, notes = merged, append(notes, tool.Merged)
		w.notes = append(w.notes, "merged with what "+q.who(w.t.Path.String(), now.version)+" has changed")
	}
	var err error
	if w.enc, err = q.encodingFor(&w.t, now, w.isEdit); err != nil {
		return nil, err
	}
	if w.marked {
		if w.enc = w.enc.WithBOM(true); !w.enc.BOM() {
			return nil, fail(tool.EncodingError, w.enc.String()+" has no byte-order mark; leave it out")
		}
	}
	if w.t.Exists() && now.unreadable == nil && w.enc != now.enc {
		notes = append(notes, tool.Reencoded)
		w.notes = append(w.notes, fmt.Sprintf("the whole file is written in %s; it was in %s", encodingName(w.enc), encodingName(now.enc)))
	}
	if w.data, err = reencode(now, w.text, w.enc, w.edits); err != nil {
		return nil, err
	}
	switch {
	case !workspace.Binary(w.data) || workspace.Binary(now.data):
	case strings.ContainsRune(w.text, 0):
		w.notes = append(w.notes, "the file has a NUL now, so it counts as binary and is not read or searched any more")
	default:
		w.notes = append(w.notes, "the file counts as binary: its first bytes are not those of a text in utf-8")
	}
	return notes, q.checkSize(len(w.data))
}

// fileDiff is the diff of one file; empty where no line changes.
func fileDiff(name string, created, deleted bool, d diff.Diff) tool.Diff {
	if len(d.Hunks) == 0 {
		return tool.Diff{}
	}
	return tool.Diff{Files: []tool.FileDiff{{Path: name, Created: created, Deleted: deleted, Diff: d}}}
}

func addedLines(d diff.Diff) []diff.Line {
	var out []diff.Line
	for _, h := range d.Hunks {
		for _, l := range h.Lines {
			switch l.Kind {
			case diff.Added:
				out = append(out, l)
			case diff.Same, diff.Removed: // were there before
			}
		}
	}
	return out
}

// replan plans again from the text that was approved, on what the file holds now. base
// is what the file held when the first plan was made.
func (q *toolCall) replan(ctx context.Context, base *content, approved []byte, d draft) (*tool.Plan, error) {
	p, err := q.replanned(ctx, base, approved, d)
	if err != nil {
		return q.refuse(err)
	}
	return p, nil
}

func (q *toolCall) replanned(ctx context.Context, base *content, approved []byte, d draft) (*tool.Plan, error) {
	t, err := q.target(q.canonical, d.mode.CreateDirs)
	if err != nil {
		return nil, err
	}
	now, err := q.current(ctx, &t, q.options.encoding)
	if err != nil {
		return nil, err
	}
	if !d.byPerson && now.version != base.version && q.ours(t.Path.String(), now.version) {
		// Another call of this session was first. The model knows of that write, so
		// the call means the file as it is now.
		return q.def.plan(ctx, q)
	}
	d.text, d.base = string(approved), base
	p, err := q.plan(t, now, d)
	if err == nil && d.isEdit && len(base.data) > 0 && bytes.HasPrefix(now.data, base.data) {
		p.Grown = string(base.version)
	}
	return p, err
}

// baseOnSeen bases the draft on what the client session last saw of the file. Where
// that is not known the base is what the file holds now. It is an error when what
// was seen is not kept any more.
func (q *toolCall) baseOnSeen(ctx context.Context, d *draft, t *workspace.Target, now *content) error {
	name := t.Path.String()
	f, ok := q.ses.tracker.File(name, t.Stamp)
	if t.Exists() && (f.Version != now.version || !f.Whole) {
		q.learn(ctx, name)
		f, ok = q.ses.tracker.File(name, t.Stamp)
	}
	switch {
	case !ok, !t.Exists() && f.Path != name: // in another case it may be another file
		d.baseOn(now, tool.Unread)
		return nil
	case f.Version == "": // too large to be shown whole
		d.baseOn(now, tool.PartRead)
		return nil
	}
	d.base, d.partly = now, d.isEdit && !f.Whole
	if !f.Whole && !d.isEdit {
		d.note = tool.PartRead
	}
	if f.Version == now.version {
		return nil
	}
	data, err := q.root.Kept(f.Version)
	if err != nil {
		return q.stale(t, now, "and what was read is not kept any more")
	}
	d.base = newContent(f.Version, data, now.enc)
	if q.options.convert {
		d.base.asFound()
	}
	if d.base.unreadable != nil {
		return q.stale(t, now, "and cannot be merged")
	}
	return nil
}

// stale is the failure of a write that is based on what the file does not hold any
// more.
func (q *toolCall) stale(t *workspace.Target, now *content, why string) *failure {
	name := t.Path.String()
	who := q.who(name, now.version)
	f := fail(tool.ConcurrentModification, "the file was changed by "+who+" since it was read, "+why+"; read it again")
	if now.version == "" {
		f.message = "the file was removed by " + who + " since it was read; write it again to make it anew"
		q.onFailed = func() { q.removed(name) }
	}
	f.data = map[string]any{"path": name}
	if now.version != "" {
		f.data["version"] = id(now.version)
	}
	return f
}

// ours reports whether a version of a file is the one that the session wrote last.
func (q *toolCall) ours(name string, v workspace.Version) bool {
	q.ses.mu.Lock()
	defer q.ses.mu.Unlock()
	for _, w := range slices.Backward(q.ses.writes) {
		if w.Path == name {
			return w.After == v
		}
	}
	return false
}

// who says who wrote a version.
func (q *toolCall) who(name string, v workspace.Version) string {
	if q.ours(name, v) {
		return "another call of this session"
	}
	return "somebody else"
}

// merge merges a text that was made from base with what the file holds now. whole says
// that text is a whole file, not an edit. If the merge would write nothing of a whole file,
// that is an error: the caller wants another text than the file holds, and to write it would
// take back what the other program did.
func (q *toolCall) merge(t *workspace.Target, base, now *content, text string, whole bool) (string, error) {
	switch {
	case now.version == "" && !t.Exists():
		return "", q.stale(t, now, "")
	case now.unreadable != nil || base.unreadable != nil:
		return "", q.stale(t, now, "and cannot be merged")
	}
	m := merge3.Merge(base.text, text, now.text, merge3.Options{Ours: "this write", Theirs: "on disk"})
	switch {
	case m.Conflicts > 0:
	case whole && m.Text == now.text && text != now.text:
		return "", q.stale(t, now, "and this write would only take that change back")
	default:
		return m.Text, nil
	}
	f := q.stale(t, now, fmt.Sprintf("in the same place (conflicts: %d)", m.Conflicts))
	f.data["conflict"] = cut(conflicts(m), maxDiff)
	return "", f
}

// conflicts are the parts of a merged text that are in conflict, with markers and some
// lines around them.
func conflicts(m merge3.Result) string {
	const around = 3
	lines := strings.SplitAfter(m.Text, "\n")
	var b strings.Builder
	done := 0
	for _, h := range m.Hunks {
		if h.Kind != merge3.Conflict {
			continue
		}
		from, to := max(h.Merged.Start-around, done), min(h.Merged.End+around, len(lines))
		if from >= to {
			continue
		}
		if from > done {
			b.WriteString("…\n")
		}
		b.WriteString(strings.Join(lines[from:to], ""))
		done = to
	}
	return b.String()
}

// cut keeps a long text from filling a result.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "\n…"
}
