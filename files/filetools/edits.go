package filetools

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stet-dev/stet/internal/edit"
	"github.com/stet-dev/stet/tool"
)

// Edits of a text, and why one cannot be made.

// applyEdits makes edits. In a text whose lines end in a CR alone, a line feed of an edit means CR.
func applyEdits(text string, edits []edit.Edit) (edit.Result, error) {
	lf := strings.NewReplacer("\r\n", "\n", "\r", "\n")
	var alone []edit.Edit
	for _, e := range edits {
		lfs := edit.Edit{Old: lf.Replace(e.Old), New: lf.Replace(e.New), All: e.All}
		if !crAlone(text) || lfs.Old == lfs.New { // else it changes line ends
			return edit.Apply([]byte(text), edits)
		}
		alone = append(alone, lfs)
	}
	r, err := edit.Apply([]byte(lf.Replace(text)), alone)
	r.Data = bytes.ReplaceAll(r.Data, []byte("\n"), []byte("\r"))
	return r, err
}

// crAlone reports whether the lines of a text end in a CR alone: it has no line feed.
func crAlone(text string) bool { return strings.Contains(text, "\r") && !strings.Contains(text, "\n") }

// reasons are the words for the reasons why an edit cannot be made.
var reasons = map[edit.Reason]string{
	edit.NotFound: "not_found", edit.Ambiguous: "ambiguous", edit.Overlap: "overlap",
	edit.EmptyOld: "empty", edit.NoChange: "no_change",
}

// badEdit words an edit that cannot be made.
func badEdit(err error, edits []edit.Edit) error {
	var e *edit.Error
	if !errors.As(err, &e) {
		return err
	}
	f := fail(tool.InvalidArgument, e.Error())
	for i, earlier := range slices.Backward(edits[:e.Edit]) {
		if e.Reason == edit.NotFound && strings.Contains(earlier.New, edits[e.Edit].Old) {
			f.message = fmt.Sprintf("edit %d: the old text is not in the file. The new text of edit %d has it, but every edit is made in the file as it is "+
				"before the call: make one edit of the two", e.Edit+1, i+1)
			break
		}
	}
	f.data = map[string]any{"edit": e.Edit + 1, "reason": reasons[e.Reason]}
	if len(e.Lines) > 0 {
		f.data["lines"] = e.Lines
	}
	return f
}
