package llm

// The title of a conversation, from a person's first prompt.

import (
	"regexp"
	"strings"
)

// longestTitle is the limit of a title, in characters.
const longestTitle = 80

// contextTags lists the tags of text that agents put before a person's words, or instead of them. Text inside such a tag is left out.
var contextTags = map[string]bool{
	"system-reminder": true, "environment_context": true, "environment_details": true, "user_instructions": true,
	"user_info": true, "instructions": true, "recommended_plugins": true, "skill-context": true, "skills_instructions": true,
	"permissions": true, "collaboration_mode": true, "turn_aborted": true, "current_datetime": true, "uploaded_files": true,
	"local-command-caveat": true, "local-command-stdout": true, "local-command-stderr": true, "bash-stdout": true, "bash-stderr": true,
	"command-name": true, "command-message": true, "command-args": true, "command-contents": true,
	"extremely_important": true, "ide_opened_file": true, "ide_selection": true, "ide_diagnostics": true,
}

// notPrompts are beginnings of texts that a person did not write.
var notPrompts = []string{
	"# AGENTS.md instructions for", "Caveat: The messages below", "[Request interrupted by user",
	"Base directory for this skill: ", "This session is being continued from a previous conversation", "The user opened the file ",
}

// leadLines has lines that a tool puts before the task.
var leadLines = []string{"Consider the following PR description:", "I've uploaded a ", "Implement the following plan:"}

// slashCommand matches the form in which an agent writes a person's command, such as /review.
var slashCommand = regexp.MustCompile(`<command-name>(/[^<]+)</command-name>(?:\s*<command-args>([^<]*)</command-args>)?`)

// housekeeping are commands that say nothing about the work.
var housekeeping = map[string]bool{
	"/clear": true, "/compact": true, "/config": true, "/context": true, "/exit": true, "/help": true, "/login": true, "/logout": true,
	"/effort": true, "/mcp": true, "/mode": true, "/model": true, "/plugin": true, "/resume": true, "/status": true,
}

// toolNames are lists of tools' names, which an agent adds when it searches for tools.
var toolNames = regexp.MustCompile(`^[A-Z][A-Za-z]+(\n[A-Z][A-Za-z]+)*$`)

var openingTag = regexp.MustCompile(`^<([A-Za-z][A-Za-z0-9_-]*)(?:\s[^<>]*)?>`)

// Title returns the title of a conversation from a prompt: its first line that a person wrote, cut to 80 characters; "" if there is none.
func Title(prompt string) string {
	line := promptLine(strings.ToValidUTF8(prompt, "\uFFFD"))
	if r := []rune(line); len(r) > longestTitle {
		line = strings.TrimRight(string(r[:longestTitle-1]), " ") + "…"
	}
	return line
}

func promptLine(text string) string {
	if m := slashCommand.FindStringSubmatch(text); m != nil && !housekeeping[m[1]] {
		return strings.Join(strings.Fields(m[1]+" "+m[2]), " ")
	}
	for {
		text = strings.TrimSpace(text)
		if toolNames.MatchString(text) && strings.ContainsAny(text[1:], "ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
			return ""
		}
		for _, o := range notPrompts {
			if strings.HasPrefix(text, o) {
				return ""
			}
		}
		if m := openingTag.FindStringSubmatch(text); m != nil {
			text = text[len(m[0]):]
			inside, after, closed := strings.Cut(text, "</"+m[1]+">")
			if contextTags[strings.ToLower(m[1])] || closed && !strings.Contains(inside, "\n") { // a field, not a person's text
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
	for _, l := range leadLines {
		if strings.HasPrefix(line, l) {
			return true
		}
	}
	return false
}
