package tui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// printer prints finished lines above the view, in their order. One piece is
// under way at a time, since commands run beside each other, and none has more
// lines than are free beside the view, which would scroll away with them.
type printer struct {
	lines []string
	under bool    // a piece is under way
	shown []shape // what was printed, and what is to be, the newest last

	waiting bool // what is under way is to wait for the terminal
	waits   int  // how often it did
	alone   bool // nothing else is on the screen
}

// shape is something that is printed, in lines of at most so many columns.
type shape func(columns int) []string

// folded is lines that are broken where they do not fit.
func folded(lines ...string) shape {
	return func(columns int) []string {
		var out []string
		for _, line := range lines {
			out = append(out, fold(line, columns)...)
		}
		return out
	}
}

// remembered is how much of what was printed is kept, to be printed again on a
// screen of another size: more than any has lines.
const remembered = 500

// printed says that a piece is on the screen.
type printed struct{}

func (p *printer) print(what shape, columns int) {
	if len(p.shown) == remembered {
		p.shown = append(p.shown[:0], p.shown[1:]...)
	}
	p.shown = append(p.shown, what)
	p.lines = append(p.lines, what(columns)...)
}

// gap prints an empty line.
func (p *printer) gap() { p.print(folded(""), 1) }

// again is the command that clears a screen of so many lines, which may show what
// a view left behind, and has the end of what was printed printed again, with room
// for a view of so many lines below it. Nothing is under way or waits. What was on
// the screen before the chat goes to where the terminal keeps what has scrolled
// away.
func (p *printer) again(columns, height, view int) tea.Cmd {
	room := max(height-view, 0)
	for i := len(p.shown) - 1; i >= 0 && len(p.lines) < room; i-- {
		p.lines = append(p.shown[i](columns), p.lines...)
	}
	var out strings.Builder
	if len(p.lines) < room && !p.alone {
		out.WriteString(ansi.CursorPosition(1, height) + strings.Repeat("\n", height))
	}
	p.lines = p.lines[max(0, len(p.lines)-room):]
	for row := range height { // all at once would go to what has scrolled away, in some terminals
		out.WriteString(ansi.CursorPosition(1, row+1) + ansi.EraseEntireLine)
	}
	out.WriteString(ansi.CursorHomePosition) // from where the renderer's way to its first line leads nowhere
	p.alone = true
	return p.wait(tea.Raw(out.String()), tea.ClearScreen)
}

// wait is the command that does what concerns the renderer, and has what is
// printed wait till that is on the screen: it goes out beside the renderer, which
// has to be where it says it is. The terminal tells when, by answering where its
// cursor is.
func (p *printer) wait(before ...tea.Cmd) tea.Cmd {
	p.under, p.waiting = true, true
	p.waits++
	enough := waited(p.waits)
	return tea.Batch(
		tea.Sequence(append(before, tea.RequestCursorPosition)...),
		tea.Tick(3*time.Second, func(time.Time) tea.Msg { return enough }), // it does not answer
	)
}

// waited is that so many waits are over.
type waited int

// waited ends the waiting, if it is that one.
func (p *printer) waited(w waited) {
	if p.waiting && int(w) == p.waits {
		p.under, p.waiting = false, false
	}
}

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
