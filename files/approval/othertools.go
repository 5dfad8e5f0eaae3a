package approval

import (
	"context"
	"slices"
	"strings"

	"github.com/stet-dev/stet/tool"
)

// With returns a caller that runs the calls of h and also the calls of other tools, in the same order and by the same rules. If
// both have a tool of one name, the tool of h is used.
func (h *Handler) With(other *tool.Set) tool.Starter { return with{h, other} }

type with struct {
	*Handler
	other *tool.Set
}

// Specs implements tool.Caller.
func (w with) Specs() []tool.Spec {
	all := w.Handler.Specs()
	for _, s := range w.other.Specs() {
		if _, ours := w.Handler.Tools.Get(s.Name); !ours {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b tool.Spec) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Call implements tool.Caller.
func (w with) Call(ctx context.Context, c tool.Call) (tool.Result, error) { return w.Start(c)(ctx) }

// Start implements tool.Starter.
func (w with) Start(c tool.Call) func(context.Context) (tool.Result, error) {
	t, ours := w.Handler.Tools.Get(c.Name)
	if !ours {
		t, _ = w.other.Get(c.Name)
	}
	return w.start(c, t).call
}
