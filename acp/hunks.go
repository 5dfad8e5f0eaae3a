package acp

import (
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/stet-dev/stet/internal/diff"
	"github.com/stet-dev/stet/tool"
)

// diffContent is a change as editors show one: each hunk as the text before and
// the text after it. A change of several files, or one that is known as text
// only, is shown as that text.
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

// sides is the text of a hunk before and after the change.
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

// fenced is text as a block of Markdown, which it cannot end.
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
