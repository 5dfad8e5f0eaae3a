package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"regexp"
	"slices"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/record"
)

// Undo is the body of POST /api/undo and POST /api/undo/look: the numbers of writes, or a session for all its writes. The questions
// of the undo are of the session "undo-" and Name, so that the page finds them; an empty name is replaced by a random one.
type Undo struct {
	Writes  []uint64 `json:"writes,omitempty"`
	Session string   `json:"session,omitempty"`
	Name    string   `json:"name,omitempty"`
}

// UndoLook says what would prevent an undo, before it begins.
type UndoLook struct {
	Broken uint64     `json:"broken"` // the first entry that breaks the trail's chain; 0: none
	Why    string     `json:"why"`
	Files  []UndoFile `json:"files"`
}

// UndoFile is a file that an undo would change.
type UndoFile struct {
	Root   string          `json:"root"`
	Path   string          `json:"path"`
	Writes []uint64        `json:"writes"`         // the undone writes, in order
	Back   approval.Action `json:"back"`           // create, change or remove: the effect on the file
	Disk   string          `json:"disk"`           // "same" as after the last of the writes, "changed", "gone" or "unknown"
	Stop   string          `json:"stop,omitempty"` // why it cannot be undone
}

// TakeBack is the body of POST /api/takeback: what a session's calls of its agent's own tools changed, from one entry of the trail on, is taken back.
type TakeBack struct {
	Session string `json:"session"`
	From    uint64 `json:"from"`
	Alone   bool   `json:"alone,omitempty"` // only what that call changed
	Seal    string `json:"seal,omitempty"`  // of what was shown; "": only show it
}

// TakenBack says what would change, or what was done.
type TakenBack struct {
	Said string `json:"said"`
	Seal string `json:"seal"`
}

func (h *Handler) takeBack(r *http.Request, in TakeBack) (any, error) {
	out, err := h.TakeBack(r.Context(), in, who(r.Context()))
	if err != nil {
		return nil, problem{http.StatusConflict, out.Said + err.Error()} // the paths that stayed are in what was said
	}
	return out, nil
}

// chosen returns the writes that an undo names, the oldest first, and all writes.
func (h *Handler) chosen(ctx context.Context, in Undo) (chosen, all []record.Write, err error) {
	if all, err = record.Writes(ctx, h.Trail, "", 0); err != nil {
		return nil, nil, err
	}
	for _, x := range record.Undoable(all) {
		if slices.Contains(in.Writes, x.Seq) || len(in.Writes) == 0 && in.Session != "" && x.Session == in.Session {
			chosen = append(chosen, x)
		}
	}
	if len(chosen) == 0 || len(chosen) < len(in.Writes) {
		return nil, nil, problem{http.StatusConflict, "there is nothing left of that to undo"}
	}
	return chosen, all, nil
}

func (h *Handler) undo(r *http.Request, in Undo) (any, error) {
	if !undoName(in.Name) {
		return nil, invalid("name: want at most 64 letters, digits, - and _")
	}
	chosen, _, err := h.chosen(r.Context(), in)
	if err != nil {
		return nil, err
	}
	if err := h.Undo(r.Context(), chosen, who(r.Context()), "undo-"+cmp.Or(in.Name, rand.Text())); err != nil {
		return nil, problem{http.StatusConflict, err.Error()}
	}
	return nothing{}, nil
}

// undoName reports whether a name of an undo has only characters that are safe in the name of a session.
var undoName = regexp.MustCompile(`^[A-Za-z0-9_-]{0,64}$`).MatchString

// lookAtUndo returns what an undo would meet. It changes nothing.
func (h *Handler) lookAtUndo(r *http.Request, in Undo) (any, error) {
	chosen, all, err := h.chosen(r.Context(), in)
	if err != nil {
		return nil, err
	}
	verdict, err := record.Verify(r.Context(), h.Trail)
	if err != nil {
		return nil, err
	}
	out := UndoLook{Files: []UndoFile{}}
	if verdict.Broken != nil {
		out.Broken, out.Why = verdict.Broken.Seq, verdict.Broken.Why
	}
	var names []fileName
	of := map[fileName][]record.Write{}
	for _, x := range chosen {
		n := fileName{x.Root, x.Path}
		if of[n] == nil {
			names = append(names, n)
		}
		of[n] = append(of[n], x)
	}
	now := h.look(r.Context(), names)
	for _, n := range names {
		holds, known := now[n]
		writes := of[n]
		if known {
			writes = record.Settle(writes, holds)
		}
		if len(writes) > 0 {
			out.Files = append(out.Files, undoFile(n, writes, all, holds, known))
		}
	}
	return out, nil
}

// undoFile returns the effect of undoing writes on a file. holds is its current content hash, if known.
func undoFile(n fileName, writes, all []record.Write, holds string, known bool) UndoFile {
	first, last := writes[0], writes[len(writes)-1]
	f := UndoFile{Root: n.root, Path: n.path, Back: approval.ActionOf(true, last.After, first.Before), Disk: "unknown"}
	for i, x := range writes {
		f.Writes = append(f.Writes, x.Seq)
		if i > 0 && writes[i-1].After != x.Before {
			f.Stop = fmt.Sprintf("somebody else changed it between write %d and write %d", writes[i-1].Seq, x.Seq)
		}
	}
	if known {
		f.Disk = compared(holds, last.After)
	}
	if f.Stop != "" || f.Disk == "same" || f.Disk == "unknown" {
		return f
	}
	f.Stop = fmt.Sprintf("it is not as write %d left it: somebody else has changed it since", last.Seq)
	for _, x := range all {
		if x.Root == n.root && x.Path == n.path && x.Seq > last.Seq && x.After == holds {
			f.Stop = fmt.Sprintf("write %d, of session %s, came after it: undo that first", x.Seq, x.Session)
		}
	}
	return f
}
