package filetools

import (
	"context"
	"errors"

	"github.com/stet-dev/stet/internal/budget"
	"github.com/stet-dev/stet/tool"
)

// How many times a call holds a file in memory at its peak: its bytes, its text and
// its result as JSON; of a write also what the file holds afterwards, and the diff.
const (
	readCopies  = 4
	writeCopies = 6
)

// seldom is how much a call may hold, in bytes, that is not counted.
const seldom = 256 << 10

// hold takes n bytes of memory for the call, if its caller bounds them, and waits for
// them for a while. The bytes are given back when the caller has the result on its way.
func hold(ctx context.Context, n int64) error {
	if n <= seldom {
		return nil
	}
	err := budget.Take(ctx, n)
	switch {
	case errors.Is(err, budget.ErrFull):
		return fail(tool.RateLimited, "too many bytes are held for other calls. Try again in 5.0 s")
	case errors.Is(err, budget.ErrTooLarge):
		return fail(tool.FileTooLarge, "the file is larger than what is held in memory; read it in parts by start_line and end_line")
	}
	return err
}
