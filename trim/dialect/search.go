package dialect

import (
	"iter"
	"path"
	"strings"
)

// Lines of files in the outputs of commands: those that a search found, and those that a difference shows.

// FoundRows are lines of one file that a search printed one below the other, each after the path of the file and its own number:
// "src/a.go:12:func a() {" where it was found, "src/a.go-13-	return" where it is next to a line that was.
type FoundRows struct {
	From   int    // index of the first line
	Path   string // of the file
	Starts []int  // by line: how many bytes are before its number; 0 is a line that parts others
}

// Parted is what searches print between lines that are not one below the other.
const Parted = "--\n"

// SearchRows returns the lines that a search printed after the path of a file and a number. lines have their line ends.
func SearchRows(lines []string) []FoundRows {
	var out []FoundRows
	g := finding{lines}
	for i := 0; i < len(lines); i++ {
		if path, starts := g.file(i); starts != nil {
			out = append(out, FoundRows{i, path, starts})
			i += len(starts) - 1
		}
	}
	return out
}

// finding is what a search printed.
type finding struct{ lines []string }

// file returns the path that line i begins with, and for this line and those after it that are of the same file how many
// bytes of each are left out; nil where it begins with no path.
func (g *finding) file(i int) (path string, starts []int) {
	last, ok := g.anchor(i)
	if !ok {
		return "", nil
	}
	starts = []int{len(last.path) + 1}
	for j := i + 1; j < len(g.lines); j++ {
		at := j
		if g.lines[j] == Parted && j+1 < len(g.lines) {
			at++
		}
		next, ok := last.next(g.lines[at], at > j)
		if !ok {
			break
		}
		if at > j {
			starts = append(starts, 0)
		}
		starts = append(starts, len(next.path)+1)
		last, j = next, at
	}
	return last.path, starts
}

// anchor is what a search prints in front of a line.
type anchor struct {
	path string
	line int
	mark byte // ':', or '-' of a line next to one that was found
}

// anchor returns the anchor that line i begins with. A path, or the text after the anchor, may hold what looks like one more: a
// dash counts where the next line has the next number, and before a colon if what is before it looks more like a file.
func (g *finding) anchor(i int) (anchor, bool) {
	var found, beside anchor
	for p := range anchors(g.lines[i]) {
		if p.mark == ':' {
			found = p
			break
		}
		if beside.path == "" && i+1 < len(g.lines) {
			if next, ok := p.next(g.lines[i+1], false); ok && next.line == p.line+1 {
				beside = p
			}
		}
	}
	if beside.path != "" && (found.path == "" || isFile(beside.path)) {
		return beside, true
	}
	return found, found.path != ""
}

// next returns the anchor that a line begins with if it is a later one of the same file. A line next to one that was found
// has the next number, if no mark parts the two.
func (p anchor) next(line string, parted bool) (anchor, bool) {
	rest, ok := strings.CutPrefix(line, p.path)
	if !ok || rest == "" || rest[0] != ':' && rest[0] != '-' {
		return anchor{}, false
	}
	n, mark := LineNumber(rest[1:])
	return anchor{p.path, n, mark}, mark == rest[0] && n >= p.line && (mark == ':' || parted || n == p.line+1)
}

// maxPath is how many bytes a path has at most that is looked for, and maxAnchors how many anchors are tried.
const (
	maxPath    = 300
	maxAnchors = 8
)

// anchors yields what may be an anchor at the beginning of a line, the shortest path first. A path holds no blank and no colon,
// but for that of a drive.
func anchors(line string) iter.Seq[anchor] {
	return func(yield func(anchor) bool) {
		for i, n := 0, 0; i < min(len(line), maxPath) && n < maxAnchors; i++ {
			mark := line[i]
			switch {
			case mark <= ' ' || strings.IndexByte("\"'`<>|,;=*?", mark) >= 0:
				return
			case mark != ':' && mark != '-' || i == 0:
				continue
			case mark == ':' && i == 1 && len(line) > 2 && (line[2] == '\\' || line[2] == '/'):
				continue
			}
			number, end := LineNumber(line[i+1:])
			if end == mark && isPath(line[:i]) {
				if n++; !yield(anchor{line[:i], number, mark}) {
					return
				}
			}
			if mark == ':' {
				return
			}
		}
	}
}

// LineNumber returns the number that a text begins with, and the mark after it; 0 where there is none.
func LineNumber(s string) (n int, mark byte) {
	for i := 0; i < min(len(s), 8); i++ {
		switch c := s[i]; {
		case c >= '0' && c <= '9' && n+int(c-'0') > 0: // none begins with a nought
			n = 10*n + int(c-'0')
		case (c == ':' || c == '-') && n > 0:
			return n, c
		default:
			return 0, 0
		}
	}
	return 0, 0
}

// isPath reports whether a text may be the path of a file: it has a directory, or a name that ends like a file's. A date has
// neither: its last element begins with a digit.
func isPath(s string) bool {
	name := path.Base(strings.ReplaceAll(s, `\`, "/"))
	return s[0] != '-' && (isFile(s) || name != s && name != "" && (name[0] < '0' || name[0] > '9'))
}

// isFile reports whether a path ends like the name of a file: with a dot and some letters.
func isFile(path string) bool {
	i := strings.LastIndexByte(path, '.')
	end := path[i+1:]
	return i >= 0 && end != "" && len(end) <= 8 && (end[0] < '0' || end[0] > '9') && !strings.ContainsFunc(end, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// Hunk is lines of a file, the newer one of two, that a unified diff shows:
// those that it adds and those around them.
type Hunk struct {
	Path  string
	First int      // the number of the first line
	Lines []string // substrings of the diff
}

// Hunks returns what the unified diffs in an output show of files. A hunk ends
// where the output does not go on as its head says.
func Hunks(output string) []Hunk {
	if !strings.Contains(output, "\n@@ -") {
		return nil
	}
	var out []Hunk
	path, left := "", 0 // left: lines of the hunk to come
	for line := range strings.Lines(output) {
		line = strings.TrimSuffix(line, "\n")
		switch first, n, head := hunkHead(line); {
		case head && path != "":
			out, left = append(out, Hunk{Path: path, First: first}), n
		case left > 0 && line == "":
			out[len(out)-1].Lines = append(out[len(out)-1].Lines, "")
			left--
		case left > 0 && (line[0] == ' ' || line[0] == '+'):
			out[len(out)-1].Lines = append(out[len(out)-1].Lines, line[1:])
			left--
		case left > 0 && (line[0] == '-' || line[0] == '\\'):
		case strings.HasPrefix(line, "+++ "):
			path, left = newPath(line[len("+++ "):]), 0
		default:
			left = 0
		}
	}
	return out
}

// hunkHead reads "@@ -a,b +first,n @@ …".
func hunkHead(line string) (first, n int, ok bool) {
	rest, ok := strings.CutPrefix(line, "@@ -")
	if !ok {
		return 0, 0, false
	}
	_, rest, _ = strings.Cut(rest, " +")
	first, end := number(rest)
	n = 1
	if count, ok := strings.CutPrefix(rest[end:], ","); ok {
		n, _ = number(count)
	}
	return first, n, first > 0 && strings.Contains(rest, " @@")
}

// newPath returns the path of a line "+++ …", "" where there is no file.
func newPath(s string) string {
	s, _, _ = strings.Cut(s, "\t")
	if s == "/dev/null" {
		return ""
	}
	return strings.TrimPrefix(s, "b/")
}
