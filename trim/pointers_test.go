package trim

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stet-dev/stet/llm"
	"pgregory.net/rapid"
)

// ownLine matches stet's pointers about a file in a result, and ownPiece matches the sources that they name.
var (
	ownLine  = regexp.MustCompile(`\[stet: (?:\./)?(\S+) lines (\d+)-(\d+)(?: of \d+)? (?:unchanged|the same): (.*?)(?:\. Ask again for the full text\.)?\]`)
	ownPiece = regexp.MustCompile(`(?:(\d+)(?:-(\d+))? )?(shown above|written) by (call_\d+)(?: \(lines (\d+)(?:-(\d+))? (?:there|of (\S+))\)| in (\S+))?`)
	ownShown = regexp.MustCompile(`(call_\d+) \(lines (\d+)-(\d+)\)`)
)

// checkPointers checks that each line of x, which message i showed, still stands there, or where a pointer says.
func checkPointers(t *rapid.T, w *world, out []llm.Message, i int, x exposure) {
	told := make(map[int]func(text string) bool) // by line number: reports whether the text stands where the pointer says
	atoi := func(s string) int { n, _ := strconv.Atoi(s); return n }
	for _, m := range ownLine.FindAllStringSubmatch(out[i].Parts[0].Text, -1) {
		if m[1] != x.path {
			continue
		}
		first, last := atoi(m[2]), atoi(m[3])
		if plainly := ownShown.FindAllStringSubmatch(m[4], -1); strings.HasPrefix(m[4], "shown above by") && len(plainly) > 0 {
			for n := first; n <= last; n++ {
				if holders := slices.DeleteFunc(slices.Clone(plainly), func(p []string) bool { return n < atoi(p[2]) || n > atoi(p[3]) }); len(holders) != 1 {
					t.Fatalf("message %d: line %d stands in %d places: %s", i, n, len(holders), m[0])
				}
				told[n] = func(text string) bool {
					for _, p := range plainly {
						if n >= atoi(p[2]) && n <= atoi(p[3]) && w.shownBy(out, p[1], x.path, n, text, i) {
							return true
						}
					}
					return false
				}
			}
			continue
		}
		for _, p := range ownPiece.FindAllStringSubmatch(m[4], -1) {
			a, b, move := first, last, 0
			if p[1] != "" {
				a = atoi(p[1])
				b = max(a, atoi(p[2]))
			}
			if p[5] != "" {
				move = atoi(p[5]) - a
			}
			of := []string{p[7] + p[8]}
			if of[0] == "" {
				of = []string{x.path, outputName}
			}
			for n := a; n <= b; n++ {
				told[n] = func(text string) bool {
					return slices.ContainsFunc(of, func(path string) bool {
						if p[3] == "written" {
							return w.writtenBy(out, p[4], path, text, i)
						}
						return w.shownBy(out, p[4], path, n+move, text, i)
					})
				}
			}
		}
	}
	for k, text := range x.lines {
		if n := x.first + k; !visible(out[i], x, k) && (told[n] == nil || !told[n](text)) {
			t.Fatalf("message %d: line %d of %s was left out and does not stand where the pointer says:\n%s", i, n, x.path, out[i].Parts[0].Text)
		}
	}
}

// shownBy reports whether in out the result of call id, before message i, shows the text as line n.
func (w *world) shownBy(out []llm.Message, id, path string, n int, text string, i int) bool {
	for m := range i {
		if out[m].Parts[0].Kind != llm.ToolResult || out[m].Parts[0].CallID != id {
			continue
		}
		for _, x := range w.truth[m] {
			if k := n - x.first; x.path == path && k >= 0 && k < len(x.lines) && x.lines[k] == text && visible(out[m], x, k) {
				return true
			}
		}
	}
	return false
}

// writtenBy reports whether call id, before message i, writes the text.
func (w *world) writtenBy(out []llm.Message, id, path, text string, i int) bool {
	for m, x := range w.written {
		if m < i && out[m].Parts[0].CallID == id && x.path == path && slices.Contains(x.lines, text) && strings.Contains(out[m].Parts[0].Args, text) {
			return true
		}
	}
	return false
}
