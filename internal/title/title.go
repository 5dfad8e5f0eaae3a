// Package title makes the title of a session from what a person said first.
package title

import (
	"regexp"
	"strings"
)

// longest is the number of characters of a title.
const longest = 80

// context lists the tags of text that agents put before a person's words, or in place of them.
// What stands between such a tag and its end is left out.
var context = map[string]bool{
	"system-reminder": true, "environment_context": true, "environment_details": true, "user_instructions": true,
	"user_info": true, "instructions": true, "recommended_plugins": true, "skill-context": true, "skills_instructions": true,
	"permissions": true, "collaboration_mode": true, "turn_aborted": true, "current_datetime": true, "uploaded_files": true,
	"local-command-caveat": true, "local-command-stdout": true, "local-command-stderr": true, "bash-stdout": true, "bash-stderr": true,
	"command-name": true, "command-message": true, "command-args": true, "command-contents": true,
	"extremely_important": true, "ide_opened_file": true, "ide_selection": true, "ide_diagnostics": true,
}

// openings are how texts begin that a person did not write.
var openings = []string{
	"# AGENTS.md instructions for", "Caveat: The messages below", "[Request interrupted by user",
	"Base directory for this skill: ", "This session is being continued from a previous conversation", "The user opened the file ",
}

// lead are lines before which a tool says what follows.
var lead = []string{"Consider the following PR description:", "I've uploaded a ", "Implement the following plan:"}

var tag = regexp.MustCompile(`^<([A-Za-z][A-Za-z0-9_-]*)(?:\s[^<>]*)?>`)

// Of returns the title that a prompt gives: its first line that a person wrote, cut to
// 80 characters. It is empty where there is none.
func Of(prompt string) string {
	line := firstLine(strings.ToValidUTF8(prompt, "\uFFFD"))
	if r := []rune(line); len(r) > longest {
		line = strings.TrimRight(string(r[:longest-1]), " ") + "…"
	}
	return line
}

func firstLine(text string) string {
	for {
		text = strings.TrimSpace(text)
		for _, o := range openings {
			if strings.HasPrefix(text, o) {
				return ""
			}
		}
		if m := tag.FindStringSubmatch(text); m != nil {
			text = text[len(m[0]):]
			if context[strings.ToLower(m[1])] {
				_, text, _ = strings.Cut(text, "</"+m[1]+">")
			}
			continue
		}
		line, rest, more := strings.Cut(text, "\n")
		if line = strings.Join(strings.Fields(line), " "); !isLead(line) || !more {
			return line
		}
		text = rest
	}
}

func isLead(line string) bool {
	for _, l := range lead {
		if strings.HasPrefix(line, l) {
			return true
		}
	}
	return false
}
