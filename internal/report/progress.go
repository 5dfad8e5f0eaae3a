package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/stet-dev/stet/replay"
)

// Progress is a bar on the terminal for work that takes a while; nil shows
// nothing.
type Progress struct {
	Out     io.Writer
	Width   int // of the screen, in columns
	Files   int // in all
	Started time.Time

	shown time.Time
}

// The bar appears when the work has taken a moment, and moves now and then.
const (
	progressAfter = 400 * time.Millisecond
	progressEvery = 100 * time.Millisecond
)

// Show draws the bar.
func (b *Progress) Show(done replay.Progress) {
	now := time.Now()
	if b == nil || now.Sub(b.Started) < progressAfter || now.Sub(b.shown) < progressEvery {
		return
	}
	b.shown = now
	const cells = 24
	total := max(b.Files, done.Files, 1)
	full := cells * done.Files / total
	line := fmt.Sprintf("%s%s %d/%d files, %d sessions, %s requests", strings.Repeat("█", full), strings.Repeat("░", cells-full),
		done.Files, total, done.Sessions, Grouped(done.Requests))
	fmt.Fprintf(b.Out, "\r\x1b[K%s", Cropped(line, b.Width-1))
}

// Clear takes the bar away.
func (b *Progress) Clear() {
	if b != nil && !b.shown.IsZero() {
		fmt.Fprint(b.Out, "\r\x1b[K")
	}
}
