package filetools

import (
	"slices"

	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/tool"
)

// baseOnSeen bases the draft on what the client session last saw of the file. Where
// that is not known the base is what the file holds now. It is an error when what
// was seen is not kept any more.
func (q *toolCall) baseOnSeen(d *draft, t *workspace.Target, now *content) error {
	name := t.Path.String()
	f, ok := q.ses.tracker.File(name, t.Stamp)
	switch {
	case !ok, !t.Exists() && f.Path != name: // in another case it may be another file (TRK-5)
		d.baseOn(now, tool.Unread)
		return nil
	case f.Version == "": // too large to be shown whole
		d.baseOn(now, tool.PartRead)
		return nil
	}
	d.base, d.partly = now, d.isEdit && !f.Whole
	if !f.Whole && !d.isEdit {
		d.note = tool.PartRead
	}
	if f.Version == now.version {
		return nil
	}
	data, err := q.root.Kept(f.Version)
	if err != nil {
		return q.stale(t, now, "and what was read is not kept any more")
	}
	d.base = newContent(f.Version, data, now.enc)
	if q.options.convert {
		d.base.asFound()
	}
	if d.base.unreadable != nil {
		return q.stale(t, now, "and cannot be merged")
	}
	return nil
}

// stale is the failure of a write that is based on what the file does not hold any
// more.
func (q *toolCall) stale(t *workspace.Target, now *content, why string) *failure {
	name := t.Path.String()
	who := q.who(name, now.version)
	f := fail(tool.ConcurrentModification, "the file was changed by "+who+" since it was read, "+why+"; read it again")
	if now.version == "" {
		f.message = "the file was removed by " + who + " since it was read; write it again to make it anew"
		q.onFailed = func() { q.removed(name) }
	}
	f.data = map[string]any{"path": name}
	if now.version != "" {
		f.data["version"] = id(now.version)
	}
	return f
}

// ours reports whether a version of a file is the one that the session wrote last.
func (q *toolCall) ours(name string, v workspace.Version) bool {
	q.ses.mu.Lock()
	defer q.ses.mu.Unlock()
	for _, w := range slices.Backward(q.ses.writes) {
		if w.Path == name {
			return w.After == v
		}
	}
	return false
}

// who says who wrote a version.
func (q *toolCall) who(name string, v workspace.Version) string {
	if q.ours(name, v) {
		return "another call of this session"
	}
	return "somebody else"
}
