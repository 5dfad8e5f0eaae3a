package terminal

import (
	"io"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/stet-dev/stet/internal/invisible"
)

// The escape sequences that this package writes.
const (
	bold    = "\x1b[1m"
	dim     = "\x1b[2m"
	inverse = "\x1b[7m"
	red     = "\x1b[31m"
	green   = "\x1b[32m"
	yellow  = "\x1b[33m"
	cyan    = "\x1b[36m"
	reset   = "\x1b[0m"
)

// painter makes text safe for a terminal, with or without colours.
type painter struct{ color bool }

// paint returns s in a style. s must be safe for a terminal.
func (pt painter) paint(style, s string) string {
	if !pt.color || style == "" || s == "" {
		return s
	}
	return style + s + reset
}

// visible returns s on one line. A character that is not visible, or that moves or hides other characters, becomes a
// highlighted escape. Tabs stay. style is the style of the text after an escape.
func (pt painter) visible(style, s string) string {
	return invisible.Escape(s, func(escape string) string {
		if !pt.color {
			return "<" + escape + ">"
		}
		return inverse + escape + reset + style
	})
}

// text returns visible(s) in a style.
func (pt painter) text(style, s string) string { return pt.paint(style, pt.visible(style, s)) }

// line is text with spaces instead of tabs.
func (pt painter) line(style, s string) string {
	return strings.ReplaceAll(pt.text(style, s), "\t", "    ")
}

// harmlessBlanks are common in the text of people and models. In such text they are replaced by a space or removed. In a
// diff that is to be approved they are shown as escapes.
var harmlessBlanks = strings.NewReplacer("\u00a0", " ", "\u202f", " ", "\ufe0f", "", "\ufe0e", "", "\r\n", "\n")

// words is line for text of people and models.
func (pt painter) words(style, s string) string { return pt.line(style, harmlessBlanks.Replace(s)) }

// fold breaks lines between words so that they are at most that many columns wide. A style ends at a break.
func fold(s string, columns int) []string {
	return strings.Split(lipgloss.Wrap(s, max(columns, 1), ""), "\n")
}

// chop breaks lines between any two characters, and keeps their spaces. It is used for diffs. A style ends at a break.
func chop(s string, columns int) []string {
	var b strings.Builder
	w := lipgloss.NewWrapWriter(&b)
	_, _ = io.WriteString(w, ansi.Hardwrap(s, max(columns, 1), true)) // a Builder returns no errors
	_ = w.Close()
	return strings.Split(b.String(), "\n")
}

// clip returns the beginning of a line that fits into that many columns.
func clip(s string, columns int) string { return ansi.Truncate(s, max(columns, 0), "…") }

// prose adds styles to a model's text, line by line. It keeps the marks of Markdown, so that a person who copies the text
// gets what the model wrote.
type prose struct {
	painter
	fenced bool // inside a block of code
}

func (p *prose) line(s string) string {
	trimmed := strings.TrimSpace(s)
	switch {
	case strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
		p.fenced = !p.fenced
		return p.words(dim, s)
	case p.fenced:
		return p.words(cyan, s)
	case strings.HasPrefix(trimmed, "#") && strings.HasPrefix(strings.TrimLeft(trimmed, "#"), " "):
		return p.words(bold, s)
	}
	return p.inline(s)
}

// inline adds styles to `code` and **bold**.
func (p *prose) inline(s string) string {
	var b strings.Builder
	for s != "" {
		i := strings.IndexAny(s, "`*")
		if i < 0 {
			break
		}
		mark, style := s[i:i+1], cyan
		if mark == "*" {
			mark, style = "**", bold
		}
		length := -1
		if strings.HasPrefix(s[i:], mark) {
			length = strings.Index(s[i+len(mark):], mark)
		}
		if length <= 0 {
			b.WriteString(p.words("", s[:i+1]))
			s = s[i+1:]
			continue
		}
		end := i + len(mark) + length + len(mark)
		b.WriteString(p.words("", s[:i]))
		b.WriteString(p.words(style, s[i:end]))
		s = s[end:]
	}
	b.WriteString(p.words("", s))
	return b.String()
}
