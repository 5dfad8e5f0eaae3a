// Package title makes the title of a session from a person's first prompt.
package title

import (
	"regexp"
	"strings"
)

// longest is the limit of a title, in characters.
const longest = 80

// context lists the tags of text that agents put before a person's words, or instead of them. Text inside such a tag is left out.
var context = map[string]bool{
	"system-reminder": true, "environment_context": true, "environment_details": true, "user_instructions": true,
	"user_info": true, "instructions": true, "recommended_plugins": true, "skill-context": true, "skills_instructions": true,
	"permissions": true, "collaboration_mode": true, "turn_aborted": true, "current_datetime": true, "uploaded_files": true,
	"local-command-caveat": true, "local-command-stdout": true, "local-command-stderr": true, "bash-stdout": true, "bash-stderr": true,
	"command-name": true, "command-message": true, "command-args": true, "command-contents": true,
	"extremely_important": true, "ide_opened_file": true, "ide_selection": true, "ide_diagnostics": true,
}

// openings are beginnings of texts that a person did not write.
var openings = []string{
	"# AGENTS.md instructions for", "Caveat: The messages below", "[Request interrupted by user",
	"Base directory for this skill: ", "This session is being continued from a previous conversation", "The user opened the file ",
}

// lead has lines that a tool puts before the task.
var lead = []string{"Consider the following PR description:", "I've uploaded a ", "Implement the following plan:"}

// slashCommand matches the form in which an agent writes a person's command, such as /review.
var slashCommand = regexp.MustCompile(`<command-name>(/[^<]+)</command-name>(?:\s*<command-args>([^<]*)</command-args>)?`)

// housekeeping are commands that say nothing about the work.
var housekeeping = map[string]bool{
	"/clear": true, "/compact": true, "/config": true, "/context": true, "/exit": true, "/help": true, "/login": true, "/logout": true,
	"/effort": true, "/mcp": true, "/mode": true, "/model": true, "/plugin": true, "/resume": true, "/status": true,
}

// names are lists of tools' names, which an agent adds when it searches for tools.
var names = regexp.MustCompile(`^[A-Z][A-Za-z]+(\n[A-Z][A-Za-z]+)*$`)

var tag = regexp.MustCompile(`^<([A-Za-z][A-Za-z0-9_-]*)(?:\s[^<>]*)?>`)

// Of returns the title from a prompt: its first line that a person wrote, cut to 80 characters; "" if there is none.
func Of(prompt string) string {
	line := firstLine(strings.ToValidUTF8(prompt, "\uFFFD"))
	if r := []rune(line); len(r) > longest {
		line = strings.TrimRight(string(r[:longest-1]), " ") + "…"
	}
	return line
}

func firstLine(text string) string {
	if m := slashCommand.FindStringSubmatch(text); m != nil && !housekeeping[m[1]] {
		return strings.Join(strings.Fields(m[1]+" "+m[2]), " ")
	}
	for {
		text = strings.TrimSpace(text)
		if names.MatchString(text) && strings.ContainsAny(text[1:], "ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
			return ""
		}
		for _, o := range openings {
			if strings.HasPrefix(text, o) {
				return ""
			}
		}
		if m := tag.FindStringSubmatch(text); m != nil {
			text = text[len(m[0]):]
			inside, after, closed := strings.Cut(text, "</"+m[1]+">")
			if context[strings.ToLower(m[1])] || closed && !strings.Contains(inside, "\n") { // a field, not a person's text
				text = after
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
