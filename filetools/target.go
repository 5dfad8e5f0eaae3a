package filetools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/stet-dev/stet/internal/invisible"
	"github.com/stet-dev/stet/tool"
	"github.com/stet-dev/stet/workspace"
)

// target is where a write would go. It is canonical: what is approved for it is
// written to it, whatever links point to it by then.
type target struct {
	path   workspace.Path
	name   string
	info   workspace.Info
	exists bool
	dirs   int // directories that are missing: the last so many of its path's
}

// target asks whether a path may be written to, before anybody is asked.
// (FILE-6, FILE-13)
func (q *request) target(name string, createDirs bool) (target, error) {
	p, err := q.root.Path(name)
	if err != nil {
		return target{}, err
	}
	if strings.HasSuffix(name, "/") {
		return target{}, fail(tool.InvalidPath, "the path ends in a slash: it names a directory")
	}
	info, err := q.root.Stat(p)
	missing := errors.Is(err, workspace.ErrNotFound)
	tg := target{path: info.Path, name: info.Path.String(), info: info, exists: !missing}
	if missing || err == nil {
		q.opened = tg.name
	}
	switch {
	case err != nil && !missing:
		return tg, err
	case info.Class == workspace.Repository:
		return tg, fail(tool.PermissionDenied, "files in .git are not written to")
	case info.Class == workspace.Own:
		return tg, fail(tool.PermissionDenied, "the file belongs to stet itself")
	case missing || info.Kind == workspace.File:
		if err := q.parent(&tg, createDirs); err != nil || missing {
			return tg, err
		}
	}
	switch {
	case info.Kind == workspace.Directory:
		return tg, fail(tool.IsDirectory, "the path is a directory")
	case info.Kind != workspace.File:
		return tg, fail(tool.PermissionDenied, "the path is not a regular file")
	case !info.Writable:
		return tg, fail(tool.PermissionDenied, "there is no permission to write to the file")
	}
	return tg, nil
}

// parent asks whether something may be made in the directory of the target.
func (q *request) parent(tg *target, createDirs bool) error {
	for name := path.Dir(tg.name); ; name = path.Dir(name) {
		p, err := q.root.Path(name)
		if err != nil {
			return err
		}
		info, err := q.root.Stat(p)
		switch {
		case errors.Is(err, workspace.ErrNotFound) && name != ".":
			tg.dirs++
			continue
		case err != nil:
			return err
		case info.Kind != workspace.Directory:
			return fail(tool.InvalidPath, quoted(name)+" is a file, not a directory")
		case !tg.info.Parent && !createDirs:
			return fail(tool.FileNotFound, "the directory it would be in does not exist; use create_dirs")
		case !info.Writable:
			return fail(tool.PermissionDenied, "the directory "+quoted(name)+" is read-only")
		}
		return nil
	}
}

// notes are what the file itself gives reason to say.
func (tg *target) notes() []tool.Note {
	var n []tool.Note
	add := func(note tool.Note, is bool) {
		if is {
			n = append(n, note)
		}
	}
	add(tool.Control, tg.info.Class == workspace.Control)
	add(tool.Hidden, invisible.HasName(tg.name))
	add(tool.NewDirs, !tg.exists && !tg.info.Parent)
	if tg.exists {
		add(tool.Executable, tg.info.Executable())
		add(tool.HardLink, tg.info.Links > 1)
		add(tool.ReadOnly, tg.info.Mode&0o222&fs.ModePerm == 0)
	}
	return n
}

// changed reports whether a write failed because the file is not what the plan
// was decided on: it has another content, or there is a reason to ask that the plan
// did not name. It may have become executable while a person looked at the diff.
func (q *request) changed(p *tool.Plan, tg target, err error) bool {
	if errors.Is(err, workspace.ErrChanged) {
		return true
	}
	if !errors.Is(err, workspace.ErrProtected) {
		return false
	}
	info, err := q.root.Stat(tg.path)
	if err != nil {
		return false
	}
	now := target{info: info, exists: true}
	return slices.ContainsFunc(now.notes(), func(n tool.Note) bool { return !p.Has(n) })
}

// content is a file's content, on disk or as somebody saw it. The zero content
// is that of a file that is not there.
type content struct {
	version workspace.Version
	data    []byte
	text    string
	enc     workspace.Encoding
	info    workspace.Info

	unreadable error // why there is no text
	large      bool  // not even data: more than is read whole
}

// maxReplaced is the size, in bytes, of the largest file that is written to: it
// is hashed to know that nobody changes it meanwhile, some seconds for this one.
const maxReplaced = 1 << 30

// there reads what is at the target now. What is no text is no error.
func (q *request) there(ctx context.Context, tg *target, asked workspace.Encoding) (*content, error) {
	if !tg.exists {
		return &content{}, nil
	}
	if err := hold(ctx, writeCopies*min(tg.info.Size, q.cfg.WriteLimit)); err != nil {
		return nil, err
	}
	c, err := q.root.ReadAll(ctx, tg.path)
	switch {
	case errors.Is(err, workspace.ErrTooLarge) && tg.info.Size > maxReplaced:
		return nil, fail(tool.FileTooLarge, fmt.Sprintf("the file that is there has %d bytes, and one of more than %d is not replaced", tg.info.Size, maxReplaced))
	case errors.Is(err, workspace.ErrTooLarge):
		v, verr := q.root.Version(ctx, tg.path)
		if verr != nil {
			return nil, verr
		}
		return &content{version: v, info: tg.info, unreadable: err, large: true}, nil
	case errors.Is(err, workspace.ErrNotFound):
		tg.exists = false
		return &content{}, nil
	case err != nil:
		return nil, err
	}
	n := &content{version: c.Version, data: c.Data, info: c.Info}
	n.text, n.enc, n.unreadable = decode(c.Data, asked)
	return n, nil
}

// takeSeen bases the draft on what the client session last saw of the file, or,
// when that is not known, on what is there now. It is an error when what was
// seen is not kept any more.
func (q *request) takeSeen(d *draft, tg *target, now *content) error {
	f, ok := q.ses.tracker.File(tg.name, tg.info.Stamp)
	switch {
	case !ok, !tg.exists && f.Path != tg.name: // in another case it may be another file (TRK-5)
		d.base, d.unknown = now, tool.Unread
		return nil
	case f.Version == "":
		d.base, d.unknown = now, tool.PartRead // too large to be shown whole
		return nil
	}
	d.whole = f.Whole
	if f.Version == now.version {
		d.base = now
		return nil
	}
	data, err := q.root.Kept(f.Version)
	if err != nil {
		return q.stale(tg, now, "and what was read is not kept any more")
	}
	old := &content{version: f.Version, data: data}
	if old.text, old.enc, err = decode(data, now.enc); err != nil {
		return q.stale(tg, now, "and cannot be merged")
	}
	d.base = old
	return nil
}

// stale is the failure of a write that was based on what is not there any more.
func (q *request) stale(tg *target, now *content, why string) *failure {
	who := q.who(tg.name, now.version)
	f := fail(tool.ConcurrentModification, "the file was changed by "+who+" since it was read, "+why+"; read it again")
	if now.version == "" {
		f.message = "the file was removed by " + who + " since it was read; write it again to make it anew"
		q.told = func() { q.removed(tg.name) }
	}
	f.data = map[string]any{"path": tg.name}
	if now.version != "" {
		f.data["version"] = id(now.version)
	}
	return f
}

// ours reports whether a version of a file is what the session itself wrote last.
func (q *request) ours(name string, v workspace.Version) bool {
	q.ses.mu.Lock()
	defer q.ses.mu.Unlock()
	for _, w := range slices.Backward(q.ses.writes) {
		if w.Path == name {
			return w.After == v
		}
	}
	return false
}

// who says whose a version is.
func (q *request) who(name string, v workspace.Version) string {
	if q.ours(name, v) {
		return "another call of this session"
	}
	return "somebody else"
}

// asFound takes the text in UTF-8, or in what the byte-order mark says, where
// it is valid so: the encoding that a write asks for is what it is to have, not
// what it has.
func (c *content) asFound() {
	if c.data == nil {
		return
	}
	if text, enc, err := decode(c.data, workspace.Encoding{}); err == nil {
		c.text, c.enc, c.unreadable = text, enc, nil
	}
}

// encodingFor decides in what a text is written: in what the file has, unless
// another encoding than the default is asked for. (FILE-16)
//
// An edit (keep) never writes a file in another encoding, nor does a call that
// asks for none.
func (q *request) encodingFor(tg *target, now *content, keep bool) (workspace.Encoding, error) {
	asked := q.options.encoding
	if !tg.exists {
		return asked, nil
	}
	plain := asked.WithBOM(false) == workspace.Encoding{}
	keep = keep || !q.options.asked
	switch {
	case now.unreadable == nil && (keep || plain || asked.String() == now.enc.String()):
		return now.enc, nil
	case now.unreadable == nil:
		return asked.WithBOM(asked.BOM() || now.enc.BOM()), nil
	case q.options.asked || now.large:
		return asked, nil
	}
	return asked, now.unreadable
}

// rememberedEncoding is what the session read or wrote the file in, where it
// says nothing now.
func (q *request) rememberedEncoding(name string) {
	if q.options.asked {
		return
	}
	q.ses.mu.Lock()
	defer q.ses.mu.Unlock()
	if e, ok := q.ses.encodings[name]; ok {
		q.options.encoding = e
	}
}

// checkSize is FILE-8 and FILE-9, before anybody is asked.
func (q *request) checkSize(n int) error {
	limit := q.cfg.WriteLimit
	if q.call.Staged != nil {
		limit = q.cfg.PartsLimit
	}
	if int64(n) > limit {
		return fail(tool.FileTooLarge, fmt.Sprintf("%d bytes, the limit is %d", n, limit))
	}
	return nil
}
