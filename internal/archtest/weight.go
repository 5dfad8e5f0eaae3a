package archtest

import (
	"fmt"
	"slices"
	"strings"
)

// graph says what each package imports, by full paths.
type graph map[string][]string

// checkWeight finds packages of the levels up to lightLevel that lead to a
// heavy module, and shows the way there.
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
		if way := heavyWay(g, p, map[string]bool{}); way != nil {
			found = append(found, fmt.Sprintf("%s (level %d) pulls in %s", ours, r.level, strings.Join(way, " -> ")))
		}
	}
	slices.Sort(found)
	return found
}

func heavyWay(g graph, from string, seen map[string]bool) []string {
	if seen[from] {
		return nil
	}
	seen[from] = true
	for _, to := range g[from] {
		if slices.ContainsFunc(heavyModules, func(h string) bool { return strings.HasPrefix(to+"/", h) || strings.HasPrefix(to, h) }) {
			return []string{to}
		}
		if way := heavyWay(g, to, seen); way != nil {
			return append([]string{to}, way...)
		}
	}
	return nil
}
