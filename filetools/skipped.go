package filetools

import (
	"context"
	"errors"
	"io/fs"

	"github.com/stet-dev/stet/tool"
	"github.com/stet-dev/stet/workspace"
)

// maxSkipped is how many of the files that were skipped are named.
const maxSkipped = 10

// skipped are files and directories that a search or a listing passed over.
type skipped struct {
	count int
	named []string // the first ones, with the reason
}

// file counts a file that cannot be searched, or returns the error that ends
// the search: that the call is over, or the workspace gone. Files that are no
// text are counted and not named, since they are not meant to be searched.
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

// tell adds to the data of a result what was skipped, if anything was.
func (s *skipped) tell(data map[string]any) {
	if s.count > 0 {
		data["skipped"] = s.count
	}
	if len(s.named) > 0 {
		data["skipped_files"] = s.named
	}
}
