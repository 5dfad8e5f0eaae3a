package kept

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

func keep(t *testing.T, d *Dir, text string) string {
	t.Helper()
	id := IDOf(text)
	if err := d.Keep(id, text); err != nil {
		t.Fatal(err)
	}
	return id
}

func TestKeep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "texts")
	d := New(path, time.Hour)
	text := strings.Repeat("a line\n", 900)
	id := keep(t, d, text)
	keep(t, d, text)
	if got, err := New(path, 0).Text(id); err != nil || got != text {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := d.Text("0123456789abcdef"); !errors.Is(err, ErrGone) {
		t.Error(err)
	}
	for _, bad := range []string{"", "../x", "0123456789ABCDEF", id + "0"} {
		if _, err := d.Text(bad); !errors.Is(err, ErrGone) {
			t.Errorf("%q: %v", bad, err)
		}
		if d.Keep(bad, text) == nil {
			t.Errorf("%q is kept", bad)
		}
	}
	if runtime.GOOS != "windows" {
		for name, want := range map[string]os.FileMode{path: 0o700, d.file(id): 0o600} {
			if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: %v, %v", name, info.Mode(), err)
			}
		}
	}
	if err := os.WriteFile(d.file(id), []byte("something else"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Text(id); !errors.Is(err, ErrGone) {
		t.Errorf("a damaged text: %v", err)
	}
}

// A text in use that was removed or cut is written again, and does not become old.
func TestKeepAgain(t *testing.T) {
	d := New(t.TempDir(), 24*time.Hour)
	text := strings.Repeat("a line\n", 900)
	id := keep(t, d, text)
	for name, harm := range map[string]func() error{
		"removed":   func() error { return os.Remove(d.file(id)) },
		"cut short": func() error { return os.Truncate(d.file(id), 7) },
		"old":       func() error { old := time.Now().Add(-23 * time.Hour); return os.Chtimes(d.file(id), old, old) },
	} {
		if err := harm(); err != nil {
			t.Fatal(err)
		}
		keep(t, d, text)
		if got, err := d.Text(id); err != nil || got != text {
			t.Errorf("%s: %.50q, %v", name, got, err)
		}
		if info, err := os.Stat(d.file(id)); err != nil || time.Since(info.ModTime()) > time.Hour {
			t.Errorf("%s: of %v, %v", name, info.ModTime(), err)
		}
	}
}

// Texts that are too old are removed, and the oldest ones above the limit. A text that is kept again counts as new.
func TestPrune(t *testing.T) {
	path := t.TempDir()
	d := New(path, 24*time.Hour)
	d.budget = 3500
	var ids []string
	for i := range 5 {
		ids = append(ids, keep(t, d, strings.Repeat(fmt.Sprint(i), 1000)))
		at := time.Now().Add(time.Duration(i-5) * time.Hour)
		if i == 4 {
			at = time.Now().Add(-25 * time.Hour)
		}
		if err := os.Chtimes(d.file(ids[i]), at, at); err != nil {
			t.Fatal(err)
		}
	}
	again := New(path, 24*time.Hour)
	again.budget = d.budget
	keep(t, again, strings.Repeat("0", 1000)) // this also checks the limit
	for i, want := range []bool{true, false, true, true, false} {
		if _, err := d.Text(ids[i]); (err == nil) != want {
			t.Errorf("text %d: %v", i, err)
		}
	}
}

// Several processes keep the same texts, and remove old ones.
func TestKeepTogether(t *testing.T) {
	path := t.TempDir()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			d := New(path, 0)
			for i := range 50 {
				text := strings.Repeat(fmt.Sprint(i, " "), 5000)
				d.written = pruneEvery
				if err := d.Keep(IDOf(text), text); err != nil {
					t.Error(err)
				}
				if got, err := d.Text(IDOf(text)); err != nil || got != text {
					t.Errorf("%d bytes, %v", len(got), err)
				}
			}
		})
	}
	all.Wait()
}

func TestNoPlace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d := New(filepath.Join(file, "folds"), 0)
	if err := d.Keep(IDOf("text"), "text"); err == nil {
		t.Error("a text is kept in a file")
	}
	if _, err := d.Text(IDOf("text")); err == nil {
		t.Error("a text is in a file")
	}
}
