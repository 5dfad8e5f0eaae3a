package socket

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/server/web"
)

// Mirror asks the questions of a server in a queue of this process, under the same IDs, and takes the answers back. The first answer counts,
// wherever it is given. Mirror returns when ctx or the server ends.
func Mirror(ctx context.Context, from *web.Client, to *approval.Queue) error {
	ctx, cancel := context.WithCancel(ctx)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	open := map[string]context.CancelFunc{}
	for {
		e, err := from.Next(ctx)
		if err != nil {
			return err
		}
		if e.Closed != nil {
			if end := open[e.Closed.ID]; end != nil {
				end()
				delete(open, e.Closed.ID)
			}
			continue
		}
		q := *e.Opened
		if open[q.ID] != nil {
			continue
		}
		one, end := context.WithCancel(ctx)
		open[q.ID] = end
		asking.Go(func() {
			defer end()
			q.Root = cmp.Or(from.Root, q.Dir)
			if q.Editable {
				q.Content, _ = from.Content(one, q.ID) // without it, it cannot be edited
			}
			if a, err := to.AskAs(one, q); err == nil {
				_ = from.Answer(ctx, q.ID, a) // another answer may have come first
			}
		})
	}
}

// lookEvery is how often MirrorGuards looks for servers.
const lookEvery = time.Second

// MirrorGuards asks the questions about agents' own tools, of all processes with this state directory, in a queue, until ctx ends.
func MirrorGuards(ctx context.Context, state string, to *approval.Queue, log *slog.Logger) {
	var mirrors sync.WaitGroup
	defer mirrors.Wait()
	var mu sync.Mutex
	known := map[string]bool{}
	for {
		all, err := dialWhere(ctx, state, func(name string) bool {
			mu.Lock()
			defer mu.Unlock()
			return strings.HasSuffix(name, guardSuffix) && !known[name]
		})
		if err != nil && ctx.Err() == nil {
			log.Warn("questions about agents' own tools", "err", err)
		}
		for _, s := range all {
			mu.Lock()
			known[s.name] = true
			mu.Unlock()
			mirrors.Go(func() {
				_ = Mirror(ctx, s.Client, to) // it has ended, or this process does
				_ = s.Client.Close()
				mu.Lock()
				defer mu.Unlock()
				delete(known, s.name)
			})
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookEvery):
		}
	}
}
