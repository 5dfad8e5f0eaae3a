package diff

import (
	"strconv"
	"strings"
)

// File has the changes of one file. Its text form is a unified diff with git's headers.
type File struct {
	Path    string
	Created bool // there was no file before
	Deleted bool // there is no file afterwards
	Diff
}

// Text returns the change as a unified diff; "" if no line changes.
func (f File) Text() string {
	before, after := "a/"+f.Path, "b/"+f.Path
	if f.Created {
		before = nowhere
	}
	if f.Deleted {
		after = nowhere
	}
	return f.Unified(before, after)
}

// nowhere is the name in a header for a file that does not exist.
const nowhere = "/dev/null"

// noNewline follows a line that has no line end.
const noNewline = `\ No newline at end of file`

// Parse reads the output of [File.Text], of one file or of several in sequence. For any other text ok is false, so that the files
// and the text always have the same content. The lines keep the text in memory.
func Parse(text string) (files []File, ok bool) {
	lines := splitLines(text)
	for len(lines) > 0 {
		f, rest, ok := parseFile(lines)
		if !ok {
			return nil, false
		}
		files, lines = append(files, f), rest
	}
	var again strings.Builder
	for _, f := range files {
		again.WriteString(f.Text())
	}
	return files, again.String() == text
}

func splitLines(text string) []string {
	lines := make([]string, 0, strings.Count(text, "\n")+1)
	for line := range strings.Lines(text) {
		lines = append(lines, line)
	}
	return lines
}

func parseFile(lines []string) (f File, rest []string, ok bool) {
	if len(lines) < 3 {
		return f, nil, false
	}
	before, ok1 := headerName(lines[0], "--- ")
	after, ok2 := headerName(lines[1], "+++ ")
	f.Created, f.Deleted = before == nowhere, after == nowhere
	if f.Path = strings.TrimPrefix(after, "b/"); f.Deleted {
		f.Path = strings.TrimPrefix(before, "a/")
	}
	if !ok1 || !ok2 {
		return f, nil, false
	}
	for lines = lines[2:]; len(lines) > 0 && strings.HasPrefix(lines[0], "@@ "); {
		if lines, ok = f.parseHunk(lines); !ok {
			return f, nil, false
		}
	}
	return f, lines, true
}

// headerName returns the unquoted name in a header line.
func headerName(line, sign string) (name string, ok bool) {
	name, ok = strings.CutPrefix(strings.TrimRight(line, "\t\n"), sign)
	if unquoted, err := strconv.Unquote(name); err == nil {
		name = unquoted
	}
	return name, ok
}

// parseHunk adds the hunk at the beginning of lines, and returns the lines after it. The header has the number of lines, because a
// removed line may look like the next header.
func (f *File) parseHunk(lines []string) (rest []string, ok bool) {
	fields := strings.Fields(lines[0])
	if len(fields) != 4 {
		return nil, false
	}
	var h Hunk
	var ok1, ok2 bool
	h.OldStart, h.OldLines, ok1 = parseSpan(fields[1], "-")
	h.NewStart, h.NewLines, ok2 = parseSpan(fields[2], "+")
	if !ok1 || !ok2 {
		return nil, false
	}
	lines = lines[1:]
	for oldLeft, newLeft := h.OldLines, h.NewLines; oldLeft > 0 || newLeft > 0; {
		if len(lines) == 0 {
			return nil, false
		}
		line := Line{Kind(lines[0][0]), lines[0][1:]}
		lines = lines[1:]
		switch line.Kind {
		case Same:
			oldLeft--
			newLeft--
		case Removed:
			oldLeft--
			f.Removed++
		case Added:
			newLeft--
			f.Added++
		default:
			return nil, false
		}
		if oldLeft < 0 || newLeft < 0 {
			return nil, false
		}
		if len(lines) > 0 && strings.HasPrefix(lines[0], noNewline) {
			line.Text, lines = strings.TrimSuffix(line.Text, "\n"), lines[1:]
		}
		h.Lines = append(h.Lines, line)
	}
	f.Hunks = append(f.Hunks, h)
	return lines, true
}

// parseSpan reads "-12,3"; a count of 1 is left out.
func parseSpan(s, sign string) (start, lines int, ok bool) {
	s, ok = strings.CutPrefix(s, sign)
	first, count, counted := strings.Cut(s, ",")
	if !counted {
		count = "1"
	}
	start, err1 := strconv.Atoi(first)
	lines, err2 := strconv.Atoi(count)
	return start, lines, ok && err1 == nil && err2 == nil && start >= 0 && lines >= 0
}
