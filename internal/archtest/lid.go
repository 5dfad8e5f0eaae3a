package archtest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// checkLids finds groups with more lines than the table says. Lines are those of Go files without tests, as "make loc" counts them.
func checkLids(t *tree) (found []string) {
	lines, product, tests, packages := map[string]int{}, 0, 0, 0
	for _, p := range t.pkgs {
		at := levelOf(p.path)
		if at < 0 {
			continue
		}
		code := false
		for _, f := range p.files {
			n := bytes.Count(f.src, []byte("\n"))
			switch {
			case f.test:
				tests += n
			case groups[at].path != "test" && p.path != "internal/archtest":
				code = true
				lines[groups[at].path] += n
				product += n
			}
		}
		if code {
			packages++
		}
	}
	over := func(what string, has, may int) {
		if has > may {
			found = append(found, fmt.Sprintf("%s: %d, the lid is %d: make it smaller, or raise the lid with the reason", what, has, may))
		}
	}
	for _, g := range groups {
		if g.lines > 0 {
			over("lines of "+g.path, lines[g.path], g.lines)
		}
	}
	over("lines of the product", product, maxProduct)
	over("lines of tests", tests, maxTests)
	over("packages", packages, maxPackages)
	return found
}

// lidTable returns a table of the groups, for people.
func lidTable(t *tree) string {
	var b strings.Builder
	for _, g := range groups {
		n := 0
		for _, p := range t.pkgs {
			if at := levelOf(p.path); at < 0 || groups[at].path != g.path || p.path == "internal/archtest" {
				continue
			}
			for _, f := range p.files {
				if !f.test {
					n += bytes.Count(f.src, []byte("\n"))
				}
			}
		}
		fmt.Fprintf(&b, "%7d of %6d  %s\n", n, g.lines, g.path)
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
