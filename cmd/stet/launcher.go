package main

import (
	"path/filepath"
	"slices"
	"strings"
)

// launcher is a program that runs the command among its arguments.
type launcher struct {
	verbs    []string // one of which may stand before the command
	values   []string // flags that take the next argument
	operands int      // arguments of its own before the command
	dashes   bool     // only behind "--" are arguments left to the command
}

// launchers are those that are looked behind, by name.
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

// agentOf tells which agent a command line starts, and at which argument its
// name stands; empty where it is none that needs more than the environment. A
// name that comes later is not the command but something to work on.
func agentOf(command []string) (name string, at int) {
	for at < len(command) {
		base := programName(command[at])
		switch base {
		case "codex":
			return "codex", at
		case "opencode", "opencode-ai":
			return "opencode", at
		case "cn":
			return "continue", at
		}
		l, ok := launchers[base]
		if !ok {
			return "", 0
		}
		skip, ok := l.skip(command[at+1:])
		if !ok {
			return "", 0
		}
		at += 1 + skip
	}
	return "", 0
}

// skip returns how many of a launcher's arguments stand before the command; ok
// is false where there is none, or it cannot be given arguments.
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

// isAssignment reports whether a word is one for env: NAME=value.
func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && !strings.ContainsAny(name, "/.@")
}

// programName is what a word of a command line runs: "codex" for codex.exe,
// /opt/x/codex.js and @openai/codex@latest.
func programName(word string) string {
	if strings.HasPrefix(word, "@continuedev/cli") {
		return "cn"
	}
	base := strings.ToLower(filepath.Base(word))
	base, _, _ = strings.Cut(base, "@")
	return strings.TrimSuffix(strings.TrimSuffix(base, ".exe"), ".js")
}
