package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/stet-dev/stet/replay"
	"github.com/stet-dev/stet/transcript"
)

// progress is a bar on the terminal for work that takes a while; nil shows
// nothing.
type progress struct {
	out     io.Writer
	width   int
	files   int // in all
	started time.Time
	shown   time.Time
}

// The bar appears when the work has taken a moment, and moves now and then.
const (
	progressAfter = 400 * time.Millisecond
	progressEvery = 100 * time.Millisecond
)

// newProgress returns a bar for the files in paths, nil where standard error
// is no terminal, or one that does not know how wide it is.
func (p *program) newProgress(ctx context.Context, paths []string) *progress {
	width := columns(p.err)
	if width == 0 {
		return nil
	}
	b := &progress{out: p.err, width: width, started: time.Now()}
	for _, path := range paths {
		_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && transcript.Likely(d.Name()) {
				b.files++
			}
			return ctx.Err()
		})
	}
	return b
}

func (b *progress) show(done replay.Progress) {
	now := time.Now()
	if b == nil || now.Sub(b.started) < progressAfter || now.Sub(b.shown) < progressEvery {
		return
	}
	b.shown = now
	const cells = 24
	total := max(b.files, done.Files, 1)
	full := cells * done.Files / total
	line := fmt.Sprintf("%s%s %d/%d files, %d sessions, %s requests", strings.Repeat("█", full), strings.Repeat("░", cells-full),
		done.Files, total, done.Sessions, grouped(done.Requests))
	fmt.Fprintf(b.out, "\r\x1b[K%s", cropped(line, b.width-1))
}

// clear takes the bar away.
func (b *progress) clear() {
	if b != nil && !b.shown.IsZero() {
		fmt.Fprint(b.out, "\r\x1b[K")
	}
}
