package tui

import (
	"fmt"
	"strings"

	"github.com/stet-dev/stet/approval"
)

// The escapes that we write ourselves.
const (
	bold, dim, red, green, cyan, yellow, inverse, plain = "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[36m", "\x1b[33m", "\x1b[7m", "\x1b[0m"
)

// maxShown is how many bytes of a line are shown before the person asks for
// the rest.
const maxShown = 400

func (d *Dialog) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(d.Out, format, args...) // a terminal that has gone says so when it is read
}

func (d *Dialog) ink() ink { return ink{d.Color} }

func (d *Dialog) paint(color, s string) string { return d.ink().paint(color, s) }

func (d *Dialog) bold(s string) string { return d.paint(bold, s) }

// visible is s in one line that a terminal can be given.
func (d *Dialog) visible(s string) string { return d.visibleIn("", s) }

// visibleIn is visible in a colour, which goes on after each mark.
func (d *Dialog) visibleIn(color, s string) string {
	return d.paint(color, d.ink().visible(color, s))
}

func (d *Dialog) complain(err error) { d.printf("%s\n", d.visibleIn(yellow, err.Error())) }

// show shows a question, and at most so many lines of its diff; -1: all, whole.
// It returns a sentence on what it did not show; "" when it showed all.
func (d *Dialog) show(q approval.Question, most int) string {
	d.printf("\n%s\n", d.visibleIn(bold, q.Tool+" wants to "+wish(q)))
	if from := origin(q); from != "" {
		d.printf("%s\n", d.visible(from))
	}
	var unseen []string
	for i, f := range q.Files {
		if most >= 0 && i == most {
			more := fmt.Sprintf("%d more files", len(q.Files)-most)
			d.printf("%s\n", d.paint(yellow, "… "+more+": v shows them"))
			unseen = append(unseen, more)
			break
		}
		d.printf("%s\n", d.visible("  "+change(f)))
	}
	for _, w := range q.Warnings() {
		d.printf("%s\n", d.visibleIn(yellow, "! "+w))
	}
	unseen = append(unseen, d.diff(q.Diff.Text(), most)...)
	if q.Partial() {
		unseen = append(unseen, "what is too large to be shown")
	}
	if len(unseen) == 0 {
		return ""
	}
	return "Not shown: " + strings.Join(unseen, ", ")
}

// origin is whose question it is, why it is asked and how long.
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
	if !q.Expires.IsZero() {
		out = append(out, "until "+q.Expires.Local().Format("15:04:05"))
	}
	return strings.Join(out, ", ")
}

// about is what a question is about, in short.
func about(q approval.Question) string {
	if q.Outside() {
		return q.Tool
	}
	return shown(q.Path)
}

// wish is what the call would do.
func wish(q approval.Question) string {
	switch {
	case q.Outside():
		return "be called"
	case !q.Write:
		return "read " + shown(q.Path)
	case len(q.Files) > 0:
		return fmt.Sprintf("change %d files below %s (%s)", len(q.Files), shown(q.Path), size(q.Size))
	}
	return change(approval.File{Path: q.Path, Before: q.Before, After: q.After, Size: q.Size})
}

// change is what would become of a file.
func change(f approval.File) string {
	switch {
	case f.After == "" && f.Before != "":
		return "remove " + shown(f.Path)
	case f.Before == "":
		return fmt.Sprintf("write %s (%s), a new file", shown(f.Path), size(f.Size))
	}
	return fmt.Sprintf("write %s (%s)", shown(f.Path), size(f.Size))
}

// shown is a path without room for doubt about where it ends.
func shown(path string) string {
	if path == "" || strings.ContainsAny(path, " \"'") {
		return fmt.Sprintf("%q", path)
	}
	return path
}

// diff shows a diff, and returns what of it it did not show.
func (d *Dialog) diff(text string, most int) (unseen []string) {
	if text == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	cut := 0
	for i, line := range lines {
		if most >= 0 && i == most {
			more := fmt.Sprintf("%d more lines", len(lines)-most)
			d.printf("%s\n", d.paint(yellow, "… "+more+": v shows them"))
			unseen = append(unseen, more)
			break
		}
		if most >= 0 && len(line) > maxShown {
			cut += len(line) - maxShown
			line = strings.ToValidUTF8(line[:maxShown], "") + "…"
		}
		d.printf("%s\n", d.visibleIn(colorOf(line, i), line))
	}
	if cut > 0 {
		more := fmt.Sprintf("%d bytes of long lines", cut)
		d.printf("%s\n", d.paint(yellow, "… "+more+" are not shown: v shows them"))
		unseen = append(unseen, more)
	}
	return unseen
}

// colorOf is the colour of the i-th line of a unified diff.
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
