package web

import (
	"context"
	"net/http"
	"time"
)

// OnDisk says whether a file is still as an agent has seen it last.
type OnDisk struct {
	Root  string `json:"root"`
	Path  string `json:"path"`
	State string `json:"state"` // "same", "changed", "gone"
}

// looked is how many files, those touched last, are looked at for one answer;
// lookFor is for how long at most.
const (
	looked  = 300
	lookFor = 5 * time.Second
)

// disk looks at the files that were touched last. Of those that it leaves out
// nothing is known: no agent has seen their content, or they cannot be looked at.
func (h *Handler) disk(w http.ResponseWriter, r *http.Request) error {
	if h.Trail == nil || h.Disk == nil {
		return absent("a look at the files")
	}
	all, err := h.touched(r.Context())
	if err != nil {
		return err
	}
	var names []fileName
	for _, f := range all[:min(looked, len(all))] {
		if f.seen {
			names = append(names, fileName{f.Root, f.Path})
		}
	}
	now := h.look(r.Context(), names)
	out := []OnDisk{}
	for _, f := range all[:min(looked, len(all))] {
		if holds, ok := now[fileName{f.Root, f.Path}]; ok {
			out = append(out, OnDisk{f.Root, f.Path, stands(holds, f.holds)})
		}
	}
	h.reply(w, out)
	return nil
}

// stands says how what a file holds is to what it should.
func stands(holds, should string) string {
	switch {
	case holds == should:
		return "same"
	case holds == "":
		return "gone"
	}
	return "changed"
}

// look is what files hold now, by content hash. Those that cannot be looked at
// are left out.
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
		if err != nil { // a workspace that is gone, or on another machine
			h.log().Debug("look at files", "root", root, "err", err)
		}
		for path, holds := range found {
			all[fileName{root, path}] = holds
		}
	}
	return all
}
