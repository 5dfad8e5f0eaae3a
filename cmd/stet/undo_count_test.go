package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store"
)

// The message of an undo says how many writes were undone. A write that did not happen, because its process was killed first, is not counted. Where no person
// answers the question, nothing is undone. FILE-12
func TestUndoCountsWritesThatWereDone(t *testing.T) {
	home, tree := t.TempDir(), t.TempDir()
	tree, err := filepath.EvalSymlinks(tree)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	p := &program{out: &out, err: &out, env: []string{"HOME=" + home, "XDG_STATE_HOME=" + home}, dir: tree}
	trail, err := store.Open(t.Context(), p.trailFile())
	if err != nil {
		t.Fatal(err)
	}
	sum := "a948904f2f0f479b8f8197694b30184b0d2ed1c1cd2a1ec0fb85d299a192a447" // of "hello world\n"
	if err := os.WriteFile(filepath.Join(tree, "done.txt"), []byte("hello world\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, e := range []record.Entry{
		{Session: "never", Path: "never.txt", After: strings.Repeat("a", 64)},
		{Session: "both", Path: "done.txt", After: sum},
		{Session: "both", Path: "lost.txt", After: strings.Repeat("a", 64)},
	} {
		e.Kind, e.Time, e.Root, e.Tool = record.Intent, time.Now(), tree, "write_file"
		if _, err := trail.Log(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if err := trail.Close(); err != nil {
		t.Fatal(err)
	}
	p.in = strings.NewReader("")
	_, _ = p.run(t.Context(), []string{"undo", "2"}), p.run(t.Context(), []string{"audit"}) // the end of the input is no person's answer
	if said := out.String(); !strings.Contains(said, "in "+tree+":\n") || !strings.Contains(said, "no person to ask") || strings.Contains(said, "by person") {
		t.Error(said)
	}
	for session, want := range map[string]string{"never": "undone: 0 writes", "both": "undone: 1 write "} {
		out.Reset()
		if code := p.run(t.Context(), []string{"undo", session, "--yes"}); code != 0 || !strings.Contains(out.String(), want) {
			t.Errorf("session %s: code %d: %s, want %q", session, code, &out, want)
		}
	}
	if _, err := os.Stat(filepath.Join(tree, "done.txt")); !os.IsNotExist(err) {
		t.Errorf("the file of the write that was done: %v", err)
	}
}
