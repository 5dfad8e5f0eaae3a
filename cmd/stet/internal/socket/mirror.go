package socket

import (
	"context"
	"log/slog"
	"sync"

	"github.com/stet-dev/stet/files/approval"
)

// MirrorGuards asks the questions about agents' own tools, of all processes with this state directory, in a queue of this process, under the same
// IDs, and takes the answers back. The first answer counts, wherever it is given. It returns when ctx ends.
func MirrorGuards(ctx context.Context, state string, to *approval.Queue, log *slog.Logger) {
	from := join(state, guardSuffix, func(Server) bool { return true })
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() {
		from.Run(ctx, true, func(err error) { log.Warn("questions about agents' own tools", "err", err) })
	})
	open := map[string]context.CancelCauseFunc{}
	for {
		e, err := from.Next(ctx)
		if err != nil {
			return
		}
		if e.Closed != nil {
			if end := open[e.Closed.ID]; end != nil {
				end(approval.Ended(e.Closed.String()))
				delete(open, e.Closed.ID)
			}
			continue
		}
		q := *e.Opened
		if open[q.ID] != nil {
			continue
		}
		one, end := context.WithCancelCause(ctx)
		open[q.ID] = end
		running.Go(func() {
			defer end(nil)
			if q.Editable {
				q.Content, _ = from.Content(one, q.ID) // without it, it cannot be edited
			}
			err := to.Mirror(one, q, func(a approval.Answer) error { return from.Answer(ctx, q.ID, a) })
			if one.Err() == nil {
				log.Warn("a question about an agent's own tools is not on the page", "err", err)
			}
		})
	}
}
