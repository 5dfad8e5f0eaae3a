package session

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/stet-dev/stet/llm"
)

// WriteMarkdown writes the current conversation as Markdown for people. The heading of each message has its event number, which a
// rewind can name. Control characters are shown as U+FFFD.
func WriteMarkdown(w io.Writer, s State) error {
	m := markdown{bufio.NewWriter(w)}
	m.head(s)
	decided := 0
	before := func(seq uint64) {
		for ; decided < len(s.Decided) && s.Decided[decided] < seq; decided++ {
			m.approval(s.Decided[decided], s.Approvals[decided])
		}
	}
	for i, message := range s.Messages {
		before(s.Marks[i])
		m.message(s.Marks[i], message)
	}
	before(s.Last + 1)
	return m.Flush()
}

// markdown keeps the first error of its writer until Flush.
type markdown struct{ *bufio.Writer }

func (m markdown) printf(format string, args ...any) { _, _ = fmt.Fprintf(m, format, args...) }

func (m markdown) head(s State) {
	title := cmp.Or(s.Title, s.First)
	if title = oneLine(plain(title), firstWords); title == "" {
		title = "Session " + s.ID
	}
	m.printf("# %s\n\n", title)
	line := func(name, value string) {
		if value != "" {
			m.printf("- %s: %s\n", name, oneLine(plain(value), 4096))
		}
	}
	line("session", s.ID)
	line("directory", s.Dir)
	line("model", s.Model)
	line("begun", s.Created.Format(time.RFC3339))
	line("last used", s.Updated.Format(time.RFC3339))
	if s.From.Session != "" {
		line(string(s.From.Relation)+" from", fmt.Sprintf("%s, event %d", s.From.Session, s.From.Seq))
	}
	line("imported from", s.Source)
	line("goes on in", s.Next)
	if u := s.Spent; !u.IsZero() {
		m.printf("- tokens: %d read (%d from cache), %d written\n", u.Prompt(), u.CacheRead, u.Output)
	}
	for _, d := range s.Damaged {
		line("damaged", d.String())
	}
}

// speakers maps roles to the names in headings.
var speakers = map[llm.Role]string{llm.System: "System", llm.User: "User", llm.Assistant: "Assistant", llm.Tool: "Tool results"}

func (m markdown) message(seq uint64, message llm.Message) {
	who := speakers[message.Role]
	if who == "" {
		who = oneLine(plain(string(message.Role)), firstWords)
	}
	if message.Local {
		who = "Note"
	}
	m.printf("\n## %s (%d)\n", who, seq)
	for _, p := range message.Parts {
		switch p.Kind {
		case llm.Text:
			m.printf("\n%s\n", strings.TrimSuffix(plain(p.Text), "\n"))
		case llm.Thinking:
			if p.Text != "" {
				m.printf("\n> %s\n", strings.ReplaceAll(strings.TrimSuffix(plain(p.Text), "\n"), "\n", "\n> "))
			}
		case llm.ToolCall:
			m.printf("\nCall `%s` of %s:\n", oneLine(plain(p.CallID), firstWords), oneLine(plain(p.Name), firstWords))
			m.fenced(p.Args)
		case llm.ToolResult:
			failed := ""
			if p.IsError {
				failed = ", an error"
			}
			m.printf("\nResult of `%s`%s:\n", oneLine(plain(p.CallID), firstWords), failed)
			m.fenced(p.Text)
		default:
			m.printf("\n(%d bytes that are not text)\n", len(p.Raw))
		}
	}
}

// approval writes the decision on a call.
func (m markdown) approval(seq uint64, a Approval) {
	line := func(s string) string { return oneLine(plain(s), 4096) }
	m.printf("\n## Decision (%d)\n\n%s: %s", seq, line(a.Decision), line(a.Tool))
	if a.Path != "" {
		m.printf(" of `%s`", line(a.Path))
	}
	m.printf(", call `%s`", line(a.CallID))
	if a.By != "" {
		m.printf(", by %s", line(a.By))
	}
	if a.Grant != "" {
		m.printf(", and from then on for `%s`", line(a.Grant))
	}
	m.printf("\n")
	if a.Words != "" {
		m.printf("\n> %s\n", strings.ReplaceAll(strings.TrimSuffix(plain(a.Words), "\n"), "\n", "\n> "))
	}
}

// fenced writes a code block. Its fence is longer than any fence in the text.
func (m markdown) fenced(text string) {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	m.printf("\n%s\n%s\n%s\n", fence, strings.TrimSuffix(plain(text), "\n"), fence)
}

// plain returns s in a form that a terminal can show: UTF-8 without control characters except line breaks and tabs.
func plain(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			return '\uFFFD'
		}
		return r
	}, s)
}
