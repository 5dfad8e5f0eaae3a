package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/stet-dev/stet/trim/replay"
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

// Show draws the bar for recorded sessions.
func (b *Progress) Show(done replay.Progress) {
	if b != nil {
		total := max(b.Files, done.Files, 1)
		b.draw(float64(done.Files)/float64(total), fmt.Sprintf("%d/%d files, %d sessions, %s requests",
			done.Files, total, done.Sessions, Grouped(done.Requests)))
	}
}

// ShowRequests draws the bar for requests that are read in the order of time: n so far, in a part of the time.
func (b *Progress) ShowRequests(n int, part float64) {
	if b != nil {
		b.draw(min(max(part, 0), 1), Grouped(n)+" requests")
	}
}

// draw draws the bar with a part of it full, and a line after it.
func (b *Progress) draw(part float64, line string) {
	now := time.Now()
	if now.Sub(b.Started) < progressAfter || now.Sub(b.shown) < progressEvery {
		return
	}
	b.shown = now
	const cells = 24
	full := int(cells * part)
	fmt.Fprintf(b.Out, "\r\x1b[K%s", Cropped(strings.Repeat("█", full)+strings.Repeat("░", cells-full)+" "+line, b.Width-1))
}

// Clear takes the bar away.
func (b *Progress) Clear() {
	if b != nil && !b.shown.IsZero() {
		fmt.Fprint(b.Out, "\r\x1b[K")
	}
}
