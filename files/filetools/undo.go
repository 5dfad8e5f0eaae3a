package filetools

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/tool"
)

// The tool undo: which writes are taken back.

var undoTool = &toolDef{
	name: "undo", plan: planUndo,
	params: params{
		{name: "write", typ: "integer", min: 1, hasMin: true, quiet: true},
		{name: "from", typ: "integer", min: 1, hasMin: true, quiet: true},
		{name: "all", typ: "boolean"},
	},
}

// pastWrite is a write that a client session has made.
type pastWrite struct {
	Number        int // its own in the audit trail; without a trail it counts from 1 in its session
	Tool          string
	Path          string            // canonical
	Before, After workspace.Version // "" where there is no file
	Dirs          int               // directories that were made for it: the last so many of Path's
	Time          time.Time

	Undone bool  // by a later write
	Undoes []int // the writes that this one has undone
}

// wrote remembers the write to file i of a plan, and returns its number.
func (s *session) wrote(p *tool.Plan, i int, w pastWrite) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Number = len(s.writes) + 1
	if i < len(p.Numbers) {
		w.Number = int(p.Numbers[i])
	}
	s.writes = append(s.writes, w)
	return w.Number
}

// pastWrites lists the writes of the session, the first one first.
func (s *session) pastWrites() []pastWrite {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.writes)
}

// planUndo is undo.
func planUndo(ctx context.Context, q *toolCall) (*tool.Plan, error) {
	all := q.ses.pastWrites()
	one, from, every := q.args.num("write", 0), q.args.num("from", 0), q.args.flag("all", false)
	given := 0
	for _, is := range []bool{one > 0, from > 0, every} {
		if is {
			given++
		}
	}
	if given > 1 {
		return nil, badArgument("arguments", "give one of write, from and all.")
	}
	var numbers []int
	for _, w := range all {
		numbers = append(numbers, w.Number)
	}
	for name, n := range map[string]int{"write": one, "from": from} {
		if n > 0 && !slices.Contains(numbers, n) {
			return nil, badArgument(name, "there is no write %d among the %d of this session, which undo without arguments lists.", n, len(all))
		}
	}
	var chosen []pastWrite
	switch {
	case given == 0:
		return q.listWrites(all), nil
	case one > 0:
		i := slices.Index(numbers, one)
		if all[i].Undone {
			return nil, badArgument("write", "write %d is undone already.", one)
		}
		chosen = all[i : i+1]
	default:
		for _, w := range all {
			if w.Number >= from && !w.Undone && w.Undoes == nil {
				chosen = append(chosen, w)
			}
		}
	}
	if len(chosen) == 0 {
		return nil, badArgument("arguments", "there is nothing to undo.")
	}
	return q.planUndoing(ctx, chosen)
}

// planUndoOf plans to undo writes that the caller knows, from an audit trail for instance,
// oldest first.
func (t *Tools) planUndoOf(ctx context.Context, c tool.Call, writes []pastWrite) (*tool.Plan, error) {
	q := t.newCall(undoTool, c)
	q.foreign = true
	p, err := q.planUndoing(ctx, writes)
	if err != nil {
		return q.refuse(err)
	}
	return p, nil
}

func (q *toolCall) listWrites(all []pastWrite) *tool.Plan {
	var b strings.Builder
	for _, w := range all {
		fmt.Fprintf(&b, "%d %s %s", w.Number, w.Tool, quoted(w.Path))
		switch {
		case w.Before == "":
			b.WriteString(" (made)")
		case w.After == "":
			b.WriteString(" (removed)")
		}
		if w.Undone {
			b.WriteString(" (undone)")
		}
		b.WriteByte('\n')
	}
	text := b.String()
	return q.doneNow(operation{Success: true, Content: &text, Data: map[string]any{"writes": len(all)}})
}

// TakeBack is the tool that undoes writes that a person chose in an audit trail, oldest
// first. Several writes to one file must be all that were made to it since the first of
// them. It takes no arguments, and is not for agents.
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
	writes, err := b.Settled(ctx)
	if err != nil {
		return nil, err
	}
	var all []pastWrite
	for _, w := range writes {
		all = append(all, pastWrite{
			Number: int(w.Seq), Tool: w.Tool, Path: w.Path,
			Before: workspace.Version(w.Before), After: workspace.Version(w.After), Dirs: w.Dirs, Time: w.Time,
		})
	}
	return b.Tools.planUndoOf(ctx, c, all)
}

// Settled returns the writes without those that were not done, because their process was killed before.
func (b TakeBack) Settled(ctx context.Context) ([]record.Write, error) {
	if !slices.ContainsFunc(b.Writes, func(w record.Write) bool { return w.Open }) {
		return b.Writes, nil
	}
	files := map[string][]record.Write{}
	for _, w := range b.Writes {
		files[w.Path] = append(files[w.Path], w)
	}
	var all []record.Write
	for name, writes := range files {
		p, err := b.Tools.root.Path(name)
		if err != nil {
			return nil, err
		}
		now, err := b.Tools.root.Version(ctx, p)
		if err != nil {
			return nil, err
		}
		all = append(all, record.Settle(writes, string(now))...)
	}
	slices.SortFunc(all, func(a, b record.Write) int { return cmp.Compare(a.Seq, b.Seq) })
	return all, nil
}
