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

// Repeatable reports whether what a Shell runs can be run again to see what it prints: all that it does is to look, to search, to
// build, to test or to fetch a page. What is not known may change something.
func (a *Action) Repeatable() bool { return a.lineEffects().again }

// repeatable reports whether a command builds, tests, or fetches a page.
func repeatable(words []string) bool {
	name := words[0]
	if i := strings.LastIndexByte(name, '/'); i >= 0 && builders[name[i+1:]] {
		name = name[i+1:]
	}
	if rest, ok := inner(name, words[1:]); ok {
		return len(rest) > 0 && (looking(rest) || repeatable(rest))
	}
	switch name {
	case "sh", "bash", "zsh":
		return len(words) == 3 && strings.HasPrefix(words[1], "-") && strings.HasSuffix(words[1], "c") && effectsOf(words[2]).again
	case "curl", "wget":
		return !slices.ContainsFunc(words[1:], func(w string) bool {
			return w == unknown || strings.HasPrefix(w, "--") && !harmlessFetch[w] || !strings.HasPrefix(w, "--") && strings.HasPrefix(w, "-") && strings.ContainsAny(w, "XdFToO")
		})
	}
	if does, ok := repeatableCommands[name]; ok {
		return quietSubcommand(name, words[1:], does)
	}
	if runners[name] {
		return !slices.ContainsFunc(words[1:], func(w string) bool {
			return w == unknown || strings.Contains(w, "install") || w[:min(1, len(w))] != "-" && !strings.Contains(w, "=") && !harmlessTargets[w]
		})
	}
	return builders[name] && !installers[name]
}

// runners are the builders that do whatever a project's files say; harmlessTargets are what they may be told to do.
var (
	runners         = set("make gmake cmake ninja meson bazel mvn mvnw gradle gradlew ant sbt dotnet xcodebuild turbo nx lerna next rebar3 webpack vite")
	harmlessTargets = set("all build test tests check lint vet compile verify assemble typecheck type-check unit")
)

// repeatableCommands are the commands that build and test by some of what they may be told to do.
var repeatableCommands = map[string]string{
	"go": "build test vet list version env", "cargo": "build test check clippy bench doc", "npm": "test t ls list outdated",
	"yarn": "test build lint typecheck", "pnpm": "test build lint typecheck ls list", "bun": "test build", "swift": "build test",
	"mix": "test compile", "stack": "build test", "cabal": "build test", "docker": "ps images version info",
}

// installers are the builders that install, or change a database.
var installers = set("pip pip3 conda rustup gem composer venv alembic")

// harmlessFetch are long options with which a page is fetched and nothing is sent.
var harmlessFetch = set("--silent --show-error --fail --location --compressed --max-time --connect-timeout --head --insecure --user-agent --quiet")

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
