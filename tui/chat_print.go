package tui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// printer prints finished lines above the view, in their order. It prints one piece
// at a time: commands run concurrently. No piece has more lines than are free
// beside the view: else the view would scroll away.
type printer struct {
	lines    []string // still to be printed
	printing bool     // a piece is being printed
	shown    []shape  // everything that was or will be printed, the newest last

	waiting bool // for the terminal, and not for a piece
	waits   int  // how many waits there were
	alone   bool // nothing else is on the screen
}

// shape returns the lines of something, each of at most so many columns.
type shape func(columns int) []string

// folded is the shape of lines that are broken between words.
func folded(lines ...string) shape {
	return func(columns int) []string {
		var out []string
		for _, line := range lines {
			out = append(out, fold(line, columns)...)
		}
		return out
	}
}

// maxShown is how many shapes are kept, to be printed again on a screen of another
// size. No screen has so many lines.
const maxShown = 500

// printed is the message that a piece is on the screen.
type printed struct{}

func (p *printer) print(what shape, columns int) {
	if len(p.shown) == maxShown {
		p.shown = append(p.shown[:0], p.shown[1:]...)
	}
	p.shown = append(p.shown, what)
	p.lines = append(p.lines, what(columns)...)
}

// gap prints an empty line.
func (p *printer) gap() { p.print(folded(""), 1) }

// again returns the command that clears a screen of so many lines, and prints the
// newest shapes again, with room for a view of so many lines below them. The printer
// is idle. What was on the screen before the chat goes to the terminal's scrollback.
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
	for row := range height { // some terminals move a screen that is cleared at once to the scrollback
		out.WriteString(ansi.CursorPosition(1, row+1) + ansi.EraseEntireLine)
	}
	out.WriteString(ansi.CursorHomePosition) // from here the renderer cannot move up to an old first line
	p.alone = true
	return p.wait(tea.Raw(out.String()), tea.ClearScreen)
}

// wait returns the commands for the renderer, after which printing goes on. What is
// printed does not go through the renderer, and the cursor has to be where the
// renderer left it. The terminal's answer to the question for its cursor says that
// it has come so far.
func (p *printer) wait(before ...tea.Cmd) tea.Cmd {
	p.printing, p.waiting = true, true
	p.waits++
	number := p.waits
	return tea.Batch(
		tea.Sequence(append(before, tea.RequestCursorPosition)...),
		tea.Tick(3*time.Second, func(time.Time) tea.Msg { // some terminals do not answer
			return then(func() tea.Cmd {
				p.waited(number)
				return nil
			})
		}),
	)
}

// waited ends the wait with that number, if it is the last one.
func (p *printer) waited(number int) {
	if p.waiting && number == p.waits {
		p.printing, p.waiting = false, false
	}
}

// next returns the command that prints the next piece, of at most so many lines; nil
// if there is none, or one is being printed.
func (p *printer) next(most int) tea.Cmd {
	if p.printing || len(p.lines) == 0 {
		return nil
	}
	n := min(max(most, 1), len(p.lines))
	piece := strings.Join(p.lines[:n], "\n")
	p.lines, p.printing = p.lines[n:], true
	if piece == "" {
		piece = " " // an empty one is not printed
	}
	return tea.Sequence(tea.Println(piece), func() tea.Msg { return printed{} })
}

// idle reports whether everything is on the screen.
func (p *printer) idle() bool { return !p.printing && len(p.lines) == 0 }

// rest returns the lines that were not printed yet, and forgets them.
func (p *printer) rest() []string {
	lines := p.lines
	p.lines = nil
	return lines
}
