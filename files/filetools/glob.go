package filetools

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stet-dev/stet/files/policy"
)

const maxGlob = 1000 // bytes

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
