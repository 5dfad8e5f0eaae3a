package dialect

import "strings"

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
