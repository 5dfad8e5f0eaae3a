package web

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/record"
)

// Files has what was done to files, from the audit trail.
type Files struct {
	Files  []TouchedFile `json:"files"`  // the file touched last first
	Writes []Write       `json:"writes"` // writes that can be undone, the newest first
	Undo   bool          `json:"undo"`   // undo is offered
}

// TouchedFile is a file that calls were about.
type TouchedFile struct {
	Root      string    `json:"root"`
	Path      string    `json:"path"`
	Last      time.Time `json:"last"`
	Reads     int       `json:"reads"`
	Writes    int       `json:"writes"`
	Conflicts int       `json:"conflicts"` // calls that were not done because the file had changed
	Refused   int       `json:"refused"`   // other calls that were not done
	Sessions  []string  `json:"sessions"`
}

// Write is a write that can be undone.
type Write struct {
	Seq     uint64          `json:"seq"`
	Time    time.Time       `json:"time"`
	Root    string          `json:"root"`
	Session string          `json:"session"`
	Client  string          `json:"client,omitempty"`
	Tool    string          `json:"tool"`
	Path    string          `json:"path"`
	Action  approval.Action `json:"action"` // create, change or remove
	Bytes   int64           `json:"bytes"`
	Open    bool            `json:"open,omitempty"` // it is not known whether it was done
}

// maxEntries is the limit of the trail's newest entries that are read for an answer.
const maxEntries = 50_000

func (h *Handler) files(r *http.Request) (any, error) {
	all, err := h.touched(r.Context())
	if err != nil {
		return nil, err
	}
	writes, err := record.Writes(r.Context(), h.Trail, "", 0)
	if err != nil {
		return nil, err
	}
	out := Files{Files: []TouchedFile{}, Writes: []Write{}, Undo: h.Undo != nil}
	for _, f := range all {
		out.Files = append(out.Files, f.TouchedFile)
	}
	for _, x := range slices.Backward(record.Undoable(writes)) {
		out.Writes = append(out.Writes, Write{
			x.Seq, x.Time, x.Root, x.Session, x.Client, x.Tool, x.Path, approval.ActionOf(true, x.Before, x.After), x.Bytes, x.Open,
		})
	}
	return out, nil
}

// fileName is a file in some workspace.
type fileName struct{ root, path string }

// known is a file with the trail's knowledge of its content.
type known struct {
	TouchedFile
	seen  bool   // an agent has seen its content or a part of it
	holds string // its content hash then; "": there was no file
}

// touched returns the files in the trail, the one touched last first.
func (h *Handler) touched(ctx context.Context) ([]*known, error) {
	entries, err := h.Trail.Entries(ctx, record.TrailQuery{
		Kinds: []record.Kind{record.Call, record.Outcome, record.Changed}, Limit: maxEntries, Last: true,
	})
	if err != nil {
		return nil, err
	}
	by := map[fileName]*known{}
	var order []*known
	for _, e := range entries {
		if e.Path == "" || e.Path == "." {
			continue
		}
		n := fileName{e.Root, e.Path}
		f := by[n]
		if f == nil {
			f = &known{TouchedFile: TouchedFile{Root: e.Root, Path: e.Path}}
			by[n], order = f, append(order, f)
		}
		f.add(e)
	}
	slices.SortStableFunc(order, func(a, b *known) int { return b.Last.Compare(a.Last) })
	return order, nil
}

// add counts an entry about the file.
func (f *known) add(e record.Entry) {
	f.Last = e.Time
	if !slices.Contains(f.Sessions, e.Session) {
		f.Sessions = append(f.Sessions, e.Session)
	}
	switch {
	case e.Kind == record.Changed: // by an agent's own tool, which may have failed after it
		f.Writes++
		f.seen = false
	case e.Outcome == "concurrent_modification":
		f.Conflicts++
	case e.Outcome != record.OK:
		f.Refused++
	case e.Kind == record.Outcome:
		f.Writes++
		f.seen, f.holds = true, e.After
	default:
		f.Reads++
		if e.Before != "" {
			f.seen, f.holds = true, e.Before
		}
	}
}

// OnDisk says whether a file is still as an agent saw it last.
type OnDisk struct {
	Root  string `json:"root"`
	Path  string `json:"path"`
	State string `json:"state"` // "same", "changed", "gone"
}

// Limits of the files that are checked for one answer, those touched last first, and of the time for that.
const (
	maxLooked = 300
	lookFor   = 5 * time.Second
)

// disk checks the files that were touched last. It leaves out files whose content no agent has seen, and files that cannot be read.
func (h *Handler) disk(r *http.Request) (any, error) {
	all, err := h.touched(r.Context())
	if err != nil {
		return nil, err
	}
	var names []fileName
	all = all[:min(maxLooked, len(all))]
	for _, f := range all {
		if f.seen {
			names = append(names, fileName{f.Root, f.Path})
		}
	}
	now := h.look(r.Context(), names)
	out := []OnDisk{}
	for _, f := range all {
		if holds, ok := now[fileName{f.Root, f.Path}]; ok {
			out = append(out, OnDisk{f.Root, f.Path, compared(holds, f.holds)})
		}
	}
	return out, nil
}

// compared compares a file's content hash with the expected one.
func compared(holds, should string) string {
	switch {
	case holds == should:
		return "same"
	case holds == "":
		return "gone"
	}
	return "changed"
}

// look returns the current content hashes of files. Files that cannot be read are left out.
func (h *Handler) look(ctx context.Context, names []fileName) map[fileName]string {
	all := map[fileName]string{}
	if h.Disk == nil {
		return all
	}
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	by := map[string][]string{}
	for _, n := range names {
		by[n.root] = append(by[n.root], n.path)
	}
	for root, paths := range by {
		found, err := h.Disk(ctx, root, paths)
		if err != nil { // the workspace is gone, or on another machine
			h.log().Debug("look at files", "root", root, "err", err)
		}
		for path, holds := range found {
			all[fileName{root, path}] = holds
		}
	}
	return all
}
