package tui

import (
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// ink writes text for a terminal, with colours or without.
type ink struct{ color bool }

func (k ink) paint(style, s string) string {
	if !k.color || style == "" || s == "" {
		return s
	}
	return style + s + plain
}

// visible is s with escapes for what does not print, marked, in a style.
func (k ink) visible(style, s string) string {
	return visible(s, func(escape string) string {
		if !k.color {
			return "<" + escape + ">"
		}
		return inverse + escape + plain + style
	})
}

// line is s as one line: nothing in it speaks to the terminal, and tabs have a
// width.
func (k ink) line(style, s string) string {
	s = k.visible(style, s)
	return k.paint(style, strings.ReplaceAll(s, "\t", "    "))
}

// harmlessBlanks are shown as what they stand for where nothing is approved by
// what they hide: what people and models write is full of them.
var harmlessBlanks = strings.NewReplacer("\u00a0", " ", "\u202f", " ", "\ufe0f", "", "\ufe0e", "", "\r\n", "\n")

// words is line for what somebody says.
func (k ink) words(style, s string) string { return k.line(style, harmlessBlanks.Replace(s)) }

// fold breaks lines that are wider than so many columns; styles do not reach
// over a break.
func fold(s string, columns int) []string {
	return strings.Split(lipgloss.Wrap(s, max(columns, 1), ""), "\n")
}

// chop breaks lines anywhere, and keeps their blanks: for diffs and the like.
func chop(s string, columns int) []string {
	columns = max(columns, 1)
	if ansi.StringWidth(s) <= columns {
		return []string{s}
	}
	var out []string
	for ansi.StringWidth(s) > columns {
		head := ansi.Truncate(s, columns, "")
		out = append(out, head)
		rest := ansi.TruncateLeft(s, ansi.StringWidth(head), "")
		if ansi.StringWidth(rest) >= ansi.StringWidth(s) { // nothing fits
			break
		}
		s = rest
	}
	return append(out, s)
}

// clip is as much of a line as fits into so many columns.
func clip(s string, columns int) string { return ansi.Truncate(s, max(columns, 0), "…") }

// prose gives what a model writes a little shape, line by line: the marks of
// Markdown stay, so that what is copied is what was written.
type prose struct {
	ink
	fenced bool // within a block of code
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

// inline paints `code` and **what is bold**.
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
