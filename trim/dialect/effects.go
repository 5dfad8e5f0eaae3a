package dialect

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// effects is what a command line may do: change something, or print files.
type effects struct {
	changes bool   // something, perhaps
	quiet   bool   // no command of it prints files
	quotes  bool   // a command of it prints files as they are
	report  Report // what the command line prints, if that is one
	finds   bool   // it prints lines that searches found, and reports
	again   bool   // it can be run again to see what it prints
	persons bool   // a command of it prints what persons wrote
}

// Changes reports whether what a Shell runs may change something: unless every
// command of it only looks.
func (a *Action) Changes() bool { return a.lineEffects().changes }

// MayShowFiles reports whether the result of a Shell, an Output or an Agent may
// hold text of files, from which edits are made. It may unless the call is
// known to show none: every command of its command line is one that prints what
// it did, or it is a search for names or a page of the web. An output with a
// difference in it always may.
func (a *Action) MayShowFiles(output string) bool {
	if strings.Contains(output, "\n@@ -") || strings.HasPrefix(output, "diff ") {
		return true
	}
	switch a.Op {
	case Shell:
		return !a.lineEffects().quiet
	case Output:
		if v, ok := object(a.Command); ok && a.Row == "any/search" {
			mode := v.text("output_mode")
			return mode != "files_with_matches" && mode != "count"
		}
		return a.Row != "any/names" && a.Row != "any/fetch"
	}
	return true
}

// Quotes reports whether the result of a Shell, an Output or an Agent may hold
// whole passages of files, from which edits are made: it has a difference in it, or a
// command of its command line prints files as they are (cat, sed, git show). A search
// prints single lines, and a program what it likes.
func (a *Action) Quotes(output string) bool {
	return strings.Contains(output, "\n@@ -") || strings.HasPrefix(output, "diff ") ||
		a.Op == Shell && a.lineEffects().quotes || a.Op == Output && a.Row == "any/search" && a.asksForContext()
}

// ByPersons reports whether what a Shell runs prints what persons wrote to each other: an issue, or a pull request.
func (a *Action) ByPersons() bool { return a.Op == Shell && a.lineEffects().persons }

var windowsShells = set("powershell powershell.exe pwsh pwsh.exe cmd cmd.exe")

// typesFile reports whether a command prints a file by type or Get-Content, itself or as the command line of a shell of Windows. A shell of
// Unix has type too: it says where a command is. So type counts only if an argument looks like a path.
func typesFile(words []string) bool {
	heads := words[:1]
	if windowsShells[strings.ToLower(words[0])] {
		words = strings.Fields(strings.Join(words[1:], " "))
		heads = words
	}
	for i, head := range heads {
		switch strings.ToLower(strings.TrimLeft(head, `("'{`)) {
		case "get-content", "gc":
			return true
		case "type":
			if slices.ContainsFunc(words[i+1:], func(w string) bool {
				return w == unknown || w[:min(1, len(w))] != "-" && strings.ContainsAny(w, `./\:`)
			}) {
				return true
			}
		}
	}
	return false
}

// byPersons reports whether a command prints what persons wrote to each other.
func byPersons(words []string) bool {
	return len(words) > 2 && (words[0] == "gh" || words[0] == "glab") && words[2] == "view" &&
		slices.Contains([]string{"issue", "pr", "mr"}, words[1])
}

// asksForContext reports whether a search is to print the lines around.
func (a *Action) asksForContext() bool {
	v, _ := object(a.Command)
	for _, name := range []string{"-A", "-B", "-C", "context", "before", "after"} {
		if _, ok := v.get(name); ok {
			return true
		}
	}
	return false
}

// lineEffects are those of the action's command line, which is parsed once.
func (a *Action) lineEffects() effects {
	if a.effects == nil {
		e := effectsOf(a.Command)
		a.effects = &e
	}
	return *a.effects
}

// maxQuiet is how many bytes a command line has at most that is known to print no
// files.
const maxQuiet = 20_000

// effectsOf finds the effects of a command line. One that cannot be parsed may do
// anything.
func effectsOf(command string) effects {
	file, err := parseShell(command)
	if err != nil {
		return effects{changes: true, quotes: true}
	}
	long := len(command) > maxQuiet
	e := effects{quotes: long, quiet: !long && len(file.Stmts) > 0, again: true}
	passages := long // a command of it that is no search prints files
	var report reportOfLine
	syntax.Walk(file, func(n syntax.Node) bool {
		switch x := n.(type) {
		case *syntax.CallExpr:
			if len(x.Args) > 0 {
				words := quietWords(x.Args)
				looks := looking(words)
				e.changes = e.changes || !looks
				e.again = e.again && (looks || repeatable(words))
				e.persons = e.persons || byPersons(words)
				types := typesFile(words)
				e.quiet = e.quiet && quietCall(words) && !types
				if types || quotingCall(words) {
					e.quotes = true
					passages = passages || types || reportOf(words) != Found
				}
				report.add(words)
			}
		case *syntax.Redirect:
			toNull := literal(x.Word) == "/dev/null"
			writes := x.Op != syntax.RdrIn && x.Op != syntax.DplOut && !toNull
			e.changes, e.again = e.changes || writes, e.again && !writes
			reads := (x.Op == syntax.RdrIn || x.Op == syntax.RdrInOut) && !toNull
			e.quiet, e.quotes, passages = e.quiet && !reads, e.quotes || reads, passages || reads
		}
		return !e.changes || e.quiet || !passages || e.again
	})
	e.finds = report.kind == Found && !report.other && !passages
	if !report.other && !e.quotes {
		e.report = report.kind
	}
	return e
}

// unknown stands for a word that is not literal.
const unknown = "\x00"

// quietWords returns the words of a command as quietCall wants them.
func quietWords(args []*syntax.Word) []string {
	words := make([]string, len(args))
	for i, w := range args {
		if words[i] = literal(w); words[i] == "" {
			words[i] = unknown
		}
	}
	if args[0].Lit() == "[" {
		words[0] = "test"
	}
	return words
}

// quietCall reports whether a command prints no file.
func quietCall(words []string) bool {
	name := words[0]
	if i := strings.LastIndexByte(name, '/'); i >= 0 && builders[name[i+1:]] {
		name = name[i+1:] // ./gradlew, .venv/bin/pytest
	}
	if slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "/dev/std") || w == "/dev/tty" }) {
		return false
	}
	if len(words) == 2 && slices.Contains([]string{"--version", "-V", "--help", "-h"}, words[1]) {
		return true
	}
	if rest, ok := inner(name, words[1:]); ok {
		return len(rest) > 0 && quietCall(rest)
	}
	if (name == "rg" || strings.HasSuffix(name, "grep")) && slices.ContainsFunc(words[1:], countsOrNames) {
		return true
	}
	if f, ok := sieves[name]; ok {
		return f.quiet(words[1:])
	}
	if does, ok := subcommands[name]; ok {
		return quietSubcommand(name, words[1:], does)
	}
	switch name {
	case "sh", "bash", "zsh":
		return len(words) == 3 && strings.HasPrefix(words[1], "-") && strings.HasSuffix(words[1], "c") && effectsOf(words[2]).quiet
	case "source", ".":
		return len(words) == 2 && path.Base(words[1]) == "activate"
	case "find":
		return !slices.ContainsFunc(words, func(w string) bool {
			return w == unknown || strings.HasPrefix(w, "-exec") || strings.HasPrefix(w, "-ok")
		})
	case "gofmt", "goimports":
		return slices.Contains(words, "-l") || slices.Contains(words, "-w")
	case "prettier":
		return slices.Contains(words, "--check") || slices.Contains(words, "--write")
	case "curl":
		return !slices.Contains(words, "-") && slices.ContainsFunc(words[1:], func(w string) bool {
			return w == "--head" || w == "--output" || strings.HasPrefix(w, "-") && strings.ContainsAny(w, "IOo") && strings.Trim(w, "-sSfkLIOo") == ""
		})
	}
	return plainCommands[name] || builders[name]
}

// quotingCall reports whether a command prints files as they are.
func quotingCall(words []string) bool {
	name := words[0]
	if rest, ok := inner(name, words[1:]); ok {
		return len(rest) > 0 && quotingCall(rest)
	}
	if slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "/dev/std") }) {
		return true
	}
	if name == "rg" || name == "ag" || strings.HasSuffix(name, "grep") {
		return slices.ContainsFunc(words[1:], withContext)
	}
	if f, ok := sieves[name]; ok {
		return !f.quiet(words[1:])
	}
	switch name {
	case "sh", "bash", "zsh":
		return len(words) == 3 && strings.HasPrefix(words[1], "-") && strings.HasSuffix(words[1], "c") && effectsOf(words[2]).quotes
	case "git":
		if slices.Contains(words, "grep") && slices.ContainsFunc(words, withContext) {
			return true
		}
		return !quietSubcommand(name, words[1:], subcommands[name]+" grep")
	}
	if name == unknown || quoters[name] && !quietCall(words) || interpreters[name] && programGiven(words[1:]) {
		return true
	}
	// Some run a command that they are told: find -exec cat, ssh host cat.
	return !plainCommands[name] && slices.ContainsFunc(words[1:], func(w string) bool { _, ok := sieves[w]; return ok })
}

// programGiven reports whether an interpreter runs a program that stands on the command
// line, or comes from before the bar, and not one of a file.
func programGiven(words []string) bool {
	for _, w := range words {
		switch {
		case strings.HasPrefix(w, "--"):
		case strings.HasPrefix(w, "-"):
			if w == "-" || strings.ContainsAny(w, "cenp") {
				return true
			}
		default:
			return w == unknown
		}
	}
	return true
}

// withContext reports whether an option makes a search print the lines around.
func withContext(option string) bool {
	return strings.HasPrefix(option, "--context") || strings.HasPrefix(option, "--after") || strings.HasPrefix(option, "--before") ||
		strings.HasPrefix(option, "-") && !strings.HasPrefix(option, "--") && strings.ContainsAny(option, "ABC")
}

// inner returns the command that a command runs, if it is one that runs
// another and prints nothing itself.
func inner(name string, words []string) ([]string, bool) {
	switch name {
	case "sudo", "time", "command", "exec", "nohup", "builtin", "npx", "bunx", "uvx":
		for len(words) > 0 && (words[0] == "-y" || words[0] == "--yes" || words[0] == "-p") {
			words = words[1:]
		}
		if name == "command" && len(words) > 0 && words[0] == "-v" {
			return []string{"which"}, true
		}
	case "env":
		for len(words) > 0 && strings.Contains(words[0], "=") {
			words = words[1:]
		}
	case "timeout":
		for len(words) > 0 && strings.HasPrefix(words[0], "-") {
			if words[0] == "-k" || words[0] == "-s" {
				words = words[min(1, len(words)-1):]
			}
			words = words[1:]
		}
		words = words[min(1, len(words)):]
	case "uv", "poetry", "pipenv", "pdm", "bundle":
		if len(words) == 0 || words[0] != "run" && words[0] != "exec" {
			return nil, false
		}
		words = words[1:]
	case "python", "python3":
		if len(words) < 2 || words[0] != "-m" {
			return nil, false
		}
		words = words[1:]
	case "xargs":
		for len(words) > 0 && (words[0] == "-0" || words[0] == "-r") {
			words = words[1:]
		}
		if len(words) > 0 {
			words = append(slices.Clone(words), unknown, unknown)
		}
	default:
		return nil, false
	}
	return words, true
}

// quietSubcommand reports whether a command prints no file where its first
// word that is no option is one of those in does.
func quietSubcommand(name string, words []string, does string) bool {
	for len(words) > 0 && strings.HasPrefix(words[0], "-") {
		if (words[0] == "-C" || words[0] == "-c" || words[0] == "--prefix") && len(words) > 1 {
			words = words[1:]
		}
		words = words[1:]
	}
	if len(words) == 0 {
		return name == "yarn"
	}
	has := func(options ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(options, w) })
	}
	if name == "git" {
		if slices.ContainsFunc(words, func(w string) bool {
			return w == "--patch" || strings.HasPrefix(w, "-p") || strings.HasPrefix(w, "-L") || strings.HasPrefix(w, "-U")
		}) {
			return false
		}
		switch words[0] {
		case "show", "diff":
			return has("--stat", "--shortstat", "--numstat", "--name-only", "--name-status", "--quiet", "-q")
		case "stash":
			return !has("show")
		}
	}
	if name == "gh" {
		return !has("diff") && slices.Contains(strings.Fields(does), words[0])
	}
	if name == "docker" && words[0] == "compose" && len(words) > 1 {
		words = words[1:]
	}
	return slices.Contains(strings.Fields(does), words[0])
}
