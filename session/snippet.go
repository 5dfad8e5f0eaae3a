package session

import (
	"strings"
	"unicode/utf8"

	"github.com/stet-dev/stet/llm"
)

// around is how many bytes a snippet shows before and after a word.
const around = 60

// Snippet returns a line of the event's text with one of the words, to show to people what was found.
func (h Hit) Snippet(words []string) string {
	for _, text := range h.Event.texts() {
		lower := Folded(text)
		if len(lower) != len(text) {
			text = lower // lower case changed the length, so offsets would differ
		}
		for _, w := range words {
			if i := strings.Index(lower, Folded(w)); i >= 0 {
				return cut(text, i-around, i+len(w)+around)
			}
		}
	}
	return ""
}

// cut returns the bytes from to to of s, limited to the length of s, on one line. Dots mark omitted text.
func cut(s string, from, to int) string {
	before, after := "", ""
	if from > 0 {
		before = "…"
		for from < len(s) && !utf8.RuneStart(s[from]) {
			from++
		}
	}
	if to < len(s) {
		after = "…"
		for to > 0 && !utf8.RuneStart(s[to]) {
			to--
		}
	}
	from, to = max(from, 0), min(to, len(s))
	return before + strings.Join(strings.Fields(plain(s[from:max(from, to)])), " ") + after
}

// texts returns the texts of an event that a search looks at.
func (e Event) texts() []string {
	switch body := e.Body.(type) {
	case Title:
		return []string{string(body)}
	case Message:
		var out []string
		for _, p := range body.Parts {
			switch p.Kind {
			case llm.Text:
				out = append(out, p.Text)
			case llm.ToolCall:
				out = append(out, p.Name, p.Args)
			case llm.ToolResult:
				out = append(out, p.Text[:min(len(p.Text), resultText)])
			}
		}
		return out
	}
	return nil
}
