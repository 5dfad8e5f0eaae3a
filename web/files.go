package web

import (
	"net/http"
	"slices"
	"time"

	"github.com/stet-dev/stet/record"
)

// Files is what was done to files, as the audit trail has it.
type Files struct {
	Files  []TouchedFile `json:"files"`  // the one touched last first
	Writes []Write       `json:"writes"` // that can be undone, the newest first
	Undo   bool          `json:"undo"`   // undoing is offered
}

// TouchedFile is a file that calls were about.
type TouchedFile struct {
	Root      string    `json:"root"`
	Path      string    `json:"path"`
	Last      time.Time `json:"last"`
	Reads     int       `json:"reads"`
	Writes    int       `json:"writes"`
	Conflicts int       `json:"conflicts"` // calls that were not done because somebody else had changed it
	Refused   int       `json:"refused"`   // others that were not done
	Sessions  []string  `json:"sessions"`
}

// Write is a write that can be undone.
type Write struct {
	Seq     uint64    `json:"seq"`
	Time    time.Time `json:"time"`
	Root    string    `json:"root"`
	Session string    `json:"session"`
	Client  string    `json:"client,omitempty"`
	Tool    string    `json:"tool"`
	Path    string    `json:"path"`
	Action  string    `json:"action"` // "create", "change", "remove"
	Bytes   int64     `json:"bytes"`
	Open    bool      `json:"open,omitempty"` // whether it was done is not known
}

// Undo is the body of POST /api/undo: writes by their numbers, or all of a
// session.
type Undo struct {
	Writes  []uint64 `json:"writes,omitempty"`
	Session string   `json:"session,omitempty"`
}

// maxEntries is how many entries of the trail, the newest, an answer is made of.
const maxEntries = 50_000

func (h *Handler) files(w http.ResponseWriter, r *http.Request) error {
	if h.Trail == nil {
		return absent("an audit trail")
	}
	entries, err := h.Trail.Entries(r.Context(), record.TrailQuery{
		Kinds: []record.Kind{record.Call, record.Outcome}, Limit: maxEntries, Last: true,
	})
	if err != nil {
		return err
	}
	writes, err := record.Writes(r.Context(), h.Trail, "", 0)
	if err != nil {
		return err
	}
	out := Files{Files: touched(entries), Writes: []Write{}, Undo: h.Undo != nil}
	for _, x := range slices.Backward(record.Undoable(writes)) {
		out.Writes = append(out.Writes, Write{
			x.Seq, x.Time, x.Root, x.Session, x.Client, x.Tool, x.Path, action(true, x.Before, x.After), x.Bytes, x.Open,
		})
	}
	h.reply(w, out)
	return nil
}

// touched are the files that entries are about.
func touched(entries []record.Entry) []TouchedFile {
	type name struct{ root, path string }
	by := map[name]*TouchedFile{}
	var order []*TouchedFile
	for _, e := range entries {
		if e.Path == "" || e.Path == "." {
			continue
		}
		n := name{e.Root, e.Path}
		f := by[n]
		if f == nil {
			f = &TouchedFile{Root: e.Root, Path: e.Path}
			by[n], order = f, append(order, f)
		}
		f.Last = e.Time
		if !slices.Contains(f.Sessions, e.Session) {
			f.Sessions = append(f.Sessions, e.Session)
		}
		switch {
		case e.Outcome == "concurrent_modification":
			f.Conflicts++
		case e.Outcome != record.OK:
			f.Refused++
		case e.Kind == record.Outcome:
			f.Writes++
		default:
			f.Reads++
		}
	}
	slices.SortStableFunc(order, func(a, b *TouchedFile) int { return b.Last.Compare(a.Last) })
	out := []TouchedFile{}
	for _, f := range order {
		out = append(out, *f)
	}
	return out
}

func (h *Handler) undo(w http.ResponseWriter, r *http.Request) error {
	var in Undo
	if err := read(w, r, &in); err != nil {
		return err
	}
	if h.Undo == nil || h.Trail == nil {
		return absent("undoing")
	}
	all, err := record.Writes(r.Context(), h.Trail, in.Session, 0)
	if err != nil {
		return err
	}
	var chosen []record.Write
	for _, x := range record.Undoable(all) {
		if len(in.Writes) > 0 && slices.Contains(in.Writes, x.Seq) || len(in.Writes) == 0 && in.Session != "" && !x.Open {
			chosen = append(chosen, x)
		}
	}
	if len(chosen) == 0 || len(chosen) < len(in.Writes) {
		return problem{http.StatusConflict, "there is nothing left of that to undo"}
	}
	if err := h.Undo(r.Context(), chosen, who(r.Context())); err != nil {
		return problem{http.StatusConflict, err.Error()}
	}
	h.reply(w, struct{}{})
	return nil
}
