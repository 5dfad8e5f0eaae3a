package filetools

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/internal/invisible"
	"github.com/stet-dev/stet/tool"
)

// target inspects the path of a write, and refuses what cannot be written, before
// a person is asked. The path of what it returns is canonical: what is approved
// for it is written to it, also if a link leads elsewhere by then. (FILE-6, FILE-13)
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
		err = fail(tool.FileNotFound, "the directory it would be in does not exist; use create_dirs")
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
