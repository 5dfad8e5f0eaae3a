package terminal

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// printer prints finished lines above the view, in their order. It prints only one piece at a time, because commands run
// concurrently. A piece has at most as many lines as are free next to the view. Otherwise the view would scroll off the
// screen.
type printer struct {
	lines    []string // not printed yet
	printing bool     // a piece is being printed
	shown    []shape  // everything that was or will be printed, the newest last

	waiting bool // printing waits for the terminal, and not for a piece
	waits   int  // number of waits so far
	alone   bool // only the chat is on the screen
}

// shape returns the lines of a text, each at most so many columns wide.
type shape func(columns int) []string

// folded returns the shape of lines that are broken between words.
func folded(lines ...string) shape {
	return func(columns int) []string {
		var out []string
		for _, line := range lines {
			out = append(out, fold(line, columns)...)
		}
		return out
	}
}

// maxShown is the number of shapes that are kept, to be printed again when the size of the screen changes. It is larger
// than the number of lines of any screen.
const maxShown = 500

// printed is the message that a piece was printed.
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

// again returns the command that clears a screen of that height, and prints the newest shapes again. view is the number of
// lines that stay free below them. The printer must be idle. If the screen has text from before the chat, that text moves
// to the terminal's scrollback.
func (p *printer) again(columns, height, view int) tea.Cmd {
	free := max(height-view, 0)
	for i := len(p.shown) - 1; i >= 0 && len(p.lines) < free; i-- {
		p.lines = append(p.shown[i](columns), p.lines...)
	}
	var out strings.Builder
	if len(p.lines) < free && !p.alone {
		out.WriteString(ansi.CursorPosition(1, height) + strings.Repeat("\n", height))
	}
	p.lines = p.lines[max(0, len(p.lines)-free):]
	for row := range height { // some terminals move a screen that is cleared at once to the scrollback
		out.WriteString(ansi.CursorPosition(1, row+1) + ansi.EraseEntireLine)
	}
	out.WriteString(ansi.CursorHomePosition) // from here the renderer cannot move up to an old first line
	p.alone = true
	return p.wait(tea.Raw(out.String()), tea.ClearScreen)
}

// wait pauses printing until the renderer has written everything so far. Printed lines do not go through the renderer, and
// they need the cursor where the renderer left it. wait returns the commands before, and a request for the cursor position.
// The terminal's answer shows that it has processed everything before the request.
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

// waited ends the wait with that number. It does nothing if a later wait has begun.
func (p *printer) waited(number int) {
	if p.waiting && number == p.waits {
		p.printing, p.waiting = false, false
	}
}

// next returns the command that prints the next piece, of at most that many lines. It returns nil if there is none, or if a
// piece is being printed.
func (p *printer) next(most int) tea.Cmd {
	if p.printing || len(p.lines) == 0 {
		return nil
	}
	n := min(max(most, 1), len(p.lines))
	piece := strings.Join(p.lines[:n], "\n")
	p.lines, p.printing = p.lines[n:], true
	if piece == "" {
		piece = " " // tea.Println does not print an empty piece
	}
	return tea.Sequence(tea.Println(piece), func() tea.Msg { return printed{} })
}

// idle reports whether everything is printed.
func (p *printer) idle() bool { return !p.printing && len(p.lines) == 0 }

// rest returns the lines that are not printed yet, and removes them.
func (p *printer) rest() []string {
	lines := p.lines
	p.lines = nil
	return lines
}
