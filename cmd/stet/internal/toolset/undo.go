package toolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/filetools"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/tool"
)

// WritesBy groups writes by key, in the order of the groups' first writes.
func WritesBy(writes []record.Write, key func(record.Write) string) [][]record.Write {
	var groups [][]record.Write
	at := map[string]int{}
	for _, w := range writes {
		k := key(w)
		i, ok := at[k]
		if !ok {
			i = len(groups)
			at[k], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], w)
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
	var said struct {
		Error string `json:"error"`
	}
	if json.Unmarshal([]byte(r.Text), &said) != nil || said.Error == "" {
		return string(r.Code)
	}
	return workspace.Quote(said.Error)
}

// rollBack undoes a session's writes, file by file, for policy. Each undo is recorded like a person's undo. A write that cannot be
// undone stays, and the error names it.
func (s *Set) rollBack(ctx context.Context, session string) error {
	all, err := record.Writes(ctx, s.Trail, session, 0)
	if err != nil {
		return err
	}
	var failed []error
	for _, ws := range slices.Backward(WritesBy(record.Undoable(all), func(w record.Write) string { return w.Path })) {
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
