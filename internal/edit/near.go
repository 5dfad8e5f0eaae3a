package edit

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxNear     = 3
	maxOldLines = 200     // lines of an old text that are compared
	maxShown    = 200     // bytes of a line that are shown
	maxPlaces   = 100_000 // places that are compared
	minShare    = 3       // a place must have at least a third of the old text
)

// near finds places similar to the old text. It reads the file a few times.
func (f *file) near(old string) []Near {
	for _, r := range repairs {
		fixed := r.fix(old)
		if fixed == old || strings.TrimSpace(fixed) == "" {
			continue
		}
		if found, _ := f.find(fixed, 1, true); len(found) > 0 {
			line := f.line(found[0].start)
			return []Near{{Line: line, Text: shown(f.lines(line, 1)[0]), Want: shown(firstLine(old)), Why: r.why}}
		}
	}
	w := newWanted(old)
	if w.total == 0 {
		return nil
	}
	if near := f.likePlaces(w); len(near) > 0 {
		return near
	}
	return f.likeLines(w)
}

// wanted has the lines of an old text without their ends, and their keys.
type wanted struct {
	lines []string
	keys  []string
	total int  // bytes of all keys
	whole bool // the last line is whole
}

func newWanted(old string) wanted {
	text := unify(old)
	w := wanted{whole: strings.HasSuffix(text, "\n")}
	w.lines = strings.SplitN(strings.TrimSuffix(text, "\n"), "\n", maxOldLines+1)
	if len(w.lines) > maxOldLines {
		w.lines, w.whole = w.lines[:maxOldLines], true
	}
	for _, line := range w.lines {
		key := string(appendKey(nil, []byte(line)))
		w.keys = append(w.keys, key)
		w.total += len(key)
	}
	return w
}

// likePlaces finds the places with the most lines of the old text. It ignores letter case, spaces, and kinds of quotes and dashes.
func (f *file) likePlaces(w wanted) []Near {
	byKey := map[string][]int{}
	for i, key := range w.keys {
		if key != "" && len(byKey[key]) < 8 {
			byKey[key] = append(byKey[key], i)
		}
	}
	first, last := []byte(w.keys[0]), []byte(w.keys[len(w.keys)-1])
	single := len(w.keys) == 1
	weights := map[int]int{} // by the line, from 0, at which the old text would begin
	f.eachKey(func(line int, key []byte) bool {
		for _, i := range byKey[string(key)] {
			weights[line-i] += len(key)
		}
		switch {
		case len(first) > 2 && len(key) > len(first) && (bytes.HasSuffix(key, first) || single && bytes.Contains(key, first)):
			weights[line] += len(first)
		case len(last) > 2 && len(key) > len(last) && bytes.HasPrefix(key, last):
			weights[line-len(w.keys)+1] += len(last)
		}
		return len(weights) < maxPlaces
	})
	type place struct{ start, weight int }
	var places []place
	for start, weight := range weights {
		if start >= 0 && weight*minShare >= w.total {
			places = append(places, place{start, weight})
		}
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(b.weight-a.weight, a.start-b.start)
	})
	var near []Near
	for _, p := range places[:min(maxNear, len(places))] {
		near = append(near, f.differs(w, p.start))
	}
	return near
}

// differs returns where and how the old text differs from the lines that begin at start.
func (f *file) differs(w wanted, start int) Near {
	have := f.lines(start+1, len(w.lines))
	for i, want := range w.lines {
		if i >= len(have) {
			return Near{Line: start + i, Want: shown(want), Why: "the file ends here"}
		}
		if fits := w.fits(i); !fits(have[i], want) {
			return Near{Line: start + i + 1, Text: shown(have[i]), Want: shown(want), Why: difference(have[i], want, fits)}
		}
	}
	last := start + len(w.lines)
	return Near{Line: last, Text: shown(have[len(w.lines)-1]), Want: shown(w.lines[len(w.lines)-1]), Why: "line end"}
}

// fits returns the comparison for line i of the old text with a line of the file. The first line may match only the end of it, the
// last line only the start.
func (w wanted) fits(i int) func(have, want string) bool {
	switch first, last := i == 0, i == len(w.lines)-1 && !w.whole; {
	case first && last:
		return strings.Contains
	case first:
		return strings.HasSuffix
	case last:
		return strings.HasPrefix
	}
	return func(have, want string) bool { return have == want }
}

// likeLines finds the lines with the most byte pairs in common with the longest line of the old text.
func (f *file) likeLines(w wanted) []Near {
	probe := 0
	for i, key := range w.keys {
		if len(key) > len(w.keys[probe]) {
			probe = i
		}
	}
	want := newSketch([]byte(w.keys[probe]))
	type score struct {
		line  int
		share float64
	}
	var best []score
	f.eachKey(func(line int, key []byte) bool {
		if share := newSketch(key).like(want); share > 0.6 {
			best = append(best, score{line, share})
			if len(best) > 10*maxNear {
				slices.SortStableFunc(best, func(a, b score) int { return cmp.Compare(b.share, a.share) })
				best = best[:maxNear]
			}
		}
		return true
	})
	slices.SortStableFunc(best, func(a, b score) int { return cmp.Compare(b.share, a.share) })
	var near []Near
	for _, s := range best[:min(maxNear, len(best))] {
		text := f.lines(s.line+1, 1)[0]
		near = append(near, Near{Line: s.line + 1, Text: shown(text), Want: shown(w.lines[probe]), Why: "other text"})
	}
	return near
}

// eachKey calls do for each line, counted from 0, until it returns false.
func (f *file) eachKey(do func(line int, key []byte) bool) {
	var key []byte
	n := 0
	for line := range bytes.Lines(f.flat) {
		key = appendKey(key[:0], line)
		if !do(n, key) {
			return
		}
		n++
	}
}

// lines returns up to n lines from a line on, counted from 1, without ends.
func (f *file) lines(from, n int) []string {
	rest := f.flat
	for ; from > 1; from-- {
		rest = rest[bytes.IndexByte(rest, '\n')+1:]
	}
	var lines []string
	for line := range bytes.Lines(rest) {
		if len(lines) == n {
			break
		}
		lines = append(lines, string(bytes.TrimSuffix(line, []byte("\n"))))
	}
	return lines
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(unify(s), "\n")
	return line
}

// shown cuts a line at a character boundary.
func shown(line string) string {
	if len(line) <= maxShown {
		return line
	}
	n := maxShown
	for n > maxShown-utf8.UTFMax && !utf8.RuneStart(line[n]) {
		n--
	}
	return line[:n]
}
