package approval

import (
	"strings"
	"testing"

	"github.com/stet-dev/stet/tool"
)

// A question has everything that a person must know, also for several files.
func TestSeveralFiles(t *testing.T) {
	q := Question{
		Write: true, Path: "dir", Size: 9, Notes: []tool.Note{tool.Control, tool.Large}, Tool: "undo", Again: 1,
		Files: []File{{Path: "dir/a", After: "h"}, {Path: "dir/b", Before: "h"}, {Path: "dir/c x", Before: "h", After: "i", Size: 20 << 10}},
	}
	q.Complete()
	var does []string
	for _, f := range q.Files {
		does = append(does, f.Does())
	}
	if got := strings.Join(does, "; "); got != `write dir/a (0 bytes), a new file; remove dir/b; write "dir/c x" (20 KB)` {
		t.Error(got)
	}
	if len(q.Warnings) != 3 || !q.Partial() || q.Editable || q.Title() != "undo wants to change 3 files below dir (9 bytes)" {
		t.Errorf("%s: %+v", q.Title(), q)
	}
	none := Question{Path: "a", Content: []byte("\xff"), Editable: true, Tool: "read_file"}
	if none.Complete(); none.Editable || none.Action != Read || none.Title() != "read_file wants to read a" {
		t.Errorf("what is no text can be edited: %+v", none)
	}
	outside := Question{ID: "o", Tool: "deploy", Write: true, Notes: []tool.Note{tool.Outside}, Diff: tool.ParseDiff("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n")}
	if outside.Complete(); outside.Action != Run || outside.Added != 0 || len(outside.Warnings) != 1 || outside.Title() != "deploy wants to be called" || outside.Subject() != "deploy" {
		t.Errorf("the arguments of a tool that is not ours are no difference: %+v", outside)
	}
}

// What a queue shows follows from the question alone, whoever asks it. A text without a diff is shown as new lines.
func TestShown(t *testing.T) {
	var q Queue
	sub := q.Subscribe()
	defer sub.Close()
	for _, asked := range []Question{
		{Path: "a", Write: true, Content: []byte("x\ny"), Added: 100, Action: Read, Warnings: []string{"nothing to see"}, Files: []File{{Path: "b", Action: Remove}}},
	} {
		done := make(chan error)
		go func() {
			_, err := q.Ask(t.Context(), asked)
			done <- err
		}()
		e, err := sub.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := e.Opened
		if got.Added != 2 || got.Removed != 0 || got.Action != Create || len(got.Warnings) != 0 || got.Files[0].Action != Create || len(got.Diff.Files) != 1 {
			t.Errorf("%+v", got)
		}
		if asked.Files[0].Action != Remove {
			t.Error("the caller's question was changed")
		}
		if err := q.Answer(got.ID, Answer{Verdict: Reject}); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
