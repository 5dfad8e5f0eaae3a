package trim

import (
	"strings"

	"github.com/stet-dev/stet/trim/dialect"
)

// grouped returns what a search found with each path once, above the lines of its file, as ripgrep prints it for people:
//
//	src/a.go:12:func a() {          src/a.go
//	src/a.go-13-	return            12:func a() {
//	src/b.go:7:	a()                13-	return
//
//	                                src/b.go
//	                                7:	a()
//
// Every line stays, with its number and the mark behind it. A blank line ends a group. What has no path and number in front
// stays as it is. The text itself is returned where grouping saves little, and where a line could be taken for one of
// another file.
func grouped(text string) string {
	out := group(text)
	if len(out)+worth > len(text) || group(out) != out {
		return text
	}
	return out
}

func group(text string) string {
	lines := strings.SplitAfter(text, "\n")
	var b strings.Builder
	at := 0                      // the lines before it are written
	open, behind := false, false // the last line is of a group; so is the last one that says something
	for _, rows := range append(dialect.SearchRows(lines), dialect.FoundRows{From: len(lines)}) {
		for ; at < rows.From; at++ {
			line := lines[at]
			says := strings.TrimSpace(line) != "" && line != dialect.Parted
			if n, _ := dialect.LineNumber(line); n > 0 && behind {
				return text
			}
			if open && says {
				b.WriteByte('\n')
			}
			b.WriteString(line)
			open, behind = false, behind && !says
		}
		if rows.Starts == nil {
			break
		}
		if open {
			b.WriteByte('\n')
		}
		b.WriteString(rows.Path + "\n")
		for _, start := range rows.Starts {
			b.WriteString(lines[at][start:])
			at++
		}
		open, behind = true, true
	}
	return b.String()
}

// keepPaths returns runs of lines without the paths above rows that stay: below a pointer the reader could not tell which file
// they are from.
func keepPaths(runs []run, lines []string) []run {
	var out []run
	for n := 0; n < len(runs); {
		m := n + 1
		for m < len(runs) && runs[m].from == runs[m-1].to {
			m++
		}
		path := openPath(lines, runs[n].from, runs[m-1].to)
		for _, r := range runs[n:m] {
			if before := (run{r.from, min(r.to, path), r.passage, r.at}); before.len() > 0 {
				out = append(out, before)
			}
			if from := max(r.from, path+1); from < r.to {
				out = append(out, run{from, r.to, r.passage, r.at + from - r.from})
			}
		}
		n = m
	}
	return out
}

// openPath returns the index of the path, among lines from up to to, above rows that go on behind these lines; to where there
// is none.
func openPath(lines []string, from, to int) int {
	if to < len(lines) && isRow(lines[to]) {
		for i := to - 1; i >= from; i-- {
			if !isRow(lines[i]) {
				return i
			}
		}
	}
	return to
}

// isRow reports whether a line may stand below the path of its file.
func isRow(line string) bool {
	n, _ := dialect.LineNumber(line)
	return n > 0 || line+"\n" == dialect.Parted
}
