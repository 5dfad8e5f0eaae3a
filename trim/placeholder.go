package trim

import (
	"fmt"
	"strings"

	"github.com/stet-dev/stet/trim/dialect"
)

// mark begins every placeholder but the caller's own and the Chinese one of
// keep-latest.
const mark = "[stet: "

// The placeholders with a fixed text. The first four stand in the arguments of a
// call, "planPlaceholder" also for its result.
const (
	replacedPlaceholder = mark + "left out: the text that this edit replaced.]"
	writtenPlaceholder  = mark + "left out: what was written. Read the file if needed.]"
	toldPlaceholder     = mark + "left out: what an older call was told.]"
	unfitPlaceholder    = mark + "result left out to fit the window. Call again if needed.]"
)

// opening stands in front of a conversation that does not begin with a user's
// message, which no provider accepts.
const opening = mark + "the conversation begins with the assistant's own words.]"

// olderZH is the source document's own wording (TRIM-11).
const olderZH = "[该文件的历史读取内容已压缩,请参看最新读取结果]"

// isPlaceholder reports whether a text is a placeholder and nothing else.
func isPlaceholder(text string) bool {
	return strings.HasPrefix(text, mark) && !strings.Contains(text, "\n")
}

// repeatedLine is the placeholder of a line that follows itself, so that it stands n
// times in all.
func repeatedLine(n int) string { return fmt.Sprintf("%sthe line above, %d times in all]", mark, n) }

// wording writes the placeholders that depend on the configuration.
type wording struct {
	language string
	custom   string // for older
}

// older is the placeholder of reads that newer reads of the files follow. lines is ""
// where all of a file was shown, or no range is known.
func (w wording) older(paths []string, lines string, dir bool) string {
	name := plain(strings.Join(paths, ", "), 200)
	switch {
	case w.custom != "":
		return plain(strings.NewReplacer("{path}", name, "{lines}", lines).Replace(w.custom), 1000)
	case w.language == "zh":
		return olderZH
	case dir:
		return mark + name + ": an older listing, left out; newer ones of this directory follow. List it again if needed.]"
	case len(paths) > 1:
		return mark + name + ": older reads, left out; newer reads of these files follow. Read them again if needed.]"
	case lines == "":
		return mark + name + ": an older read, left out; newer reads of this file follow. Read it again if needed.]"
	default:
		return mark + name + " lines " + lines + ": an older read, left out; newer reads of this file follow. Read these lines again if needed.]"
	}
}

// command is the placeholder of the output of an old command. It does not say of a command that may
// change something that it can be run again.
func (w wording) command(a *dialect.Action) string {
	again, zh := " Run it again if needed.]", " 如有需要请重新运行。]"
	if !a.Repeatable() {
		again, zh = " Run again, it may change something, or print something else.]", " 再次运行可能会更改内容，或输出不同的结果。]"
	}
	if w.language == "zh" {
		return mark + "较早的命令输出已省略: " + plain(a.Command, 80) + zh
	}
	return mark + "output of an older command left out: " + plain(a.Command, 80) + again
}

// output is the placeholder of what an old command, search or the like printed.
func (w wording) output(a *dialect.Action) string {
	if a.Op == dialect.Shell {
		return w.command(a)
	}
	again := " Call it again if needed.]"
	if a.Op == dialect.Agent {
		again = " Called again, it does all of its work again, and may change something.]"
	}
	return mark + "an older result, left out: " + plain(a.Command, 160) + again
}

// idlePlaceholder is the placeholder of an old read of files that were not touched
// for long.
func idlePlaceholder(paths []string) string {
	return mark + plain(strings.Join(paths, ", "), 200) + ": an older read, left out. Read it again if needed.]"
}

// plain makes s fit to stand in a placeholder: control characters and quotes are
// replaced, backslashes become slashes, and what is over max bytes is cut.
func plain(s string, max int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r < 0x20 || r == 0x7f || r == 0x2028 || r == 0x2029:
			return ' '
		case r == '"':
			return '\''
		case r == '\\':
			return '/'
		}
		return r
	}, s)
	if len(s) > max {
		s = strings.ToValidUTF8(s[:max], "") + "…"
	}
	return s
}
