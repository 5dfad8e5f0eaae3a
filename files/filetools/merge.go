package filetools

import (
	"fmt"
	"strings"

	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/internal/merge3"
)

// merge merges a text that was made from base with what the file holds now. whole says
// that text is a whole file, not an edit. If the merge would write nothing of a whole file,
// that is an error: the caller wants another text than the file holds, and to write it would
// take back what the other program did. (FILE-15)
func (q *toolCall) merge(t *workspace.Target, base, now *content, text string, whole bool) (string, error) {
	switch {
	case now.version == "" && !t.Exists():
		return "", q.stale(t, now, "")
	case now.unreadable != nil || base.unreadable != nil:
		return "", q.stale(t, now, "and cannot be merged")
	}
	m := merge3.Merge(base.text, text, now.text, merge3.Options{Ours: "this write", Theirs: "on disk"})
	switch {
	case m.Conflicts > 0:
	case whole && m.Text == now.text && text != now.text:
		return "", q.stale(t, now, "and this write would only take that change back")
	default:
		return m.Text, nil
	}
	f := q.stale(t, now, fmt.Sprintf("in the same place (%d conflicts)", m.Conflicts))
	if m.Conflicts == 1 {
		f = q.stale(t, now, "in the same place (1 conflict)")
	}
	f.data["conflict"] = cut(conflicts(m), maxDiff)
	return "", f
}

// conflicts are the parts of a merged text that are in conflict, with markers and some
// lines around them.
func conflicts(m merge3.Result) string {
	const around = 3
	lines := strings.SplitAfter(m.Text, "\n")
	var b strings.Builder
	done := 0
	for _, h := range m.Hunks {
		if h.Kind != merge3.Conflict {
			continue
		}
		from, to := max(h.Merged.Start-around, done), min(h.Merged.End+around, len(lines))
		if from >= to {
			continue
		}
		if from > done {
			b.WriteString("…\n")
		}
		b.WriteString(strings.Join(lines[from:to], ""))
		done = to
	}
	return b.String()
}

// cut keeps a long text from filling a result.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "\n…"
}
