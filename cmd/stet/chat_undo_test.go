package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/cmd/stet/internal/demo"
	"github.com/stet-dev/stet/session"
)

// A rewind that includes files also undoes the writes of tasks, including tasks given before or after a compaction.
func TestUndoOfTasks(t *testing.T) {
	for _, compacted := range []bool{false, true} {
		dir := t.TempDir()
		p := &program{in: strings.NewReader(""), out: io.Discard, err: io.Discard, env: []string{"HOME=" + t.TempDir()}, dir: dir}
		var f agentFlags
		cmd := &cobra.Command{Use: "chat"}
		addAgentFlags(cmd.Flags(), &f)
		if err := cmd.Flags().Parse([]string{"--model", "scripted", "--tasks", "--write-without-asking"}); err != nil {
			t.Fatal(err)
		}
		h, err := (&command{program: p, cmd: cmd}).openAgent(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		ses, err := session.Create(t.Context(), h.Store, session.Opening{Dir: dir}, session.Title("tasks"))
		if err != nil {
			t.Fatal(err)
		}
		id := ses.ID()
		if compacted {
			if ses, err = ses.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		talk, err := h.Agent.Resume(t.Context(), ses.ID())
		if err != nil {
			t.Fatal(err)
		}
		given := session.Opening{Dir: dir, From: session.Link{Session: ses.ID(), Seq: 1, Relation: session.Started}}
		if compacted {
			given.From.Session = id
		}
		task, err := session.Create(t.Context(), h.Store, given)
		if err != nil {
			t.Fatal(err)
		}
		sub, err := h.Agent.Tasks.Resume(t.Context(), task.ID())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sub.Run(t.Context(), said("write"), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := talk.Run(t.Context(), said("change it"), nil); err != nil { // the script finds the file and edits it
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, demo.NotesFile)); err != nil {
			t.Fatal(err)
		}
		told, err := h.UndoSince(t.Context(), talk.State().Info, began)
		if err != nil || !strings.HasPrefix(told, "undone: ") {
			t.Fatalf("compacted %v: %q, %v", compacted, told, err)
		}
		if _, err := os.Stat(filepath.Join(dir, demo.NotesFile)); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("compacted %v: the file that the task made is there: %v (%s)", compacted, err, told)
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
