package terminal

import (
	"fmt"
	"strings"

	"github.com/stet-dev/stet/files/approval"
)

// maxLine is the number of bytes of a line that are shown before the person asks for the rest.
const maxLine = 400

// longDiff is the number of lines of files and of a difference after which title and warnings are repeated.
const longDiff = 15

// question returns the lines of a question, with at most that many lines of its diff; -1: all of them. unseen is a sentence
// on what is not shown, or "".
func (pt painter) question(q approval.Question, most int) (lines []string, unseen string) {
	lines = append(lines, pt.text(bold, q.Title()))
	if from := q.Origin(); from != "" {
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
		lines = append(lines, pt.text("", "  "+f.Does()))
	}
	var warnings []string
	for _, w := range q.Warnings {
		warnings = append(warnings, pt.text(yellow, "! "+w))
	}
	diff, missingDiff := pt.diff(q.Diff.Text(), most)
	lines, missing = append(append(lines, warnings...), diff...), append(missing, missingDiff...)
	if len(lines)-len(warnings) > longDiff { // what stood above it may be out of sight
		lines = append(append(lines, pt.text(bold, q.Title())), warnings...)
	}
	if q.Partial() {
		missing = append(missing, "what is too large to be shown")
	}
	if len(missing) > 0 {
		unseen = "Not shown: " + strings.Join(missing, ", ")
	}
	return lines, unseen
}

// calledOn names the tool and the file of a question, or the command.
func calledOn(q approval.Question) string {
	if s := q.Subject(); s != q.Tool {
		return strings.TrimSpace(q.Tool + " " + s)
	}
	return q.Tool
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
