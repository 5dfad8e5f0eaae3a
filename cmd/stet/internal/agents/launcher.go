package agents

import (
	"path/filepath"
	"slices"
	"strings"
)

// launcher is a program that runs the command in its arguments.
type launcher struct {
	verbs    []string // words that may come before the command
	values   []string // flags that take the next argument
	operands int      // number of its own arguments before the command
	dashes   bool     // only arguments after "--" belong to the command
}

// launchers are the known launchers, by name.
var launchers = map[string]launcher{
	"npx":     {values: []string{"-p", "--package", "-w", "--workspace"}},
	"pnpx":    {},
	"bunx":    {values: []string{"-p", "--package"}},
	"npm":     {verbs: []string{"exec", "x"}, values: []string{"-p", "--package", "-w", "--workspace"}, dashes: true},
	"pnpm":    {verbs: []string{"exec", "dlx"}, values: []string{"-C", "--dir", "-F", "--filter", "--package"}},
	"yarn":    {verbs: []string{"exec", "dlx", "run"}, values: []string{"-p", "--package", "--cwd"}},
	"bun":     {verbs: []string{"x", "run"}, values: []string{"-p", "--package", "--cwd"}},
	"node":    {values: []string{"-r", "--require", "--import", "--loader", "--env-file", "-C", "--conditions"}},
	"env":     {values: []string{"-u", "--unset", "-C", "--chdir"}},
	"time":    {values: []string{"-f", "--format", "-o", "--output"}},
	"nice":    {values: []string{"-n", "--adjustment"}},
	"ionice":  {values: []string{"-c", "--class", "-n", "--classdata"}},
	"timeout": {values: []string{"-k", "--kill-after", "-s", "--signal"}, operands: 1},
	"stdbuf":  {values: []string{"-i", "--input", "-o", "--output", "-e", "--error"}},
	"nohup":   {},
	"setsid":  {},
	"exec":    {},
}

// agentOf returns the agent that a command line starts, and the index of its name; nil if there is none. A name in a later argument is not the command.
func agentOf(command []string) (a *agent, at int) {
	for at < len(command) {
		name := programName(command[at])
		for i := range agents {
			if slices.Contains(agents[i].programs, name) {
				return &agents[i], at
			}
		}
		l, ok := launchers[name]
		if !ok {
			return nil, 0
		}
		skip, ok := l.skip(command[at+1:])
		if !ok {
			return nil, 0
		}
		at += 1 + skip
	}
	return nil, 0
}

// skip returns how many of a launcher's arguments precede the command. ok is false if there is no command or it cannot be given
// arguments.
func (l launcher) skip(args []string) (n int, ok bool) {
	verbs, operands, dashes := l.verbs, l.operands, l.dashes
	for n < len(args) {
		arg := args[n]
		switch {
		case arg == "--":
			dashes = false
		case slices.Contains(l.values, arg):
			n++
		case strings.HasPrefix(arg, "-"):
		case isAssignment(arg):
		case slices.Contains(verbs, arg):
			verbs = nil
		case operands > 0:
			operands--
		default:
			return n, !dashes
		}
		n++
	}
	return 0, false
}

// isAssignment reports whether a word is an assignment for env: NAME=value.
func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && !strings.ContainsAny(name, "/.@")
}

// programName returns the program that a word of a command line runs: "codex" for codex.exe, /opt/x/codex.js and
// @openai/codex@latest.
func programName(word string) string {
	if strings.HasPrefix(word, "@continuedev/cli") {
		return "cn"
	}
	if strings.HasPrefix(word, "@google/gemini-cli") {
		return "gemini"
	}
	base := strings.ToLower(filepath.Base(word))
	base, _, _ = strings.Cut(base, "@")
	return strings.TrimSuffix(strings.TrimSuffix(base, ".exe"), ".js")
}
