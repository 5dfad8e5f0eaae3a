package filetools

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode"

	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/internal/diff"
	"github.com/stet-dev/stet/internal/edit"
	"github.com/stet-dev/stet/internal/invisible"
	"github.com/stet-dev/stet/tool"
)

// The tools that write, write_file and edit_file, and what every write does: its target, and how it is applied.

var writeFileTool = &toolDef{
	name: "write_file", plan: planWriteFile,
	params: params{
		{name: "path", typ: "string", about: aboutPath, required: true},
		{name: "content", typ: "string", about: "Content to write to the file", required: true},
		{name: "encoding", typ: "string", about: aboutEncoding, def: `"utf-8"`},
		{name: "create_dirs", typ: "boolean", about: "Create parent directories if they don't exist", def: "false"},
		{name: "backup", typ: "boolean", about: "Create backup before overwriting existing file", def: "true"},
	},
}

// planWriteFile is write_file.
func planWriteFile(ctx context.Context, q *toolCall) (*tool.Plan, error) {
	d := draft{
		text: q.args.str("content"), asked: q.args.str("content"),
		mode: workspace.WriteMode{CreateDirs: q.args.flag("create_dirs", false), Backup: q.args.flag("backup", true)},
	}
	t, err := q.target(q.path, d.mode.CreateDirs)
	if errors.Is(err, errNoParent) {
		return nil, fail(tool.FileNotFound, errNoParent.message+"; with create_dirs it is made")
	}
	if err != nil {
		return nil, err
	}
	if !t.Exists() {
		if err := checkNewName(t); err != nil {
			return nil, err
		}
	}
	if err := q.checkSize(len(d.text)); err != nil {
		return nil, err
	}
	now, err := q.readToWrite(ctx, &t, true)
	if err != nil {
		return nil, err
	}
	if err := q.baseOnSeen(ctx, &d, &t, now); err != nil {
		return nil, err
	}
	switch end, name := lineEnds(now.text); {
	case now.unreadable != nil || !strings.Contains(d.text, "\n"):
	case end != "\n" && !strings.Contains(d.text, end):
		d.text = strings.ReplaceAll(d.text, "\n", end)
		d.asked = d.text
		d.notes = append(d.notes, "line ends are "+name+", as they were in the file")
	case end == "\n" && strings.Contains(now.text, "\r\n") && !strings.Contains(d.text, "\r\n"):
		d.notes = append(d.notes, "line ends are LF now; they were LF and CRLF in the file")
	}
	return q.plan(t, now, d)
}

// checkNewName refuses a new file whose name begins or ends with an invisible character, or has a control character anywhere. It also
// checks the directories that are made for the file.
func checkNewName(t workspace.Target) error {
	names := strings.Split(t.Path.String(), "/")
	for _, name := range names[max(0, len(names)-1-t.NewDirs):] {
		if strings.TrimFunc(name, unseen) != name || strings.ContainsFunc(name, unicode.IsControl) {
			return fail(tool.InvalidPath, fmt.Sprintf("the name %q has a control character, or begins or ends with a blank or an invisible character; leave that out", name))
		}
	}
	return nil
}

// unseen reports whether a character cannot be seen at the end of a name.
func unseen(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) }

// lineEnds returns the line end that all lines of a text have, with its name; else LF.
func lineEnds(text string) (end, name string) {
	n := strings.Count(text, "\n")
	switch {
	case crAlone(text):
		return "\r", "CR"
	case n > 0 && strings.Count(text, "\r\n") == n:
		return "\r\n", "CRLF"
	}
	return "\n", "LF"
}

var editFileTool = &toolDef{
	name: "edit_file", plan: planEditFile,
	params: params{
		{name: "path", typ: "string", required: true},
		{name: "edits", typ: "array", required: true, items: params{
			{name: "old_text", typ: "string", required: true},
			{name: "new_text", typ: "string", required: true},
			{name: "all", typ: "boolean", about: "replace every occurrence"},
		}},
		{name: "encoding", typ: "string"},
	},
}

// planEditFile is edit_file. The edits are made on what the session last saw, and
// merged with what the file holds now. An old text that is only in what the file
// holds now is replaced there.
func planEditFile(ctx context.Context, q *toolCall) (*tool.Plan, error) {
	list := q.args.list("edits")
	if len(list) == 0 {
		return nil, badArgument("edits", "there are none.")
	}
	var edits []edit.Edit
	for _, e := range list {
		edits = append(edits, edit.Edit{Old: e.str("old_text"), New: e.str("new_text"), All: e.flag("all", false)})
	}
	t, err := q.target(q.path, false)
	if err == nil && !t.Exists() || errors.Is(err, errNoParent) {
		return nil, fail(tool.FileNotFound, "the file does not exist; use write_file to make it")
	}
	if err != nil {
		return nil, err
	}
	now, err := q.readToWrite(ctx, &t, false)
	if err != nil {
		return nil, err
	}
	if now.unreadable != nil {
		return nil, encodingAdvice(now.unreadable, nameEncoding)
	}
	for i, e := range edits {
		if now.enc.BOM() && !strings.Contains(now.text, "\ufeff") { // the mark is no part of the text
			edits[i].Old, edits[i].New = invisible.SkipMark(e.Old), invisible.SkipMark(e.New)
		}
	}
	d := draft{isEdit: true, edits: edits, mode: workspace.WriteMode{Backup: true}}
	stale := q.baseOnSeen(ctx, &d, &t, now)
	if stale != nil {
		d.baseOn(now, tool.Stale)
	}
	r, err := applyEdits(d.base.text, edits)
	if err != nil && d.base.version != now.version {
		// The text is not in what the session saw, which may know it from elsewhere.
		d.baseOn(now, tool.Stale)
		r, err = applyEdits(now.text, edits)
	}
	if err != nil && stale != nil {
		return nil, stale
	}
	if err != nil {
		return nil, badEdit(err, edits)
	}
	d.text = string(r.Data)
	d.asked = d.text
	return q.plan(t, now, d)
}

// errNoParent is the error of target where a directory would have to be made.
var errNoParent = fail(tool.FileNotFound, "the directory it would be in does not exist")

// target inspects the path of a write, and refuses what cannot be written, before
// a person is asked. The path of what it returns is canonical: what is approved
// for it is written to it, also if a link leads elsewhere by then.
func (q *toolCall) target(name string, createDirs bool) (workspace.Target, error) {
	p, err := q.root.Path(name)
	if err != nil {
		return workspace.Target{}, err
	}
	if strings.HasSuffix(name, "/") {
		return workspace.Target{}, fail(tool.InvalidPath, "the path ends in a slash: it names a directory")
	}
	t, err := q.root.Inspect(p)
	missing := errors.Is(err, workspace.ErrNotFound) && !t.Exists()
	if missing || err == nil {
		q.canonical = t.Path.String()
	}
	switch above := quoted(t.Parent.Path.String()); {
	case err != nil && !missing:
		return t, err
	case t.Class == workspace.Repository:
		err = fail(tool.PermissionDenied, "files in .git are not written to")
	case t.Class == workspace.Own:
		err = fail(tool.PermissionDenied, "the file belongs to stet itself")
	case t.Kind == workspace.Directory:
		err = fail(tool.IsDirectory, "the path is a directory")
	case t.Kind == workspace.Special:
		err = fail(tool.PermissionDenied, "the path is not a regular file")
	case t.Parent.Kind != workspace.Directory:
		err = fail(tool.InvalidPath, above+" is a file, not a directory")
	case t.NewDirs > 0 && !createDirs:
		err = errNoParent
	case !t.Parent.Writable:
		err = fail(tool.PermissionDenied, "the directory "+above+" is read-only")
	case t.Exists() && !t.Writable:
		err = fail(tool.PermissionDenied, "there is no permission to write to the file")
	default:
		err = nil
	}
	return t, err
}

// notes are what has to be known of the target to decide on a write to it.
func notes(t workspace.Target) []tool.Note {
	cautions := t.Cautions()
	var n []tool.Note
	for _, c := range []struct {
		note tool.Note
		is   bool
	}{
		{tool.Control, cautions&workspace.ControlFile != 0},
		{tool.Hidden, invisible.HasName(t.Path.String())},
		{tool.NewDirs, t.NewDirs > 0},
		{tool.Executable, cautions&workspace.ExecutableFile != 0},
		{tool.HardLink, cautions&workspace.OtherNames != 0},
		{tool.ReadOnly, t.Exists() && t.Mode&0o222&fs.ModePerm == 0},
	} {
		if c.is {
			n = append(n, c.note)
		}
	}
	return n
}

// agreed are the cautions that the plan names. They were known when the plan was
// allowed.
func agreed(p *tool.Plan) workspace.Caution {
	var all workspace.Caution
	for note, c := range map[tool.Note]workspace.Caution{
		tool.Control: workspace.ControlFile, tool.Executable: workspace.ExecutableFile, tool.HardLink: workspace.OtherNames,
	} {
		if p.Has(note) {
			all |= c
		}
	}
	return all
}

// outdated reports whether a write failed because the file is not the one that was
// decided on: it has another content, or there is a reason to ask that the plan
// does not name. It may have become executable while a person looked at the diff.
func outdated(err error) bool {
	var e *workspace.Error
	return errors.Is(err, workspace.ErrChanged) || errors.As(err, &e) && e.Asks != 0
}

// writeData is the data of the result of a write.
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
func (q *toolCall) unchanged(w *pendingWrite) *tool.Plan {
	none, name := int64(0), w.t.Path.String()
	why := "the file holds this content already"
	switch {
	case w.byPerson:
		why = "the content was edited by a person before it was approved; the file holds it already"
	case w.base.version != w.now.version && w.text != w.asked:
		why = "the file holds this change already; nothing was written"
	}
	notes := append(w.notes, why)
	return q.done(func() string {
		q.edited(name, w.now.version, w.now.info, w.partly, q.began)
		return encode(operation{Success: true, BytesWritten: &none, Data: writeData{
			Path: name, Version: id(w.now.version), Notes: notes, Asked: w.askedToWritten(),
		}})
	})
}

// maxDiff is the size of a diff in a result.
const maxDiff = 64 << 10

// askedToWritten is the difference between what was asked for and what is written, if
// there is one.
func (w *pendingWrite) askedToWritten() string {
	return cut(diff.Lines(w.asked, w.text, diff.Options{}).Unified("asked", "written"), maxDiff)
}

// apply writes what was planned.
func (q *toolCall) apply(ctx context.Context, p *tool.Plan, w *pendingWrite) (tool.Result, error) {
	began, name, mode := q.cfg.Now(), w.t.Path.String(), w.mode
	mode.Agreed = agreed(p)
	done, err := q.writeBytes(ctx, w.t.Path, w.data, workspace.Version(p.Before), mode)
	if outdated(err) {
		return tool.Result{}, fmt.Errorf("write %s: %w", workspace.Quote(name), tool.ErrChanged)
	}
	if err != nil {
		return q.failed(err)
	}
	q.edited(name, done.Now, done.Info, w.partly, began)
	q.ses.setEncoding(name, w.enc)
	out := writeData{Path: name, Version: id(done.Now), Created: done.Created, Notes: w.notes}
	out.Write = q.ses.wrote(p, 0, pastWrite{Tool: q.call.Name, Path: name, Before: done.Was, After: done.Now, Dirs: done.Dirs, Time: began})
	if w.enc != (workspace.Encoding{}) {
		out.Encoding = encodingName(w.enc)
	}
	for _, l := range done.Lost {
		out.Notes = append(out.Notes, "not kept: "+l)
	}
	if w.isEdit {
		out.Diff = cut(p.Diff.Text(), maxDiff)
	}
	out.Asked = w.askedToWritten()
	if w.byPerson {
		out.Notes = append(out.Notes, "the content was edited by a person before it was approved")
	}
	n := done.Bytes
	text := encode(operation{Success: true, BytesWritten: &n, BackupPath: q.root.InState(done.Backup), Data: out})
	return q.textResult(text), nil
}

// writeBytes writes a file, in parts where it is larger than WriteLimit. Where another
// program has written the same bytes meanwhile, the error is ErrChanged: this call has
// written nothing, so there is nothing to record and nothing to undo.
func (q *toolCall) writeBytes(ctx context.Context, p workspace.Path, data []byte, was workspace.Version, mode workspace.WriteMode) (workspace.Written, error) {
	w, err := q.writeAnyBytes(ctx, p, data, was, mode)
	if err == nil && w.Unchanged && w.Was != was {
		err = workspace.ErrChanged
	}
	return w, err
}

func (q *toolCall) writeAnyBytes(ctx context.Context, p workspace.Path, data []byte, was workspace.Version, mode workspace.WriteMode) (workspace.Written, error) {
	if int64(len(data)) <= q.root.WriteLimit() {
		return q.root.Write(ctx, p, data, was, mode)
	}
	s, err := q.root.Stage(p)
	if err != nil {
		return workspace.Written{}, err
	}
	if _, err = s.Write(data); err != nil {
		return workspace.Written{}, errors.Join(err, s.Abort())
	}
	w, err := s.Commit(ctx, was, mode)
	if aborted := s.Abort(); aborted != nil {
		q.cfg.Log.Warn("what was staged is left", "err", aborted)
	}
	return w, err
}
