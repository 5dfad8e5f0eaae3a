package dialect

import "strings"

// PrintsFiles reports whether what a Shell printed may be text of files:
// its command line runs cat, sed and the like, or git to show a version or a
// difference, or the output looks like a difference. It is a guess on the safe
// side, made of words.
func (a *Action) PrintsFiles(output string) bool {
	if strings.Contains(output, "\n@@ -") || strings.HasPrefix(output, "diff ") {
		return true
	}
	for step := range strings.FieldsFuncSeq(a.Command, func(r rune) bool { return strings.ContainsRune(";&\n()`", r) }) {
		first, _, _ := strings.Cut(step, "|") // what is behind the bar filters
		words := strings.Fields(first)
		for len(words) > 0 && (strings.Contains(words[0], "=") || prefixes[words[0]]) {
			words = words[1:]
		}
		switch {
		case len(words) < 2:
		case printers[words[0]]:
			return true
		case words[0] == "git" && (strings.Contains(first, " show") || strings.Contains(first, " diff") || strings.Contains(first, " -p")):
			return true
		}
	}
	return false
}

// printers are commands that print files.
var printers = map[string]bool{
	"cat": true, "sed": true, "head": true, "tail": true, "nl": true, "bat": true, "less": true, "more": true, "awk": true, "tac": true,
}

// prefixes are words before a command.
var prefixes = map[string]bool{
	"sudo": true, "do": true, "then": true, "else": true, "time": true, "command": true, "for": true, "if": true, "$": true,
}
