package acp

import (
	"strconv"
	"strings"

	sdk "github.com/coder/acp-go-sdk"
)

// hunk is a place in a file where something changes, with its context.
type hunk struct {
	line          int // in the new text, from 1
	before, after string
}

// hunks reads a unified diff of one file. It is not ok where the text is none:
// nothing of it may then be shown as if it were all.
func hunks(unified string) (out []hunk, ok bool) {
	lines := strings.SplitAfter(unified, "\n")
	if len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	if len(lines) < 3 || !strings.HasPrefix(lines[0], "--- ") || !strings.HasPrefix(lines[1], "+++ ") {
		return nil, false
	}
	for lines = lines[2:]; len(lines) > 0; {
		h, rest, ok := oneHunk(lines)
		if !ok {
			return nil, false
		}
		out, lines = append(out, h), rest
	}
	return out, true
}

// oneHunk reads the hunk that lines begin with. Its header says how long it is,
// since a removed line may look like the next header.
func oneHunk(lines []string) (h hunk, rest []string, ok bool) {
	olds, news, ok := spans(lines[0])
	if !ok {
		return h, nil, false
	}
	h.line = max(news.start, 1)
	var before, after strings.Builder
	lines = lines[1:]
	for olds.lines > 0 || news.lines > 0 {
		if len(lines) == 0 || lines[0] == "" {
			return h, nil, false
		}
		kind, text := lines[0][0], lines[0][1:]
		lines = lines[1:]
		if len(lines) > 0 && strings.HasPrefix(lines[0], `\`) { // no line end
			text, lines = strings.TrimSuffix(text, "\n"), lines[1:]
		}
		if kind != '+' {
			before.WriteString(text)
			olds.lines--
		}
		if kind != '-' {
			after.WriteString(text)
			news.lines--
		}
		if kind != ' ' && kind != '+' && kind != '-' || olds.lines < 0 || news.lines < 0 {
			return h, nil, false
		}
	}
	h.before, h.after = before.String(), after.String()
	return h, lines, true
}

// span is where a side of a hunk stands.
type span struct{ start, lines int }

// spans reads "@@ -1,2 +3,4 @@".
func spans(header string) (olds, news span, ok bool) {
	header, ok = strings.CutPrefix(header, "@@ -")
	if !ok {
		return
	}
	header, _, ok = strings.Cut(header, " @@")
	before, after, both := strings.Cut(header, " +")
	if !ok || !both {
		return olds, news, false
	}
	olds, ok = oneSpan(before)
	if ok {
		news, ok = oneSpan(after)
	}
	return olds, news, ok
}

func oneSpan(s string) (span, bool) {
	start, lines, several := strings.Cut(s, ",")
	if !several {
		lines = "1"
	}
	n, err := strconv.Atoi(start)
	m, err2 := strconv.Atoi(lines)
	return span{n, m}, err == nil && err2 == nil && n >= 0 && m >= 0
}

// diffContent is a unified diff as editors show one. Where it is of several
// files, or cut, it is shown as it is.
func diffContent(path, unified string, created bool) []sdk.ToolCallContent {
	all, ok := hunks(unified)
	if !ok {
		return []sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock(fenced("diff", unified)))}
	}
	var out []sdk.ToolCallContent
	for _, h := range all {
		if created {
			out = append(out, sdk.ToolDiffContent(path, h.after))
		} else {
			out = append(out, sdk.ToolDiffContent(path, h.after, h.before))
		}
	}
	return out
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
