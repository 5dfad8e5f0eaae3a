package check

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim/dialect"
)

// An agent sees a part of an output that is folded, and may use the rest without repeating a whole
// line of it. So a gap of a fold counts as recalled also where one of the next answers has a word that
// nothing but that gap shows, or reads lines of a file where a search found something in that gap alone.
// The agent asks for gaps one by one, since the lines in their place tell their numbers.

// foldAnswers is how many answers behind a fold are looked at. Later ones have read more.
const foldAnswers = 4

var (
	gapLine  = regexp.MustCompile(` of ([0-9,]+) lines left out; run "stet show [0-9a-f]{16} (\d+)(?:-(\d+))?" to see them\]`)
	foldWord = regexp.MustCompile(`[A-Za-z0-9_][A-Za-z0-9_.-]{4,}[A-Za-z0-9_]`)
	foundAt  = regexp.MustCompile(`^([^:]+):(\d+):`)
	foundRow = regexp.MustCompile(`^(\d+):`)
)

// fold is an output that was folded.
type fold struct {
	part    int
	answers int                // looked at
	gaps    []int              // bytes; 0: it was recalled
	words   map[string]int     // of the gaps: the first that has them
	found   map[string][]found // by the name of a file without directory
}

// found is a line of a file that a search found.
type found struct {
	line int
	gap  int // -1: it stays
}

// addFold notes an omission if it is a fold.
func (v *View) addFold(o Omission) {
	ranges := gapLine.FindAllStringSubmatch(o.Placeholder, -1)
	if ranges == nil {
		return
	}
	f := fold{part: o.Part, words: make(map[string]int), found: make(map[string][]found)}
	lines := foldedLines(v.x.rec.Parts[o.Part].Text, ranges[0][1])
	for gap, m := range ranges {
		first, _ := strconv.Atoi(m[2])
		last, err := strconv.Atoi(m[3])
		if err != nil {
			last = first
		}
		f.gaps = append(f.gaps, 0)
		for i := first - 1; i < min(last, len(lines)); i++ {
			f.gaps[gap] += len(lines[i])
			f.addFound(lines, i, gap)
			for _, word := range foldWord.FindAllString(lines[i], -1) {
				if _, ok := f.words[word]; !ok {
					f.words[word] = gap
				}
			}
		}
	}
	stay := slices.Collect(strings.Lines(o.Placeholder))
	for i := range stay {
		f.addFound(stay, i, -1)
	}
	v.folds = append(v.folds, f)
}

// foldedLines returns the lines of a text as the fold counts them that has so many in all.
func foldedLines(text, all string) []string {
	n, _ := strconv.Atoi(strings.ReplaceAll(all, ",", ""))
	raw := slices.Collect(strings.Lines(text))
	if len(raw) != n {
		for _, lines := range countings(text) {
			if len(lines) == n {
				return lines
			}
		}
	}
	return raw
}

// addFound notes the place that line i begins with, or has behind the path of its file above.
func (f *fold) addFound(lines []string, i, gap int) {
	add := func(file, line string) {
		n, _ := strconv.Atoi(line)
		name := path.Base(strings.TrimSpace(file))
		f.found[name] = append(f.found[name], found{n, gap})
	}
	if m := foundRow.FindStringSubmatch(lines[i]); m != nil {
		for j := i - 1; j >= 0; j-- {
			if n, _ := dialect.LineNumber(lines[j]); n == 0 {
				add(lines[j], m[1])
				break
			}
		}
	} else if m := foundAt.FindStringSubmatch(lines[i]); m != nil {
		add(m[1], m[2])
	}
}

// foldsRecalled returns what the parts of an answer recall of folds.
func (v *View) foldsRecalled(begin, end int) (out []Recall) {
	for i := range v.folds {
		f := &v.folds[i]
		f.answers++
		before := len(out)
		for part := begin; part < end; part++ {
			for _, gap := range v.usesGaps(f, part) {
				if f.gaps[gap] > 0 {
					out = append(out, Recall{Part: f.part, Bytes: f.gaps[gap]})
					f.gaps[gap] = 0
				}
			}
		}
		for j := before + 1; j < len(out); j++ { // asked for at once
			out[before].Bytes += out[j].Bytes
		}
		out = out[:min(before+1, len(out))]
	}
	v.folds = slices.DeleteFunc(v.folds, func(f fold) bool { return f.answers >= foldAnswers })
	return out
}

// usesGaps returns the gaps of a fold that a part of an answer uses.
func (v *View) usesGaps(f *fold, part int) (gaps []int) {
	p := v.x.rec.Parts[part]
	if p.Kind != llm.Text && p.Kind != llm.ToolCall {
		return nil
	}
	for _, text := range v.x.texts[part] {
		for _, word := range foldWord.FindAllString(text, -1) {
			if gap, ok := f.words[word]; ok && f.gaps[gap] > 0 && !v.showsPiece(word) {
				gaps = append(gaps, gap)
			}
		}
	}
	if p.Kind == llm.ToolCall {
		if a := dialect.Default().Action(p.Name, p.Args); a.Op == dialect.Read {
			for _, t := range a.Targets {
				if gap := f.onlyGap(t); gap >= 0 {
					gaps = append(gaps, gap)
				}
			}
		}
	}
	return gaps
}

// onlyGap returns the gap that alone shows that something was found in the lines of a file that are
// read; -1: there is none. A read from the first line on needs no search.
func (f *fold) onlyGap(t dialect.Target) int {
	gap := -1
	if t.First <= 1 {
		return gap
	}
	for _, at := range f.found[path.Base(t.Path)] {
		if at.line >= t.First && (t.Last == 0 || at.line <= t.Last) {
			if at.gap < 0 {
				return -1
			}
			gap = at.gap
		}
	}
	return gap
}
