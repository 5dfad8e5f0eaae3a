package dialect

import "strings"

// rootPhrases are how agents tell the model where they work: Codex and its
// kin in an element of its own, the others in a line of their system prompt.
var rootPhrases = []string{"<cwd>", "working directory: ", "working in the directory: "}

// Root returns the working directory that a system prompt or an agent's first
// message names, as it names it; "" where it names none. Only absolute paths
// count.
func Root(text string) string {
	for _, phrase := range rootPhrases {
		rest := text
		for {
			i := indexFold(rest, phrase)
			if i < 0 {
				break
			}
			rest = rest[i+len(phrase):]
			if dir := rootAt(rest); dir != "" {
				return dir
			}
		}
	}
	return ""
}

// rootAt returns the absolute path at the beginning of s.
func rootAt(s string) string {
	if i := strings.IndexAny(s, "\r\n<"); i >= 0 {
		s = s[:i]
	}
	s = strings.Trim(s, " \t`'\"")
	drive := len(s) > 2 && s[1] == ':' && (s[2] == '\\' || s[2] == '/')
	if !drive && !strings.HasPrefix(s, "/") || len(s) > 1024 {
		return ""
	}
	return strings.Clone(s)
}

// indexFold is strings.Index without regard to the case of ASCII letters.
// phrase is in lower case.
func indexFold(s, phrase string) int {
	for at := 0; ; {
		i := strings.IndexByte(s[at:], phrase[len(phrase)-2]) // ':' or the last letter of an element
		if i < 0 {
			return -1
		}
		begin := at + i - (len(phrase) - 2)
		if begin >= 0 && begin+len(phrase) <= len(s) && strings.EqualFold(s[begin:begin+len(phrase)], phrase) {
			return begin
		}
		at += i + 1
	}
}
