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

// draft is a file as somebody wants it: the model, or a person who edited what
// the model wants.
type draft struct {
	text    string   // as it shall be
	base    *content // on which text was made, nil when nobody looked: what is there now
	request string   // what the model asked for
	tell    []string // what the model has to be told

	unknown    tool.Note // why base is not what the session saw: Unread, Stale or PartRead; "" where it is
	whole      bool      // the session knows all of base
	edit       bool      // parts of base are replaced, and the result carries them
	edited     bool      // a person wrote the text
	strict     bool      // bytes outside of what changed must not change
	createDirs bool
	backup     bool
}

// largeDiff is the size, in bytes, from which a diff cannot be shown whole.
const largeDiff = 256 << 10

// plan makes the plan that turns what is at the target into the draft, merged
// with what somebody else has written since its base. (FILE-15)
func (q *request) plan(ctx context.Context, tg target, now *content, d draft) (*tool.Plan, error) {
	notes := tg.notes()
	switch {
	case d.unknown != "" && tg.exists:
		notes = append(notes, d.unknown)
	case tg.exists && !d.edit && !d.whole:
		notes = append(notes, tool.PartRead)
	}
	text := d.text
	if d.base != nil && d.base.version != now.version {
		merged, err := q.merge(&tg, d.base, now, text)
		if err != nil {
			return nil, err
		}
		text, notes = merged, append(notes, tool.Merged)
		d.tell = append(d.tell, "merged with what "+q.who(tg.name, now.version)+" has changed")
	}
	enc, err := q.encodingFor(&tg, now, d.strict)
	if err != nil {
		return nil, err
	}
	if tg.exists && now.unreadable == nil && enc != now.enc {
		notes = append(notes, tool.Reencoded)
		d.tell = append(d.tell, fmt.Sprintf("the whole file is written in %s; it was in %s", encodingName(enc), encodingName(now.enc)))
	}
	data, err := reencode(now, text, enc, d.strict)
	if err != nil {
		return nil, err
	}
	if err := q.checkSize(len(data)); err != nil {
		return nil, err
	}
	after := workspace.VersionOf(data)
	if tg.exists && after == now.version {
		return q.unchanged(&tg, now, text, d), nil
	}
	p := &tool.Plan{
		Call: q.call, Path: tg.name, Before: string(now.version), After: string(after),
		Size: int64(len(data)), Content: []byte(text), Dirs: tg.dirs,
	}
	var added []diff.Line
	if now.unreadable == nil {
		df := diff.Lines(now.text, text, diff.Options{})
		from := "a/" + tg.name
		if !tg.exists {
			from = "/dev/null"
		}
		p.Diff = df.Unified(from, "b/"+tg.name)
		added = addedLines(df)
	} else {
		added = []diff.Line{{Text: text}}
	}
	if len(p.Diff) > largeDiff || now.large {
		notes = append(notes, tool.Large)
	}
	if !slices.Contains(notes, tool.Hidden) && slices.ContainsFunc(added, func(l diff.Line) bool { return invisible.Has(l.Text) }) {
		notes = append(notes, tool.Hidden)
	}
	p.Notes = notes
	p.Apply = func(ctx context.Context) (tool.Result, error) { return q.apply(ctx, p, tg, data, text, enc, d) }
	p.Replan = func(ctx context.Context, approved []byte) (*tool.Plan, error) {
		d.edited = d.edited || string(approved) != text
		return q.replan(ctx, now, approved, d)
	}
	return p, nil
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
func (q *request) merge(tg *target, base, now *content, text string) (string, error) {
	switch {
	case now.version == "" && !tg.exists:
		return "", q.stale(tg, now, "")
	case now.unreadable != nil || base.unreadable != nil:
		return "", q.stale(tg, now, "and cannot be merged")
	}
	m := merge3.Merge(base.text, text, now.text, merge3.Options{Ours: "this write", Theirs: "on disk"})
	if m.Conflicts == 0 {
		return m.Text, nil
	}
	f := q.stale(tg, now, fmt.Sprintf("in the same place (%d conflicts)", m.Conflicts))
	if m.Conflicts == 1 {
		f = q.stale(tg, now, "in the same place (1 conflict)")
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
func (q *request) replan(ctx context.Context, base *content, approved []byte, d draft) (*tool.Plan, error) {
	p, err := q.replanned(ctx, base, approved, d)
	if err != nil {
		return q.refuse(err)
	}
	return p, nil
}

func (q *request) replanned(ctx context.Context, base *content, approved []byte, d draft) (*tool.Plan, error) {
	tg, err := q.target(q.opened, d.createDirs)
	if err != nil {
		return nil, err
	}
	now, err := q.there(ctx, &tg, q.options.encoding)
	if err != nil {
		return nil, err
	}
	if !d.edited && now.version != base.version && q.ours(tg.name, now.version) {
		// Another call came first. The session knows of it, so what the model
		// asks for is what it would ask for now.
		return q.kind.plan(ctx, q)
	}
	d.text, d.base, d.strict = string(approved), base, false
	d.tell = nil
	p, err := q.plan(ctx, tg, now, d)
	if err == nil && d.edit && len(base.data) > 0 && bytes.HasPrefix(now.data, base.data) {
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
func (q *request) unchanged(tg *target, now *content, text string, d draft) *tool.Plan {
	none := int64(0)
	notes := append(d.tell, "the file holds this content already")
	return q.done(func() string {
		q.edited(tg.name, now.version, now.info, d.edit && !d.whole, q.began)
		return encode(operation{Success: true, BytesWritten: &none, Data: writeData{
			Path: tg.name, Version: id(now.version), Notes: notes, Asked: d.askedTo(text),
		}})
	})
}

// maxDiff is the size of a diff in a result.
const maxDiff = 64 << 10

// askedTo is the difference between what was asked for and what is written, if
// there is one.
func (d *draft) askedTo(text string) string {
	return cut(diff.Lines(d.request, text, diff.Options{}).Unified("asked", "written"), maxDiff)
}

// apply writes what was planned.
func (q *request) apply(ctx context.Context, p *tool.Plan, tg target, data []byte, text string, enc workspace.Encoding, d draft) (tool.Result, error) {
	began := q.cfg.Now()
	w, err := q.writeBytes(ctx, tg.path, data, workspace.Version(p.Before), workspace.WriteOptions{
		CreateDirs: d.createDirs, Backup: d.backup,
		Control: p.Has(tool.Control), Linked: p.Has(tool.HardLink), Executable: p.Has(tool.Executable),
	})
	// Somebody else may have written these very bytes meanwhile: then there is
	// nothing of ours to record, and nothing to undo.
	already := err == nil && w.Unchanged && w.Was != workspace.Version(p.Before)
	if already || q.changed(p, tg, err) {
		return tool.Result{}, fmt.Errorf("write %s: %w", workspace.Quote(tg.name), tool.ErrChanged)
	}
	if err != nil {
		return q.failed(err)
	}
	q.edited(tg.name, w.Now, w.Info, d.edit && !d.whole, began)
	q.ses.mu.Lock()
	q.ses.encodings[tg.name] = enc
	q.ses.mu.Unlock()
	out := writeData{Path: tg.name, Version: id(w.Now), Created: w.Created, Notes: d.tell}
	out.Write = q.ses.wrote(Write{Tool: q.call.Name, Path: tg.name, Before: w.Was, After: w.Now, Dirs: w.Dirs, Time: began})
	if enc != (workspace.Encoding{}) {
		out.Encoding = encodingName(enc)
	}
	for _, l := range w.Lost {
		out.Notes = append(out.Notes, "not kept: "+l)
	}
	if d.edit {
		out.Diff = cut(p.Diff, maxDiff)
	}
	out.Asked = d.askedTo(text)
	if text != d.request && !p.Has(tool.Merged) {
		out.Notes = append(out.Notes, "the content was edited by a person before it was approved")
	}
	n := w.Bytes
	text = encode(operation{Success: true, BytesWritten: &n, BackupPath: w.Backup, Data: out})
	q.ses.spend(q.cfg.Dedupe.tokens(text))
	return tool.Result{CallID: q.call.ID, Text: text}, nil
}
