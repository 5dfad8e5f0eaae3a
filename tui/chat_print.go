package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
)

// printer prints finished lines above the view, in their order. One piece is
// under way at a time, since commands run beside each other, and none has more
// lines than are free beside the view, which would scroll away with them.
type printer struct {
	lines []string
	under bool // a piece is under way
}

// printed says that a piece is on the screen.
type printed struct{}

func (p *printer) add(lines ...string) { p.lines = append(p.lines, lines...) }

// next is the command that prints the next piece of at most so many lines; nil
// if there is none, or one is under way.
func (p *printer) next(most int) tea.Cmd {
	if p.under || len(p.lines) == 0 {
		return nil
	}
	n := min(max(most, 1), len(p.lines))
	piece := strings.Join(p.lines[:n], "\n")
	p.lines, p.under = p.lines[n:], true
	if piece == "" {
		piece = " " // an empty one is not printed
	}
	return tea.Sequence(tea.Println(piece), func() tea.Msg { return printed{} })
}

// idle reports whether all is on the screen.
func (p *printer) idle() bool { return !p.under && len(p.lines) == 0 }

// rest is what was not printed yet.
func (p *printer) rest() []string {
	lines := p.lines
	p.lines = nil
	return lines
}
