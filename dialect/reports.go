package dialect

import (
	"slices"
	"strings"
)

// Report is what kind of report the result of a call is.
type Report uint8

// The kinds of reports.
const (
	NoReport Report = iota // it may hold passages of files, or it is not known what it holds
	Told                   // of a build, a test, an installation, a log
	Found                  // of a search: single lines of files
	Page                   // from the network
)

// Reports returns what kind of report the result of a Shell or an Output is. No edit is
// made from a report but from a line that a search found.
func (a *Action) Reports(output string) Report {
	switch {
	case a.Quotes(output):
		return NoReport
	case a.Op == Shell:
		return a.lineEffects().report
	case a.Op == Output && a.Row == "any/fetch":
		return Page
	case a.Op == Output && a.Row == "any/search" && a.MayShowFiles(output):
		return Found
	}
	return NoReport
}

// Finds reports whether the result of a Shell or an Output is lines that searches found, perhaps with the lines around, and
// beside them at most what commands did.
func (a *Action) Finds() bool {
	return a.Op == Output && a.Row == "any/search" || a.Op == Shell && a.lineEffects().finds
}

// reportOfLine is the report of the commands of a command line so far.
type reportOfLine struct {
	kind  Report
	other bool // a command may print something else
}

// add counts one more command of a command line.
func (k *reportOfLine) add(words []string) {
	switch kind := reportOf(words); {
	case kind > k.kind:
		k.kind = kind
	case kind == NoReport && !quietCall(words):
		k.other = true
	}
}

// reportOf returns what kind of report a command prints. A command that prints nothing of
// interest, and one that prints something else, print none.
func reportOf(words []string) Report {
	name := words[0]
	if i := strings.LastIndexByte(name, '/'); i >= 0 && builders[name[i+1:]] {
		name = name[i+1:]
	}
	if rest, ok := inner(name, words[1:]); ok {
		if len(rest) == 0 {
			return NoReport
		}
		return reportOf(rest)
	}
	has := func(some ...string) bool {
		return slices.ContainsFunc(some, func(w string) bool { return slices.Contains(words, w) })
	}
	switch name {
	case "curl", "wget":
		if !slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "file:") }) {
			return Page
		}
	case "journalctl", "dmesg":
		return Told
	case "gh": // what a person wrote in an issue is no report
		if has("run") {
			return Told
		}
		return NoReport
	case "docker", "podman", "kubectl":
		if has("logs") {
			return Told
		}
	case "rg", "ag", "grep", "egrep", "fgrep":
		if f, ok := sieves[name]; (!ok || !f.quiet(words[1:])) && !quietCall(words) {
			return Found
		}
		return NoReport
	case "sh", "bash", "zsh":
		if len(words) == 3 && strings.HasPrefix(words[1], "-") && strings.HasSuffix(words[1], "c") {
			return effectsOf(words[2]).report
		}
	case "git":
		if has("grep") {
			return Found
		}
	}
	if _, ok := subcommands[name]; (ok && name != "git" || builders[name] || name == "git" && has("log", "push", "pull", "fetch", "clone")) && quietCall(words) {
		return Told
	}
	return NoReport
}
