package filetools

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/stet-dev/stet/tool"
	"github.com/stet-dev/stet/workspace"
)

// Stage begins the content of a call that comes in parts: they gather outside the
// tree, and are for tool.Call.Staged. (FILE-9)
func (t *Tools) Stage(c tool.Call) (tool.Staged, error) {
	var named struct{ Path string }
	p, err := t.root.Path(".")
	if json.Unmarshal(c.Arguments, &named) == nil {
		if there, wrong := t.root.Path(named.Path); wrong == nil { // else the call says so
			p = there
		}
	}
	if err != nil {
		return nil, err
	}
	return t.root.Stage(p)
}

// arguments are those of the call, with the content that came in parts.
func (q *request) arguments() (values, error) {
	if q.call.Staged == nil {
		return q.kind.params.parse(q.call.Arguments)
	}
	i := slices.IndexFunc(q.kind.params, func(p param) bool { return p.name == "content" })
	if i < 0 {
		return nil, badArgument("content", "%s takes none.", q.kind.name)
	}
	args, err := slices.Delete(slices.Clone(q.kind.params), i, i+1).parse(q.call.Arguments)
	if err != nil {
		return nil, err
	}
	data, err := q.call.Staged.Bytes()
	switch {
	case err != nil:
		return nil, err
	case !utf8.Valid(data):
		return nil, badArgument("content", "its parts are not UTF-8.")
	}
	args["content"] = string(data)
	return args, nil
}

// writeBytes writes a file, staged where it is larger than what is written in one piece.
func (q *request) writeBytes(ctx context.Context, p workspace.Path, data []byte, was workspace.Version, mode workspace.WriteMode) (workspace.Written, error) {
	if int64(len(data)) <= q.cfg.WriteLimit {
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
