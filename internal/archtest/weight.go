package archtest

import (
	"fmt"
	"slices"
	"strings"
)

// graph says what each package imports, by full paths.
type graph map[string][]string

// checkWeight finds packages of the levels up to lightLevel that lead to a
// heavy module, or to net/http, and shows the way there.
func checkWeight(g graph) []string {
	var found []string
	for p := range g {
		ours, ok := strings.CutPrefix(p, module+"/")
		if !ok {
			continue
		}
		r, ok := rowOf(ours)
		if !ok || r.level > lightLevel {
			continue
		}
		heavy := heavyModules
		if !slices.Contains(httpPackages, ours) {
			heavy = append(slices.Clip(heavy), "net/http/")
		}
		if way := heavyWay(g, p, heavy, map[string]bool{}); way != nil {
			found = append(found, fmt.Sprintf("%s (level %d) pulls in %s", ours, r.level, strings.Join(way, " -> ")))
		}
	}
	slices.Sort(found)
	return found
}

// heavyWay returns the packages on the way to one whose path begins as one in
// heavy does; nil where there is none.
func heavyWay(g graph, from string, heavy []string, seen map[string]bool) []string {
	if seen[from] {
		return nil
	}
	seen[from] = true
	for _, to := range g[from] {
		if slices.ContainsFunc(heavy, func(h string) bool { return strings.HasPrefix(to+"/", h) || strings.HasPrefix(to, h) }) {
			return []string{to}
		}
		if way := heavyWay(g, to, heavy, seen); way != nil {
			return append([]string{to}, way...)
		}
	}
	return nil
}
