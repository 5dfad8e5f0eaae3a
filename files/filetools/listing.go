package filetools

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/tool"
)

// What list_files, find_files and search_text share: the directory they look into,
// a listing with a limit, and what they passed over.

// dir inspects the directory that a call is about.
func (q *toolCall) dir() (workspace.Target, error) {
	if !q.args.has("path") {
		q.path = "."
	}
	p, err := q.root.Path(q.path)
	if err != nil {
		return workspace.Target{}, err
	}
	t, err := q.root.Inspect(p)
	if err != nil {
		return workspace.Target{}, err
	}
	q.canonical = t.Path.String()
	return t, nil
}

// walk visits what is below a directory, without what is hidden. It counts the
// directories that could not be looked into.
func (q *toolCall) walk(ctx context.Context, dir workspace.Path, depth int, out *skipped, visit func(e workspace.Entry) error) error {
	o := workspace.ListOptions{Ignored: q.args.flag("ignored", false), Depth: depth}
	return q.visible(ctx, dir, o, func(e workspace.Entry) error {
		out.directory(e)
		return visit(e)
	})
}

// visible visits what is below a directory, without what is hidden.
func (t *Tools) visible(ctx context.Context, dir workspace.Path, o workspace.ListOptions, visit func(e workspace.Entry) error) error {
	return t.root.Walk(ctx, dir, o, func(e workspace.Entry) error {
		switch {
		case !t.cfg.Hidden(e.Path.String()):
			return visit(e)
		case e.Kind == workspace.Directory:
			return fs.SkipDir
		}
		return nil
	})
}

// Names returns the paths of at most so many files, as find_files would: without what is
// hidden, and what git's rules leave out.
func (t *Tools) Names(ctx context.Context, most int) ([]string, error) {
	dir, err := t.root.Path(".")
	if err != nil {
		return nil, err
	}
	var names []string
	err = t.visible(ctx, dir, workspace.ListOptions{}, func(e workspace.Entry) error {
		switch {
		case e.Kind == workspace.Directory:
			return nil
		case len(names) == most:
			return fs.SkipAll
		}
		names = append(names, e.Path.String())
		return nil
	})
	return names, err
}

func mark(k workspace.Kind) string {
	switch k {
	case workspace.Directory:
		return "/"
	case workspace.Link:
		return "@"
	case workspace.Special:
		return " (special)"
	}
	return ""
}

// listing gathers lines up to a limit.
type listing struct {
	limit     int
	lines     []string
	size      int
	truncated bool
	skipped   skipped
}

// maxListing is the size of a listing, in bytes.
const maxListing = 256 << 10

// add adds a line, or ends the walk.
func (l *listing) add(line string) error {
	if len(l.lines) == l.limit || l.size > maxListing {
		l.truncated = true
		return fs.SkipAll
	}
	l.lines = append(l.lines, line)
	l.size += len(line)
	return nil
}

// listed is the plan of a call that lists.
func (q *toolCall) listed(l *listing, what string) *tool.Plan {
	text := strings.Join(l.lines, "\n")
	data := map[string]any{"path": q.canonical, what: len(l.lines)}
	if l.truncated {
		data["truncated"] = true
	}
	l.skipped.tell(data)
	return q.doneNow(operation{Success: true, Content: &text, Data: data})
}

// maxSkipped is how many of the files that were skipped are named.
const maxSkipped = 10

// skipped counts the files and directories that a search or a listing left out.
type skipped struct {
	count int
	named []string // the first ones, with the reason
}

// file counts a file that cannot be searched. It returns the error instead where that
// ends the search: the call has ended, or the root is not there any more. Files that
// are no text are counted and not named, since they are not meant to be searched.
func (s *skipped) file(ctx context.Context, name string, err error) error {
	if ctx.Err() != nil || errors.Is(err, workspace.ErrRootGone) || errors.Is(err, fs.ErrClosed) {
		return err
	}
	f, known := asFailure(err)
	switch {
	case !known:
		s.add(name, "it cannot be read")
	case f.code == tool.BinaryFile:
		s.count++
	case f.cause != nil:
		s.add(name, f.cause.Err.Error())
	default:
		s.add(name, f.message)
	}
	return nil
}

// directory counts a directory that could not be looked into.
func (s *skipped) directory(e workspace.Entry) {
	var cause *workspace.Error
	switch {
	case e.Unreadable == nil:
	case errors.As(e.Unreadable, &cause):
		s.add(e.Path.String()+"/", cause.Err.Error())
	default:
		s.add(e.Path.String()+"/", "it cannot be read")
	}
}

func (s *skipped) add(name, why string) {
	s.count++
	if len(s.named) < maxSkipped {
		s.named = append(s.named, quoted(short(name))+": "+why)
	}
}

// tell adds what was skipped to the data of a result.
func (s *skipped) tell(data map[string]any) {
	if s.count > 0 {
		data["skipped"] = s.count
	}
	if len(s.named) > 0 {
		data["skipped_files"] = s.named
	}
}
