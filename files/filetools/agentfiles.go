package filetools

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/stet-dev/stet/files/freshness"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/internal/diff"
	"github.com/stet-dev/stet/tool"
)

// What the program that runs the agent asks about files, outside of the tools. Nothing
// of it counts as shown to the session by itself.

// Look looks at a file on disk that was seen before.
func (t *Tools) Look(ctx context.Context, path string, seen freshness.File) (freshness.Sight, error) {
	var stamp workspace.Stamp
	if seen.Settled {
		stamp = seen.Stamp
	}
	return freshness.In(t.root)(ctx, path, stamp, seen.Version)
}

// longestNote is the size, in bytes, of the longest difference that is shown unasked.
const longestNote = 16 << 10

// Changed says how a file differs from the version that a client session saw: by a
// unified diff, or, where whole is false, by a sentence that does not say all. It is an
// error if the file does not have the version of now any more. The file is decoded as
// the session last read or wrote it.
func (t *Tools) Changed(ctx context.Context, session string, seen freshness.File, now freshness.Sight) (text string, whole bool, err error) {
	p, err := t.root.Path(seen.Path)
	if err != nil {
		return "", false, err
	}
	const withheld = "What it is now is not shown unasked: read it again."
	if t.Withheld(seen.Path) {
		return withheld, false, nil
	}
	after, err := t.root.ReadAll(ctx, p)
	if err != nil {
		f, ok := asFailure(err)
		if !ok {
			return "", false, err
		}
		return "It cannot be read as a whole: " + f.message + ".", false, nil
	}
	if t.Withheld(after.Info.Path.String()) { // it is a link now
		return withheld, false, nil
	}
	if after.Version != now.Version {
		return "", false, fail(tool.ConcurrentModification, seen.Path+" is changing right now")
	}
	before, err := t.root.Kept(seen.Version)
	if err != nil {
		return "What it was is not kept any more: read it again.", false, nil
	}
	enc, _ := t.session(session).encoding(seen.Path)
	b, _, err := decode(after.Data, enc)
	if f := (*failure)(nil); errors.As(err, &f) {
		return "What it is now cannot be shown: " + f.message + ".", false, nil
	}
	a, _, err := decode(before, enc)
	if err != nil {
		return "What it was is no text that it could be compared with: read it again.", false, nil
	}
	text = diff.Lines(a, b, diff.Options{}).Unified("a/"+seen.Path, "b/"+seen.Path)
	if len(text) > longestNote {
		return "The difference is long: read it again.", false, nil
	}
	return text, true, nil
}

// Show returns a file as it is on disk now, below a line that names it, and the
// observations that are to be made when it is shown. Of a file of more than limit bytes
// it returns the lines that were shown before. It returns nothing where the file has
// changed since, or is not text in the encoding in which the client session last read
// or wrote it.
func (t *Tools) Show(ctx context.Context, session string, seen freshness.File, limit int) (text string, shown []freshness.Observation, err error) {
	p, err := t.root.Path(seen.Path)
	if err != nil {
		return "", nil, err
	}
	began := t.cfg.Now()
	c, err := t.root.ReadAll(ctx, p)
	if err != nil {
		return "", nil, err
	}
	enc, _ := t.session(session).encoding(seen.Path)
	content, _, err := decode(c.Data, enc)
	if err != nil || c.Unstable || t.Withheld(c.Info.Path.String()) {
		return "", nil, err
	}
	o := freshness.Observation{Kind: freshness.Read, Path: c.Info.Path.String(), Version: c.Version, Stamp: c.Info.Stamp, Time: began}
	total := countLines(content)
	if len(content) <= limit {
		return fmt.Sprintf("%s, lines 1-%d of %d:\n%s", o.Path, total, total, content), []freshness.Observation{o}, nil
	}
	if c.Version != seen.Version {
		return "", nil, nil
	}
	lines := strings.SplitAfter(content, "\n")
	var b strings.Builder
	for _, r := range seen.Shown {
		first, last := min(r.First, total+1), min(r.Last, total)
		part := strings.Join(lines[first-1:max(last, first-1)], "")
		if part == "" || b.Len()+len(part) > limit {
			continue
		}
		fmt.Fprintf(&b, "%s, lines %d-%d of %d:\n%s\n", o.Path, first, last, total, part)
		o.Lines = freshness.Range{First: first, Last: last}
		shown = append(shown, o)
	}
	return b.String(), shown, nil
}

// secret reports whether what is in a file is shown only to a call that names it.
func (t *Tools) secret(path string) bool { return !t.cfg.ShowSecrets && policy.Secret(path) }

// Withheld reports files that are not to be shown unasked, because they are hidden or
// secret. The path has its links resolved.
func (t *Tools) Withheld(path string) bool { return t.cfg.Hidden(path) || t.secret(path) }

// Ignored reports files that are not to be shown unasked: those that are withheld, and
// those that git ignores.
func (t *Tools) Ignored(path string) bool {
	if t.Withheld(path) {
		return true
	}
	p, err := t.root.Path(path)
	if err != nil {
		return true
	}
	ignored, err := t.root.Ignored(p)
	return err == nil && ignored
}
