package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/stet-dev/stet/files/policy"
)

// mostLookedAt is the number of files in which doctor looks for those that rules are about.
const mostLookedAt = 200_000

// rules checks the rules of the file tools, in the working directory: a rule that matches no file protects nothing.
func (c *doctorCommand) rules(ctx context.Context) {
	dir, err := c.workspaceDir(".")
	if err != nil {
		return
	}
	o, err := c.settings(dir)
	if err != nil {
		c.found(checkProblem, "rules", "correct it: the file tools do not start in this directory until then", "%v", err)
		return
	}
	var open []string          // what is said of each pattern, while no file matches it
	var patterns []policy.Rule // with one pattern
	add := func(where string, rules []policy.Rule) {
		for i, r := range rules {
			for _, p := range r.Paths {
				if p.String() == "" { // allows something in another workspace
					continue
				}
				patterns = append(patterns, policy.Rule{Paths: []policy.Pattern{p}, Do: r.Do})
				open = append(open, fmt.Sprintf("%q of %s rule %d (%v)", p, where, i+1, r.Do))
			}
		}
	}
	add("your", o.Rules)
	add("the project's", o.ProjectRules)
	if len(patterns) == 0 || c.homeAt(dir) != "" || filepath.Dir(dir) == dir {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	n := 0
	_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error { // what cannot be read has no file that a rule could be about
		if n++; n > mostLookedAt || ctx.Err() != nil || len(patterns) == 0 {
			return fs.SkipAll
		}
		rel, relErr := filepath.Rel(dir, path)
		if errors.Join(err, relErr) != nil || rel == "." {
			return nil
		}
		for i := len(patterns) - 1; i >= 0; i-- {
			if patterns[i].About(filepath.ToSlash(rel)) {
				patterns, open = append(patterns[:i], patterns[i+1:]...), append(open[:i], open[i+1:]...)
			}
		}
		return nil
	})
	switch {
	case len(open) == 0:
		c.found(checkOK, "rules", "", "each path in the rules matches a file in %s", dir)
	case n > mostLookedAt || ctx.Err() != nil:
		c.found(checkOK, "rules", "", "not checked to the end: %s has very many files", dir)
	default:
		c.found(checkWarning, "rules", "correct the spelling, if the file should be there; docs/file-tools.md explains patterns", "no file in %s matches %s", dir, strings.Join(open, ", "))
	}
}
