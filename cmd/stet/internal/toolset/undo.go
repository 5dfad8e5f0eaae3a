package toolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/filetools"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/internal/invisible"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store"
	"github.com/stet-dev/stet/tool"
)

// What was written is looked up in the trail, and undone.

// By groups a list by key, in the order of the groups' first elements.
func By[T any](all []T, key func(T) string) [][]T {
	var groups [][]T
	at := map[string]int{}
	for _, w := range all {
		k := key(w)
		if _, known := at[k]; !known {
			at[k], groups = len(groups), append(groups, nil)
		}
		groups[at[k]] = append(groups[at[k]], w)
	}
	return groups
}

// Undo undoes writes in the workspace of tools, as the call c. The handler's approver decides; its tools are replaced by one that
// no agent has. It returns how many writes are undone: those that were not done, because their process was killed before, do not count.
func Undo(ctx context.Context, h *approval.Handler, tools *filetools.Tools, writes []record.Write, c tool.Call) (int, error) {
	undo := filetools.TakeBack{Tools: tools, Writes: writes}
	done, err := undo.Settled(ctx)
	if err == nil && len(done) == 0 {
		return 0, nil
	}
	h.Tools = new(tool.Set)
	if err := h.Tools.Add(undo); err != nil {
		return 0, err
	}
	c.Name, c.Arguments = "undo", json.RawMessage("{}")
	res, err := h.Call(ctx, c)
	if err == nil && res.Failed() {
		err = fmt.Errorf("not undone: %s", whatFailed(res))
	}
	if err != nil {
		return 0, err
	}
	return len(done), nil
}

// whatFailed returns the error in a result's text.
func whatFailed(r tool.Result) string {
	if said := tool.Complaint(r.Text); said != "" {
		return invisible.Escape(said, nil)
	}
	return string(r.Code)
}

// rollBack undoes a session's writes, file by file, for policy. Each undo is recorded like a person's undo. A write that cannot be
// undone stays, and the error names it.
func (s *Set) rollBack(ctx context.Context, session string) error {
	all, err := record.Writes(ctx, s.Trail, session, 0)
	if err != nil {
		return err
	}
	var failed []error
	for _, ws := range slices.Backward(By(record.Undoable(all), func(w record.Write) string { return w.Path })) {
		c := tool.Call{Session: session, Client: "policy", Name: "undo", Arguments: json.RawMessage("{}")}
		undo := filetools.TakeBack{Tools: s.Files, Writes: ws}
		if done, err := undo.Settled(ctx); err == nil && len(done) == 0 {
			continue
		}
		plan, err := undo.Plan(ctx, c)
		if err == nil {
			var r tool.Result
			if r, err = s.Handler.Apply(ctx, c, plan, "policy"); err == nil && r.Failed() {
				err = errors.New(whatFailed(r))
			}
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("undo %s: %w", workspace.Quote(ws[0].Path), err))
		}
	}
	return errors.Join(failed...)
}

// newestEntries is the number of the trail's newest entries that are kept at any age, so that a clock that jumps forward does not
// empty the trail.
const newestEntries = 10_000

// KeepTrail logs where the trail has lost entries. It prunes the trail now and once a day until ctx ends.
func KeepTrail(ctx context.Context, trail store.Store, days int, log *slog.Logger) {
	if err := trail.CheckTrail(ctx); err != nil && ctx.Err() == nil {
		log.Error("audit trail", "err", err)
	}
	daily := time.NewTicker(24 * time.Hour)
	defer daily.Stop()
	for days > 0 {
		n, err := pruneTrail(ctx, trail, days)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !errors.Is(err, record.ErrLost):
			log.Error("audit trail: old entries stay", "err", err)
		case n > 0:
			log.Info("audit trail: old entries are gone", "entries", n)
		}
		select {
		case <-daily.C:
		case <-ctx.Done():
			return
		}
	}
}

// believeAfter is how long the clock must have shown a time before entries are pruned by it. Otherwise a clock that jumps ahead
// would make the whole trail old.
const believeAfter = 24 * time.Hour

// pruneTrail prunes by the newest entry that is at least a day old.
func pruneTrail(ctx context.Context, trail store.Store, days int) (removed int, err error) {
	newest, err := trail.Entries(ctx, record.TrailQuery{To: time.Now().Add(-believeAfter), Limit: 1, Last: true})
	if err != nil || len(newest) == 0 {
		return 0, err
	}
	return trail.PruneTrail(ctx, newest[0].Time.AddDate(0, 0, -days), newestEntries, "policy audit-days")
}
