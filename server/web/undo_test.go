package web

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stet-dev/stet/record"
)

// onDisk makes a workspace whose files can be checked.
func (h *rig) onDisk(t *testing.T) (write func(name, text string) (hash string)) {
	t.Helper()
	dir := t.TempDir()
	hash := func(data []byte) string { return "hash of " + string(data) }
	h.Disk = func(_ context.Context, root string, paths []string) (map[string]string, error) {
		all := map[string]string{}
		for _, name := range paths {
			data, err := os.ReadFile(filepath.Join(dir, name))
			switch {
			case os.IsNotExist(err):
				all[name] = ""
			case err == nil:
				all[name] = hash(data)
			}
		}
		return all, nil
	}
	return func(name, text string) string {
		if text == "" {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
			return ""
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return hash([]byte(text))
	}
}

// wrote adds a write to the trail, and returns its number.
func (h *rig) wrote(t *testing.T, session, path, before, after string) uint64 {
	t.Helper()
	h.log(t, record.Entry{Kind: record.Intent, Session: session, Path: path, Tool: "write_file", Before: before, After: after})
	all, err := h.records.Entries(t.Context(), record.TrailQuery{})
	if err != nil {
		t.Fatal(err)
	}
	n := all[len(all)-1].Seq
	h.log(t, record.Entry{Kind: record.Outcome, Intent: n, Session: session, Path: path, Outcome: record.OK, Before: before, After: after})
	return n
}

// For every file that an agent has seen, disk says whether it is unchanged. (CTX-8)
func TestDisk(t *testing.T) {
	h, _ := newRig(t)
	p := h.enter(t, "A")
	if r := p.do(http.MethodGet, "/api/files/disk", nil, nil); r.StatusCode != http.StatusNotImplemented {
		t.Errorf("without a look: %s", r.Status)
	}
	write := h.onDisk(t)
	for _, name := range []string{"same", "changed", "gone", "read", "unseen"} {
		hash := write(name, name)
		switch name {
		case "read":
			h.log(t, record.Entry{Kind: record.Call, Session: "s", Path: name, Outcome: record.OK, Before: hash})
		case "unseen":
			h.log(t, record.Entry{Kind: record.Call, Session: "s", Path: name, Outcome: record.OK})
		default:
			h.wrote(t, "s", name, "", hash)
		}
	}
	write("changed", "by somebody else")
	write("gone", "")
	var got []string
	for _, f := range get[[]OnDisk](p, "/api/files/disk") {
		got = append(got, f.Path+" "+f.State)
	}
	slices.Sort(got)
	if want := "changed changed,gone gone,read same,same same"; strings.Join(got, ",") != want {
		t.Errorf("on disk: %q, want %s", got, want)
	}
}

// Before an undo begins, lookAtUndo says what would prevent it. (FILE-12)
func TestLookAtUndo(t *testing.T) {
	h, _ := newRig(t)
	p := h.enter(t, "A")
	p.post("/api/undo/look", Undo{Writes: []uint64{1}}, http.StatusNotImplemented)
	h.Undo = func(context.Context, []record.Write, string, string) error { return nil }
	write := h.onDisk(t)
	a1 := write("a", "1")
	one := h.wrote(t, "s", "a", "", a1)
	two := h.wrote(t, "t", "a", a1, write("a", "2"))
	b := h.wrote(t, "s", "b", "", write("b", "1"))
	c1 := h.wrote(t, "u", "c", "", write("c", "1"))
	c2 := h.wrote(t, "u", "c", "another", write("c", "2"))
	look := func(u Undo) UndoLook {
		t.Helper()
		var l UndoLook
		decode(t, p.do(http.MethodPost, "/api/undo/look", u, nil), &l)
		if l.Broken != 0 {
			t.Errorf("the trail is broken: %s", l.Why)
		}
		return l
	}
	if f := look(Undo{Writes: []uint64{two}}).Files[0]; f.Disk != "same" || f.Stop != "" || f.Back != "change" {
		t.Errorf("the newest: %+v", f)
	}
	l := look(Undo{Session: "s"})
	if len(l.Files) != 2 || !strings.Contains(l.Files[0].Stop, "of session t, came after it") || l.Files[1].Stop != "" || l.Files[1].Back != "remove" {
		t.Errorf("a session: %+v", l.Files)
	}
	if f := look(Undo{Writes: []uint64{one, two}}).Files[0]; f.Stop != "" || len(f.Writes) != 2 || f.Back != "remove" {
		t.Errorf("both: %+v", f)
	}
	if f := look(Undo{Writes: []uint64{c1, c2}}).Files[0]; !strings.Contains(f.Stop, "somebody else changed it between") {
		t.Errorf("changed between: %+v", f)
	}
	write("b", "by somebody else")
	if f := look(Undo{Writes: []uint64{b}}).Files[0]; f.Disk != "changed" || !strings.Contains(f.Stop, "somebody else has changed it since") {
		t.Errorf("changed since: %+v", f)
	}
	write("b", "")
	if f := look(Undo{Writes: []uint64{b}}).Files[0]; f.Disk != "gone" || f.Stop == "" {
		t.Errorf("gone: %+v", f)
	}
	h.Disk = nil
	if f := look(Undo{Writes: []uint64{b}}).Files[0]; f.Disk != "unknown" || f.Stop != "" {
		t.Errorf("without a look: %+v", f)
	}
	h.Trail = changedTrail{h.Trail}
	var bad UndoLook
	decode(t, p.do(http.MethodPost, "/api/undo/look", Undo{Writes: []uint64{b}}, nil), &bad)
	if bad.Broken != 2 || bad.Why == "" {
		t.Errorf("a broken trail: %+v", bad)
	}
}

// changedTrail is a trail whose second entry was changed.
type changedTrail struct{ record.Trail }

func (b changedTrail) Entries(ctx context.Context, q record.TrailQuery) ([]record.Entry, error) {
	all, err := b.Trail.Entries(ctx, q)
	for i := range all {
		if all[i].Seq == 2 {
			all[i].Bytes++
		}
	}
	return all, err
}

// If a take-back fails, the page gets what it did all the same, which names the paths that stayed. (GRD-3)
func TestTakeBackFails(t *testing.T) {
	h, _ := newRig(t)
	p := h.enter(t, "A")
	h.TakeBack = func(context.Context, TakeBack, string) (TakenBack, error) {
		return TakenBack{Said: "a.go was changed since, and stays\n"}, errors.New("b.go: permission denied")
	}
	got := p.post("/api/takeback", TakeBack{Session: "s", Seal: "x"}, http.StatusConflict)
	if want := "a.go was changed since, and stays\nb.go: permission denied"; got != want {
		t.Errorf("%q", got)
	}
}
