package main

import (
	"io"
	"os"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/term"
)

// isTerminal reports whether v is a file that is a terminal.
func isTerminal(v any) bool {
	f, ok := v.(*os.File)
	return ok && term.IsTerminal(f.Fd())
}

// screen returns w with styles and colours as w can show them: none where it
// is no terminal, or where NO_COLOR asks for none.
func (p *program) screen(w io.Writer) io.Writer {
	return colorprofile.NewWriter(w, p.env)
}

// columns is the width of the terminal w; 0 where it is none, and lines may be
// as long as they like.
func columns(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(f.Fd()); err == nil && width > 0 {
			return width
		}
	}
	return 0
}
