package filetools

import (
	"context"
	"encoding/json"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/tool"
	"github.com/stet-dev/stet/workspace"
)

// TakeBack is the tool that undoes writes which a person chose in an audit trail,
// oldest first. It takes no arguments, and is not for agents: see [Tools.PlanUndo].
type TakeBack struct {
	Tools  *Tools
	Writes []record.Write
}

// Spec implements tool.Tool.
func (b TakeBack) Spec() tool.Spec {
	return tool.Spec{Name: "undo", Schema: json.RawMessage(`{"type":"object"}`), Destructive: true}
}

// Plan implements tool.Tool.
func (b TakeBack) Plan(ctx context.Context, c tool.Call) (*tool.Plan, error) {
	var all []Write
	for _, w := range b.Writes {
		all = append(all, Write{
			Number: int(w.Seq), Tool: w.Tool, Path: w.Path,
			Before: workspace.Version(w.Before), After: workspace.Version(w.After), Dirs: w.Dirs, Time: w.Time,
		})
	}
	return b.Tools.PlanUndo(ctx, c, all)
}
