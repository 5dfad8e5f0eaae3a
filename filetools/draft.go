package filetools

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stet-dev/stet/internal/diff"
	"github.com/stet-dev/stet/internal/invisible"
	"github.com/stet-dev/stet/internal/merge3"
	"github.com/stet-dev/stet/tool"
	"github.com/stet-dev/stet/workspace"
)

// draft is the text that a file is to hold, from the model, or from a person who
// changed what the model wants.
type draft struct {
	kind  draftKind
	text  string              // the text that the file is to hold
	asked string              // the text that the model asked for
	base  *content            // what text was made from
	note  tool.Note           // why base is not all that the session saw, "" where it is
	mode  workspace.WriteMode // as the call asks; what a person agrees to is added
	tell  []string            // what the model has to be told

	partly   bool // an edit of a file that the session does not know whole
	byPerson bool // a person changed the text
}

// draftKind says how much of the file a draft replaces.
type draftKind int

const (
	wholeFile    draftKind = iota // write_file: all of it
	exactEdit                     // edit_file: bytes outside of the edits must not change
	approvedEdit                  // edit_file, planned again from the text that was approved
)

func (d *draft) isEdit() bool { return d.kind != wholeFile }

// baseOn makes content that the session does not know, or not all of, the base.
func (d *draft) baseOn(c *content, why tool.Note) {
	d.base, d.note, d.partly = c, why, d.isEdit()
}

// largeDiff is the size, in bytes, from which a diff cannot be shown whole.
const largeDiff = 256 << 10

// plan makes the plan that turns what the target holds now into the draft, merged
// with what was written to the file since the base of the draft. (FILE-15)
func (q *toolCall) plan(ctx context.Context, t workspace.Target, now *content, d draft) (*tool.Plan, error) {
	name, notes := t.Path.String(), notes(t)
	if d.note != "" && t.Exists() {
		notes = append(notes, d.note)
	}
	text := d.text
	if d.base.version != now.version {
		merged, err := q.merge(&t, d.base, now, text)
		if err != nil {
			return nil, err
		}
		text, notes = merged, append(notes, tool.Merged)
		d.tell = append(d.tell, "merged with what "+q.who(name, now.version)+" has changed")
	}
	enc, err := q.encodingFor(&t, now, d.kind == exactEdit)
	if err != nil {
		return nil, err
	}
	if t.Exists() && now.unreadable == nil && enc != now.enc {
		notes = append(notes, tool.Reencoded)
		d.tell = append(d.tell, fmt.Sprintf("the whole file is written in %s; it was in %s", encodingName(enc), encodingName(now.enc)))
	}
	data, err := reencode(now, text, enc, d.kind == exactEdit)
	if err != nil {
		return nil, err
	}
	if err := q.checkSize(len(data)); err != nil {
		return nil, err
	}
	after := workspace.VersionOf(data)
	if t.Exists() && after == now.version {
		return q.unchanged(&t, now, text, d), nil
	}
	p := &tool.Plan{
		Call: q.call, Path: name, Before: string(now.version), After: string(after),
		Size: int64(len(data)), Content: []byte(text), Dirs: t.NewDirs,
	}
	var added []diff.Line
	if now.unreadable == nil {
		changes := diff.Lines(now.text, text, diff.Options{})
		p.Diff = fileDiff(name, !t.Exists(), false, changes)
		added = addedLines(changes)
	} else {
		added = []diff.Line{{Text: text}}
	}
	if len(p.Diff.Text()) > largeDiff || now.large {
		notes = append(notes, tool.Large)
	}
	if !slices.Contains(notes, tool.Hidden) && slices.ContainsFunc(added, func(l diff.Line) bool { return invisible.Has(l.Text) }) {
		notes = append(notes, tool.Hidden)
	}
	p.Notes = notes
	p.Apply = func(ctx context.Context) (tool.Result, error) { return q.apply(ctx, p, t, data, text, enc, d) }
	p.Replan = func(ctx context.Context, approved []byte) (*tool.Plan, error) {
		d.byPerson = d.byPerson || string(approved) != text
		return q.replan(ctx, now, approved, d)
	}
	return p, nil
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

// merge merges a draft with what is there now.
func (q *toolCall) merge(t *workspace.Target, base, now *content, text string) (string, error) {
	switch {
	case now.version == "" && !t.Exists():
		return "", q.stale(t, now, "")
	case now.unreadable != nil || base.unreadable != nil:
		return "", q.stale(t, now, "and cannot be merged")
	}
	m := merge3.Merge(base.text, text, now.text, merge3.Options{Ours: "this write", Theirs: "on disk"})
	if m.Conflicts == 0 {
		return m.Text, nil
	}
	f := q.stale(t, now, fmt.Sprintf("in the same place (%d conflicts)", m.Conflicts))
	if m.Conflicts == 1 {
		f = q.stale(t, now, "in the same place (1 conflict)")
	}
	f.data["conflict"] = cut(conflicts(m), maxDiff)
	return "", f
}

// conflicts are the parts of a merged text that are in conflict, with markers
// and some lines around.
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

// cut keeps a text from filling a result.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "\n…"
}

// replan plans again from what was approved, on what is there now. Base is
// what the plan was made on.
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
		// Another call came first. The session knows of it, so what the model
		// asks for is what it would ask for now.
		return q.def.plan(ctx, q)
	}
	d.text, d.base, d.tell = string(approved), base, nil
	if d.isEdit() {
		d.kind = approvedEdit
	}
	p, err := q.plan(ctx, t, now, d)
	if err == nil && d.isEdit() && len(base.data) > 0 && bytes.HasPrefix(now.data, base.data) {
		p.Grown = string(base.version)
	}
	return p, err
}

// writeData goes with the result of a write.
type writeData struct {
	Path     string   `json:"path"`
	Version  string   `json:"version,omitempty"`
	Write    int      `json:"write,omitempty"` // its number, for undo
	Created  bool     `json:"created,omitempty"`
	Encoding string   `json:"encoding,omitempty"`
	Notes    []string `json:"notes,omitempty"`
	Diff     string   `json:"diff,omitempty"`             // of an edit: before and after
	Asked    string   `json:"asked_to_written,omitempty"` // where it is not what was asked for
}

// unchanged is the plan of a write that would change nothing.
func (q *toolCall) unchanged(t *workspace.Target, now *content, text string, d draft) *tool.Plan {
	none, name := int64(0), t.Path.String()
	notes := append(d.tell, "the file holds this content already")
	return q.done(func() string {
		q.edited(name, now.version, now.info, d.partly, q.began)
		return encode(operation{Success: true, BytesWritten: &none, Data: writeData{
			Path: name, Version: id(now.version), Notes: notes, Asked: d.askedTo(text),
		}})
	})
}

// maxDiff is the size of a diff in a result.
const maxDiff = 64 << 10

// askedTo is the difference between what was asked for and what is written, if
// there is one.
func (d *draft) askedTo(text string) string {
	return cut(diff.Lines(d.asked, text, diff.Options{}).Unified("asked", "written"), maxDiff)
}

// apply writes what was planned.
func (q *toolCall) apply(ctx context.Context, p *tool.Plan, t workspace.Target, data []byte, text string, enc workspace.Encoding, d draft) (tool.Result, error) {
	began, name := q.cfg.Now(), t.Path.String()
	d.mode.Agreed = agreed(p)
	w, err := q.writeBytes(ctx, t.Path, data, workspace.Version(p.Before), d.mode)
	// Somebody else may have written these very bytes meanwhile: then there is
	// nothing of ours to record, and nothing to undo.
	already := err == nil && w.Unchanged && w.Was != workspace.Version(p.Before)
	if already || outdated(err) {
		return tool.Result{}, fmt.Errorf("write %s: %w", workspace.Quote(name), tool.ErrChanged)
	}
	if err != nil {
		return q.failed(err)
	}
	q.edited(name, w.Now, w.Info, d.partly, began)
	q.ses.setEncoding(name, enc)
	out := writeData{Path: name, Version: id(w.Now), Created: w.Created, Notes: d.tell}
	out.Write = q.ses.wrote(Write{Tool: q.call.Name, Path: name, Before: w.Was, After: w.Now, Dirs: w.Dirs, Time: began})
	if enc != (workspace.Encoding{}) {
		out.Encoding = encodingName(enc)
	}
	for _, l := range w.Lost {
		out.Notes = append(out.Notes, "not kept: "+l)
	}
	if d.isEdit() {
		out.Diff = cut(p.Diff.Text(), maxDiff)
	}
	out.Asked = d.askedTo(text)
	if text != d.asked && !p.Has(tool.Merged) {
		out.Notes = append(out.Notes, "the content was edited by a person before it was approved")
	}
	n := w.Bytes
	text = encode(operation{Success: true, BytesWritten: &n, BackupPath: w.Backup, Data: out})
	return q.succeeded(text), nil
}
