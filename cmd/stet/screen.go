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

// screen returns w with the styles and colours that w supports: none if it is not a terminal or NO_COLOR is set.
func (p *program) screen(w io.Writer) io.Writer {
	return colorprofile.NewWriter(w, p.env)
}

// columns returns the width of the terminal w; 0: it is not a terminal, and lines may have any length.
func columns(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(f.Fd()); err == nil && width > 0 {
			return width
		}
	}
	return 0
}
