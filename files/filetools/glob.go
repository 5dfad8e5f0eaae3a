package filetools

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/files/workspace"
)

const maxGlob = 1000 // bytes

// glob returns what the pattern of an argument matches of the paths below a directory. A pattern that begins with the root, as an
// absolute path does, is about the whole workspace. (FILE-7)
func (q *toolCall) glob(arg string) (matches func(name string, dir workspace.Path) bool, err error) {
	pattern := q.args.str(arg)
	rel := q.relative(q.call, pattern)
	whole := rel != pattern
	if whole {
		pattern = "/" + rel
	}
	g, err := compileGlob(pattern)
	if err != nil {
		return nil, badArgument(arg, "%v.", err)
	}
	return func(name string, dir workspace.Path) bool {
		if !whole {
			name = below(name, dir)
		}
		return g.Names(name)
	}, nil
}

// compileGlob reads a pattern for paths below a directory. The syntax is that of the
// policy's patterns; "./" begins at the directory too. What it finds is Pattern.Names.
func compileGlob(pattern string) (policy.Pattern, error) {
	switch {
	case len(pattern) > maxGlob:
		return policy.Pattern{}, fmt.Errorf("the pattern has more than %d bytes", maxGlob)
	case slices.Contains(strings.Split(pattern, "/"), ".."):
		return policy.Pattern{}, errors.New(`the pattern holds "..": it is matched against what is in the directory; name another one by path`)
	}
	parsed, err := policy.ParsePath(pattern)
	if why := errors.Unwrap(err); why != nil {
		err = fmt.Errorf("the pattern %w", why)
	}
	return parsed, err
}
