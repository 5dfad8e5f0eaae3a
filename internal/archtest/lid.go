package archtest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// sizes are lines of Go and numbers of packages, as "make loc" counts them: without tests, suites and this package.
type sizes struct {
	groups                   map[string]int
	product, tests, packages int
}

func sizesOf(t *tree) sizes {
	s := sizes{groups: map[string]int{}}
	for _, p := range t.pkgs {
		at := levelOf(p.path)
		if at < 0 {
			continue
		}
		lines := 0
		for _, f := range p.files {
			if n := bytes.Count(f.src, []byte("\n")); f.test {
				s.tests += n
			} else {
				lines += n
			}
		}
		if groups[at].path != "test" && p.path != "internal/archtest" && lines > 0 {
			s.groups[groups[at].path] += lines
			s.product += lines
			s.packages++
		}
	}
	return s
}

// checkLids finds what is larger than the table says.
func checkLids(t *tree) (found []string) {
	s := sizesOf(t)
	over := func(what string, has, may int) {
		if has > may {
			found = append(found, fmt.Sprintf("%s: %d, the lid is %d: make it smaller, or raise the lid with the reason", what, has, may))
		}
	}
	for _, g := range groups {
		over("lines of "+g.path, s.groups[g.path], g.lines)
	}
	over("lines of the product", s.product, maxProduct)
	over("lines of tests", s.tests, maxTests)
	over("packages", s.packages, maxPackages)
	return found
}

// lidTable returns a table of the groups, for people.
func lidTable(t *tree) string {
	var b strings.Builder
	s := sizesOf(t)
	for _, g := range groups {
		fmt.Fprintf(&b, "%7d of %6d  %s\n", s.groups[g.path], g.lines, g.path)
	}
	return b.String()
}

// picture shows what each group imports of the groups below it, the highest group first.
func picture(t *tree) string {
	var b strings.Builder
	for at := len(groups) - 1; at >= 0; at-- {
		if groups[at].path == "test" {
			continue
		}
		below := map[int]bool{}
		for _, p := range t.pkgs {
			if levelOf(p.path) != at {
				continue
			}
			for _, f := range p.files {
				for _, path := range f.imports() {
					ours, ok := strings.CutPrefix(path, module+"/")
					if to := levelOf(ours); ok && !f.test && to >= 0 && to < at {
						below[to] = true
					}
				}
			}
		}
		var names []string
		for _, to := range slices.Backward(slices.Sorted(maps.Keys(below))) {
			names = append(names, groups[to].path)
		}
		fmt.Fprintf(&b, "%-9s-> %s\n", groups[at].path, strings.Join(names, " "))
	}
	return strings.ReplaceAll(b.String(), "-> \n", "\n")
}
