package dialect

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// What a command line does, and what it prints: whether it may change something, whether it can be run again, and whether
// edits may be made from its output.

// doing is what a command does. A command line does the most of what its commands do.
type doing uint8

const (
	looks   doing = iota // at files, and the like: nothing changes
	repeats              // it builds, tests, or fetches a page: it can be run again to see what it prints
	changes              // something, perhaps
)

// printing is what a command prints. A command line has a set of them.
type printing uint8

const (
	figures  printing = 1 << iota // names, figures, and what it did: no text of files
	messages                      // what persons wrote to each other: an issue, a pull request
	logs                          // of a program that runs elsewhere
	filtered                      // lines, with those around them, of what the command before the bar prints
	found                         // single lines of files, from a search
	around                        // the same with the lines around them
	anything                      // what a program likes; text of files may be in it
	passages                      // files as they are
)

// effects is what a command line does and prints.
type effects struct {
	does   doing
	prints printing
}

// Changes reports whether what a Shell runs may change something: unless every
// command of it only looks.
func (a *Action) Changes() bool { return a.lineEffects().does > looks }

// Repeatable reports whether what a Shell runs can be run again to see what it prints: all that it does is to look, to search, to
// build, to test or to fetch a page. What is not known may change something.
func (a *Action) Repeatable() bool { return a.lineEffects().does < changes }

// MayShowFiles reports whether the result of a Shell, an Output or an Agent may
// hold text of files, from which edits are made. It may unless the call is
// known to show none: every command of its command line is one that prints what
// it did, or it is a search for names or a page of the web. An output with a
// difference in it always may.
func (a *Action) MayShowFiles(output string) bool {
	if hasDifference(output) {
		return true
	}
	switch a.Op {
	case Shell:
		return a.lineEffects().prints&^(figures|messages|filtered) != 0
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
	return hasDifference(output) || a.Op == Shell && a.lineEffects().prints&(filtered|around|passages) != 0 ||
		a.Op == Output && a.Row == "any/search" && a.asksForContext()
}

func hasDifference(output string) bool {
	return strings.Contains(output, "\n@@ -") || strings.HasPrefix(output, "diff ")
}

// Finds reports whether the result of a Shell or an Output is lines that searches found, perhaps with the lines around, and
// next to them at most what commands did.
func (a *Action) Finds() bool {
	if a.Op != Shell {
		return a.Op == Output && a.Row == "any/search"
	}
	p := a.lineEffects().prints
	return p&(found|around) != 0 && p&(filtered|anything|passages) == 0
}

// ByPersons reports whether what a Shell runs prints what persons wrote to each other: an issue, or a pull request.
func (a *Action) ByPersons() bool { return a.Op == Shell && a.lineEffects().prints&messages != 0 }

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
	worst := effects{changes, passages}
	file, err := parseShell(command)
	if err != nil {
		return worst
	}
	var e effects
	if len(command) > maxQuiet {
		e.prints = passages
	} else if len(file.Stmts) == 0 {
		e.prints = anything
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch x := n.(type) {
		case *syntax.CallExpr:
			if len(x.Args) > 0 {
				words := quietWords(x.Args)
				e.does, e.prints = max(e.does, doingOf(words)), e.prints|printingOf(words)
			}
		case *syntax.Redirect:
			switch {
			case literal(x.Word) == "/dev/null":
			case x.Op == syntax.RdrIn, x.Op == syntax.RdrInOut:
				e.prints |= passages
			}
			if x.Op != syntax.RdrIn && x.Op != syntax.DplOut && literal(x.Word) != "/dev/null" {
				e.does = changes
			}
		}
		return e.does < changes || e.prints&passages == 0
	})
	return e
}

// unknown stands for a word that is not literal.
const unknown = "\x00"

// quietWords returns the words of a command, with unknown in place of those that are not literal.
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

// commandName returns the name that a command counts under: ./gradlew and .venv/bin/pytest count as builders do, and /bin/cat as cat.
func commandName(word string) string {
	if i := strings.LastIndexByte(word, '/'); i >= 0 && (builders[word[i+1:]] || word[:i] == "/bin" || word[:i] == "/usr/bin") {
		return word[i+1:]
	}
	return word
}

// shellScript returns the command line that a shell is given as an argument. ok is false if name is no shell. If the shell is given something
// else, script is empty.
func shellScript(name string, words []string) (script string, ok bool) {
	if name != "sh" && name != "bash" && name != "zsh" {
		return "", false
	}
	if len(words) == 2 && strings.HasPrefix(words[0], "-") && strings.HasSuffix(words[0], "c") {
		return words[1], true
	}
	return "", true
}

// doingOf returns what a command does.
func doingOf(words []string) doing {
	if looking(words) {
		return looks
	}
	name, args := commandName(words[0]), words[1:]
	if rest, ok := inner(name, args); ok {
		if len(rest) == 0 {
			return changes
		}
		return max(repeats, doingOf(rest))
	}
	if script, ok := shellScript(name, args); ok {
		if script == "" {
			return changes
		}
		return max(repeats, effectsOf(script).does)
	}
	if repeatable(name, args) {
		return repeats
	}
	return changes
}

// printingOf returns what a command prints.
func printingOf(words []string) printing {
	name, args := commandName(words[0]), words[1:]
	switch {
	case typesFile(words), slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "/dev/std") }):
		return passages
	case slices.Contains(words, "/dev/tty"):
		return anything
	case len(args) == 1 && slices.Contains([]string{"--version", "-V", "--help", "-h"}, args[0]):
		return figures
	}
	if rest, ok := inner(name, args); ok {
		if len(rest) == 0 {
			return anything
		}
		return printingOf(rest)
	}
	if script, ok := shellScript(name, args); ok && script != "" {
		return effectsOf(script).prints
	}
	f, isSieve := sieves[name]
	does, hasSubcommands := subcommands[name]
	switch {
	case byPersons(words):
		return messages
	case isSieve && searchers[name] && f.quiet(args) && slices.ContainsFunc(args, withContext):
		return filtered
	case (name == "rg" || strings.HasSuffix(name, "grep")) && slices.ContainsFunc(args, countsOrNames), isSieve && f.quiet(args),
		hasSubcommands && quietSubcommand(name, args, does), plainCommands[name], builders[name], figuresOnly(name, words):
		return figures
	case searchers[name], name == "git" && slices.Contains(words, "grep"):
		if slices.ContainsFunc(args, withContext) {
			return around
		}
		return found
	case isSieve, name == "git", name == unknown, quoters[name], interpreters[name] && programGiven(args),
		strings.HasSuffix(name, "grep") && slices.ContainsFunc(args, withContext),
		// Some run a command that they are given: find -exec cat, ssh host cat.
		slices.ContainsFunc(args, func(w string) bool { _, ok := sieves[w]; return ok }):
		return passages
	case name == "journalctl", name == "dmesg", containers[name] && slices.Contains(words, "logs"):
		return logs
	}
	return anything
}

// figuresOnly reports whether a command prints no file because of its arguments.
func figuresOnly(name string, words []string) bool {
	switch name {
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
	return false
}

// byPersons reports whether a command prints what persons wrote to each other.
func byPersons(words []string) bool {
	return len(words) > 2 && (words[0] == "gh" || words[0] == "glab") && words[2] == "view" &&
		slices.Contains([]string{"issue", "pr", "mr"}, words[1])
}

var windowsShells = set("powershell powershell.exe pwsh pwsh.exe cmd cmd.exe")

// typesFile reports whether a command prints a file by type or Get-Content, itself or as the command line of a shell of Windows. A shell of
// Unix has type too: it says where a command is. So type counts only if an argument looks like a path.
func typesFile(words []string) bool {
	heads := words[:1]
	if windowsShells[strings.ToLower(words[0])] {
		if slices.Contains(words, unknown) {
			return true
		}
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

// programGiven reports whether an interpreter runs a program that is on the command
// line, or comes from before the bar, and not one of a file.
func programGiven(words []string) bool {
	for _, w := range words {
		switch {
		case strings.HasPrefix(w, "--"):
		case strings.HasPrefix(w, "-"):
			if w == "-" || strings.ContainsAny(w, "cenpr") {
				return true
			}
		default:
			return w == unknown || w == "eval"
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
	case "uv", "poetry", "pipenv", "pdm", "bundle", "conda":
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
