package acp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/stet-dev/stet/internal/diff"
	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/tool"
)

// How a call is shown: its title, its result, and the change that it makes.

// display says how the calls of a tool are shown.
type display struct {
	kind sdk.ToolKind
	verb string // first word of the title
	file bool   // its result contains the text of the file that it names
}

// displays has the known tools. Another tool is shown by its name.
var displays = map[string]display{
	"Read":        {kind: sdk.ToolKindRead, verb: "Read", file: true},
	"read_file":   {kind: sdk.ToolKindRead, verb: "Read", file: true},
	"file_info":   {kind: sdk.ToolKindRead, verb: "Look at"},
	"list_files":  {kind: sdk.ToolKindSearch, verb: "List"},
	"find_files":  {kind: sdk.ToolKindSearch, verb: "Find"},
	"search_text": {kind: sdk.ToolKindSearch, verb: "Search for"},
	"write_file":  {kind: sdk.ToolKindEdit, verb: "Write"},
	"edit_file":   {kind: sdk.ToolKindEdit, verb: "Edit"},
	"undo":        {kind: sdk.ToolKindEdit, verb: "Undo"},
}

func displayOf(tool string) display {
	if d, ok := displays[tool]; ok {
		return d
	}
	return display{kind: sdk.ToolKindOther, verb: plain(tool)}
}

// arguments are the arguments of a call that are shown. An argument of another type is not shown.
type arguments struct {
	Path      string `json:"path"`
	Pattern   string `json:"pattern"`
	Content   string `json:"content"`
	StartLine int    `json:"start_line"`
	Edits     []struct {
		Old string `json:"old_text"`
		New string `json:"new_text"`
	} `json:"edits"`
}

func argumentsOf(args string) arguments {
	var a arguments
	_ = json.Unmarshal([]byte(args), &a) // if one argument has another type, the others are still decoded
	return a
}

// title returns one line that says what a call does.
func title(call llm.Part, a arguments) string {
	about := a.Path
	switch {
	case a.Pattern != "":
		about = strconv.Quote(a.Pattern)
		if a.Path != "" && a.Path != "." {
			about += " in " + a.Path
		}
	case a.StartLine > 1:
		about += fmt.Sprintf(":%d", a.StartLine)
	}
	return strings.TrimSpace(displayOf(call.Name).verb + " " + plain(about))
}

// locations returns the file that a call is about.
func locations(s *session, a arguments) []sdk.ToolCallLocation {
	if a.Path == "" {
		return nil
	}
	at := sdk.ToolCallLocation{Path: s.absolute(a.Path)}
	if a.StartLine > 0 {
		at.Line = &a.StartLine
	}
	return []sdk.ToolCallLocation{at}
}

// proposed returns the changes that the arguments of an edit describe.
func proposed(s *session, a arguments) []sdk.ToolCallContent {
	var out []sdk.ToolCallContent
	for _, e := range a.Edits {
		out = append(out, sdk.ToolDiffContent(s.absolute(a.Path), e.New, e.Old))
	}
	return out
}

// outcome is the part of a call's result that is shown.
type outcome struct {
	Content *string         `json:"content"`
	Text    string          `json:"text"`
	Error   json.RawMessage `json:"error"`
	Data    struct {
		Path    string  `json:"path"`
		Content *string `json:"content"`
		Diff    any     `json:"diff"` // of an edit: its diff; of a read: whether the content is a diff
		Created bool    `json:"created"`
	} `json:"data"`
}

// maxShown is the maximum length of a result that is shown as text, in bytes.
const maxShown = 16 << 10

// resultContent returns the result of a call for the person: the change that it made, or its text. It returns nil if the
// arguments, which are shown already, contain the result.
func resultContent(s *session, a arguments, text string, failed bool) []sdk.ToolCallContent {
	var o outcome
	if json.Unmarshal([]byte(text), &o) != nil && o.Content == nil && o.Error == nil {
		return words(text)
	}
	if failed {
		return words(cmp.Or(tool.Complaint(text), o.Text, text))
	}
	if diff, ok := o.Data.Diff.(string); ok && diff != "" {
		return diffContent(s.absolute(o.Data.Path), tool.ParseDiff(diff))
	}
	switch {
	case o.Data.Created && a.Content != "":
		return []sdk.ToolCallContent{sdk.ToolDiffContent(s.absolute(o.Data.Path), a.Content)}
	case o.Content != nil:
		return words(*o.Content)
	case o.Data.Content != nil:
		return words(*o.Data.Content)
	case a.Content != "":
		return nil
	}
	return words(text)
}

// words returns text as content. A long text is cut.
func words(text string) []sdk.ToolCallContent {
	if text == "" {
		return nil
	}
	if len(text) > maxShown {
		text = limits.Clip(text, maxShown) + "\n…"
	}
	return []sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock(fenced("", text)))}
}

// plain returns s on one line, shortened, and with an escape in place of every character that could deceive a reader.
func plain(s string) string {
	var b strings.Builder
	for n, c := range s {
		switch {
		case n > 200:
			return b.String() + "…"
		case strconv.IsPrint(c):
			b.WriteRune(c)
		case c == '\n' || c == '\t' || c == '\r':
			b.WriteByte(' ')
		default:
			fmt.Fprintf(&b, "<U+%04X>", c)
		}
	}
	return b.String()
}

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
