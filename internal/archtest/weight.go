package archtest

import (
	"fmt"
	"slices"
	"strings"
)

// graph has the imports of each package, as full paths.
type graph map[string][]string

// checkWeight finds packages of the groups up to lightGroup that import a heavy module or net/http, directly or not, and shows the
// path.
func checkWeight(g graph) []string {
	var found []string
	for p := range g {
		ours, ok := strings.CutPrefix(p, module+"/")
		if !ok {
			continue
		}
		level := levelOf(ours)
		if level < 0 || level > levelOf(lightGroup) {
			continue
		}
		heavy := heavyModules
		if !slices.Contains(httpPackages, ours) {
			heavy = append(slices.Clip(heavy), "net/http/")
		}
		if way := heavyWay(g, p, heavy, map[string]bool{}); way != nil {
			found = append(found, fmt.Sprintf("%s pulls in %s", ours, strings.Join(way, " -> ")))
		}
	}
	slices.Sort(found)
	return found
}

// heavyWay returns the import path from a package to one whose path has a prefix in heavy, or nil.
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
