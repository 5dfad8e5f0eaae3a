package terminal

import (
	"fmt"
	"strings"

	"github.com/stet-dev/stet/files/approval"
)

// maxLine is the number of bytes of a line that are shown before the person asks for the rest.
const maxLine = 400

// question returns the lines of a question, with at most that many lines of its diff; -1: all of them. unseen is a sentence
// on what is not shown, or "".
func (pt painter) question(q approval.Question, most int) (lines []string, unseen string) {
	lines = append(lines, pt.text(bold, q.Tool+" wants to "+action(q)))
	if from := origin(q); from != "" {
		lines = append(lines, pt.text("", from))
	}
	var missing []string
	for i, f := range q.Files {
		if most >= 0 && i == most {
			more := fmt.Sprintf("%d more files", len(q.Files)-most)
			lines = append(lines, pt.paint(yellow, "… "+more+": v shows them"))
			missing = append(missing, more)
			break
		}
		lines = append(lines, pt.text("", "  "+change(f)))
	}
	for _, w := range q.Warnings() {
		lines = append(lines, pt.text(yellow, "! "+w))
	}
	diff, missingDiff := pt.diff(q.Diff.Text(), most)
	lines, missing = append(lines, diff...), append(missing, missingDiff...)
	if q.Partial() {
		missing = append(missing, "what is too large to be shown")
	}
	if len(missing) > 0 {
		unseen = "Not shown: " + strings.Join(missing, ", ")
	}
	return lines, unseen
}

// origin says who asks, for which reason, and until when.
func origin(q approval.Question) string {
	var out []string
	if q.Client != "" {
		out = append(out, q.Client)
	}
	if q.Session != "" {
		out = append(out, "session "+q.Session)
	}
	if q.Why != "" && q.Why != "default" {
		out = append(out, "asked because of: "+q.Why)
	}
	if end := q.Until(); end != "" {
		out = append(out, "until "+end)
	}
	return strings.Join(out, ", ")
}

// about returns the name of the tool or file in question.
func about(q approval.Question) string {
	if q.Outside() {
		return q.Tool
	}
	return pathText(q.Path)
}

// action says what the call would do, after "wants to".
func action(q approval.Question) string {
	switch {
	case q.Outside():
		return "be called"
	case !q.Write:
		return "read " + pathText(q.Path)
	case len(q.Files) > 0:
		return fmt.Sprintf("change %d files below %s (%s)", len(q.Files), pathText(q.Path), size(q.Size))
	}
	return change(approval.File{Path: q.Path, Before: q.Before, After: q.After, Size: q.Size})
}

// change says what the call would do to a file.
func change(f approval.File) string {
	switch {
	case f.After == "" && f.Before != "":
		return "remove " + pathText(f.Path)
	case f.Before == "":
		return fmt.Sprintf("write %s (%s), a new file", pathText(f.Path), size(f.Size))
	}
	return fmt.Sprintf("write %s (%s)", pathText(f.Path), size(f.Size))
}

// pathText returns a path. It has quotes if its ends would not be clear without them.
func pathText(path string) string {
	if path == "" || strings.ContainsAny(path, " \"'") {
		return fmt.Sprintf("%q", path)
	}
	return path
}

// diff returns at most that many lines of a diff. missing describes what is not shown.
func (pt painter) diff(text string, most int) (lines, missing []string) {
	if text == "" {
		return nil, nil
	}
	all := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	cut := 0
	for i, line := range all {
		if most >= 0 && i == most {
			more := fmt.Sprintf("%d more lines", len(all)-most)
			lines = append(lines, pt.paint(yellow, "… "+more+": v shows them"))
			missing = append(missing, more)
			break
		}
		if most >= 0 && len(line) > maxLine {
			cut += len(line) - maxLine
			line = strings.ToValidUTF8(line[:maxLine], "") + "…"
		}
		lines = append(lines, pt.text(colorOf(line, i), line))
	}
	if cut > 0 {
		more := fmt.Sprintf("%d bytes of long lines", cut)
		lines = append(lines, pt.paint(yellow, "… "+more+" are not shown: v shows them"))
		missing = append(missing, more)
	}
	return lines, missing
}

// colorOf returns the style of line i of a unified diff.
func colorOf(line string, i int) string {
	switch {
	case i < 2 && (strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "+++ ")):
		return bold
	case strings.HasPrefix(line, "@@"):
		return cyan
	case strings.HasPrefix(line, "-"):
		return red
	case strings.HasPrefix(line, "+"):
		return green
	}
	return ""
}

func size(n int64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d KB", n>>10)
	case n == 1:
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
}
