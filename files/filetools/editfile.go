package filetools

import (
	"context"
	_ "embed"
	"errors"
	"strings"

	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/internal/edit"
	"github.com/stet-dev/stet/internal/invisible"
	"github.com/stet-dev/stet/tool"
)

//go:embed edit_file.md
var editFileDescription string

var editFileTool = &toolDef{
	name: "edit_file", description: editFileDescription, plan: planEditFile,
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
// holds now is replaced there. (FILE-15, FILE-18)
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
	if err != nil {
		return nil, err
	}
	if !t.Exists() {
		return nil, fail(tool.FileNotFound, "the file does not exist; use write_file to make it")
	}
	now, err := q.readToWrite(ctx, &t, false)
	if err != nil {
		return nil, err
	}
	if now.unreadable != nil {
		return nil, now.unreadable
	}
	for i, e := range edits {
		if now.enc.BOM() && !strings.Contains(now.text, "\ufeff") { // the mark is no part of the text
			edits[i].Old, edits[i].New = invisible.SkipMark(e.Old), invisible.SkipMark(e.New)
		}
	}
	d := draft{isEdit: true, edits: edits, mode: workspace.WriteMode{Backup: true}}
	stale := q.baseOnSeen(&d, &t, now)
	if stale != nil {
		d.baseOn(now, tool.Stale)
	}
	r, err := edit.Apply([]byte(d.base.text), edits)
	if err != nil && d.base.version != now.version {
		// The text is not in what the session saw, which may know it from elsewhere.
		d.baseOn(now, tool.Stale)
		r, err = edit.Apply([]byte(now.text), edits)
	}
	if err != nil && stale != nil {
		return nil, stale
	}
	if err != nil {
		return nil, badEdit(err)
	}
	d.text = string(r.Data)
	d.asked = d.text
	return q.plan(t, now, d)
}

// reasons are the words for the reasons why an edit cannot be made.
var reasons = map[edit.Reason]string{
	edit.NotFound: "not_found", edit.Ambiguous: "ambiguous", edit.Overlap: "overlap",
	edit.EmptyOld: "empty", edit.NoChange: "no_change",
}

// badEdit words an edit that cannot be made.
func badEdit(err error) error {
	var e *edit.Error
	if !errors.As(err, &e) {
		return err
	}
	f := fail(tool.InvalidArgument, e.Error())
	f.data = map[string]any{"edit": e.Edit + 1, "reason": reasons[e.Reason]}
	if len(e.Lines) > 0 {
		f.data["lines"] = e.Lines
	}
	return f
}
