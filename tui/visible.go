package tui

import "github.com/stet-dev/stet/internal/invisible"

// visible returns s on one line with everything in it that does not print, or
// that moves or hides what does, as an escape. Tabs stay. What it returns cannot
// speak to a terminal. mark is put around each escape.
func visible(s string, mark func(string) string) string { return invisible.Escape(s, mark) }
