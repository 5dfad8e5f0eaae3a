package acp

import (
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/stet-dev/stet/internal/diff"
	"github.com/stet-dev/stet/tool"
)

// diffContent returns a change in the form that editors show: for each hunk the text before and after it. A change of several
// files is shown as the text of its diff, and so is a change that is only known as text.
func diffContent(path string, d tool.Diff) []sdk.ToolCallContent {
	if len(d.Files) != 1 {
		return []sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock(fenced("diff", d.Text())))}
	}
	var out []sdk.ToolCallContent
	for _, h := range d.Files[0].Hunks {
		before, after := sides(h)
		if d.Files[0].Created {
			out = append(out, sdk.ToolDiffContent(path, after))
		} else {
			out = append(out, sdk.ToolDiffContent(path, after, before))
		}
	}
	return out
}

// sides returns the text of a hunk before and after the change.
func sides(h tool.Hunk) (before, after string) {
	var old, new strings.Builder
	for _, line := range h.Lines {
		if line.Kind != diff.Added {
			old.WriteString(line.Text)
		}
		if line.Kind != diff.Removed {
			new.WriteString(line.Text)
		}
	}
	return old.String(), new.String()
}

// fenced returns text as a code block of Markdown. The fence is longer than any in the text.
func fenced(language, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return fence + language + "\n" + text + fence
}
