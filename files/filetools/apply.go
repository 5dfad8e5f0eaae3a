package filetools

import (
	"context"
	"errors"
	"fmt"

	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/internal/diff"
	"github.com/stet-dev/stet/tool"
)

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
	notes := append(w.tell, why)
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
	out := writeData{Path: name, Version: id(done.Now), Created: done.Created, Notes: w.tell}
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
	text := encode(operation{Success: true, BytesWritten: &n, BackupPath: done.Backup, Data: out})
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
