package localagent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stet-dev/stet/cmd/stet/internal/report"
	"github.com/stet-dev/stet/cmd/stet/internal/toolset"
	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/tool"
)

// UndoSince undoes all writes of a conversation and its tasks since a time, or none, and returns a description. The person who
// decides about writes decides about this.
func (h *Agent) UndoSince(ctx context.Context, info session.Info, since time.Time) (string, error) {
	client, err := h.clientSession(ctx, info)
	if err != nil {
		return "", err
	}
	if err := h.Handler.Journal.Flush(ctx); err != nil {
		return "", err
	}
	all, err := h.writesOf(ctx, client)
	if err != nil {
		return "", err
	}
	var chosen []record.Write
	for _, w := range record.Undoable(all) {
		if w.Root == h.Root.Dir() && !w.Time.Before(since) {
			chosen = append(chosen, w)
		}
	}
	handler := &approval.Handler{
		Policy: &policy.Policy{Unattended: h.Handler.Policy.Unattended}, Approver: h.Handler.Approver,
		Root: h.Root.Dir(), Timeout: -1, Rate: -1, Journal: h.Handler.Journal, Log: h.Log,
	}
	done, err := toolset.Undo(ctx, handler, h.Files, chosen, tool.Call{Session: client, Client: "stet chat"})
	switch {
	case err != nil:
		return "", err
	case done == 0:
		return "no file was written since then", nil
	}
	return fmt.Sprintf("undone: %s", report.Count(done, "write")), nil
}

// writesOf returns the writes of a conversation and its tasks, the oldest first.
func (h *Agent) writesOf(ctx context.Context, client string) ([]record.Write, error) {
	var all []record.Write
	seen := map[string]bool{client: true}
	add := func(client string) error {
		writes, err := record.Writes(ctx, h.Trail, client, 0)
		all = append(all, writes...)
		return err
	}
	if err := add(client); err != nil {
		return nil, err
	}
	for left := []string{client}; len(left) > 0; left = left[1:] {
		from, err := h.Store.List(ctx, session.Query{Parent: left[0]})
		if err != nil {
			return nil, err
		}
		for _, s := range from {
			task := s.From.Relation == session.Started
			if seen[s.ID] || !task && s.From.Relation != session.Compacted {
				continue
			}
			seen[s.ID] = true
			left = append(left, s.ID)
			if task { // a task has its own client session
				if err := add(s.ID); err != nil {
					return nil, err
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b record.Write) int { return cmp.Compare(a.Seq, b.Seq) })
	return all, nil
}

// clientSession returns the client session of a conversation's calls: the first session of its chain of compactions.
func (h *Agent) clientSession(ctx context.Context, i session.Info) (string, error) {
	for seen := map[string]bool{}; i.From.Relation == session.Compacted && !seen[i.ID]; {
		seen[i.ID] = true
		was, err := session.Find(ctx, h.Store, i.From.Session)
		if errors.Is(err, session.ErrNotFound) {
			break // it was stored in another store
		}
		if err != nil {
			return "", err
		}
		i = was
	}
	return i.ID, nil
}
