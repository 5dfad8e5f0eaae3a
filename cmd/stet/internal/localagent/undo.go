package localagent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stet-dev/stet/cmd/stet/internal/report"
	"github.com/stet-dev/stet/cmd/stet/internal/toolset"
	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/tool"
)

// UndoSince undoes all writes of a conversation since a time, or none, and returns a description. The person who
// decides about writes decides about this.
func (h *Agent) UndoSince(ctx context.Context, info session.Info, since time.Time) (string, error) {
	client, err := h.clientSession(ctx, info)
	if err != nil {
		return "", err
	}
	if err := h.Handler.Journal.Flush(ctx); err != nil {
		return "", err
	}
	all, err := record.Writes(ctx, h.Trail, client, 0)
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
