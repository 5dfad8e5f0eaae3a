package dialect

import "strings"

// plainCommands print names, figures and what they are told, whatever their
// arguments are. They count under these very names.
var plainCommands = set(`
	cd pwd pushd popd ls tree mkdir rmdir rm mv cp ln touch chmod chown install rsync tee
	echo printf true false : test [ [[ sleep wait exit return export unset set shopt ulimit break continue shift local
	kill pkill pgrep ps lsof ss netstat df du free uptime date uname whoami id hostname nproc
	which type wc stat file md5sum sha1sum sha256sum basename dirname realpath readlink seq tput clear reset
	systemctl service ping apt apt-get apt-cache dpkg brew dnf yum apk zip`)

// builders build, test, check and install: they print what they did, and of
// files what is wrong there. They count in whichever directory they are.
var builders = set(`
	make gmake cmake ctest ninja meson bazel gcc g++ clang clang++ cc c++ rustc javac tsc vue-tsc
	mvn mvnw gradle gradlew ant sbt dotnet xcodebuild
	pytest py.test unittest tox nox jest vitest mocha ava karma cypress playwright phpunit rspec ginkgo gotestsum
	golangci-lint staticcheck eslint ruff flake8 pylint mypy pyright black isort stylelint biome oxlint
	webpack vite turbo nx lerna next rebar3 pip pip3 conda rustup gem composer venv compileall alembic`)

// subcommands are what some commands may be told to do. What does not stand
// here may print files, or run what does.
var subcommands = map[string]string{
	"git": `status log commit add push pull fetch checkout switch branch merge rebase reset clone init remote tag
		rev-parse rev-list ls-files ls-remote ls-tree stash clean worktree submodule mv rm cherry-pick revert restore
		shortlog describe reflog merge-base symbolic-ref count-objects gc check-ignore show diff`,
	"gh":     "pr issue run auth release workflow",
	"go":     "build test vet mod get install list version env clean fmt work generate",
	"cargo":  "build test check clippy fmt add update doc bench install nextest clean fetch",
	"npm":    "install i ci run run-script test t ls list audit outdated start uninstall update link prune version init",
	"yarn":   "install add remove run test build lint start typecheck upgrade",
	"pnpm":   "install i add remove run test build lint start typecheck update ls list",
	"bun":    "install i add remove test build update",
	"uv":     "pip sync add remove lock venv",
	"poetry": "install add remove lock update build check",
	"pipenv": "install lock sync", "pdm": "install add lock sync", "bundle": "install update add",
	"mix": "test compile deps.get", "swift": "build test", "stack": "build test", "cabal": "build test",
	"docker": "build ps images pull push stop rm rmi start restart network volume info version up down",
}

// sieve is a command that prints what it reads. Without the name of a file it
// prints what stands before the bar, which is looked at for itself.
type sieve struct {
	operands int    // that are no files
	values   string // letters of the options that take a value
	script   bool   // its operand is a program: it is one of a few
}

var sieves = map[string]sieve{
	"cat": {}, "head": {values: "nc"}, "tail": {values: "nc"}, "sort": {values: "kt"}, "uniq": {values: "fsw"}, "tac": {}, "rev": {},
	"cut": {values: "dfcb"}, "tr": {operands: 2}, "column": {values: "ts"}, "nl": {}, "fold": {values: "w"}, "less": {}, "more": {},
	"grep": {operands: 1, values: "ABCm"}, "egrep": {operands: 1, values: "ABCm"}, "fgrep": {operands: 1, values: "ABCm"},
	"sed": {operands: 1, script: true}, "awk": {operands: 1, values: "F", script: true}, "jq": {operands: 1},
}

// quiet reports whether a sieve reads nothing but what comes before it. An
// option that is not known may name a file.
func (f sieve) quiet(words []string) bool {
	operands := 0
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w == "-i" && f.script && f.values == "": // in place: it prints nothing
			return true
		case w == "-":
		case strings.HasPrefix(w, "--"):
			if !harmless[w] && !strings.HasPrefix(w, "--color") {
				return false
			}
		case strings.HasPrefix(w, "-"):
			if strings.ContainsAny(w, "rRfe") && f.operands == 1 && !(f.script && (w == "-r" || w == "-E")) {
				return false // through directories, or a pattern from elsewhere
			}
			if strings.IndexByte(f.values, w[len(w)-1]) >= 0 {
				i++
			}
		default:
			if operands++; operands > f.operands || f.script && !plainScript(w) {
				return false
			}
		}
	}
	return true
}

// countsOrNames reports whether an option makes a search print names of files or
// figures alone.
func countsOrNames(option string) bool {
	switch option {
	case "--files", "--files-with-matches", "--files-without-match", "--count", "--quiet":
		return true
	}
	return strings.HasPrefix(option, "-") && strings.ContainsAny(option, "lLcq") && strings.Trim(option[1:], "lLcqinrRswvFEPx") == ""
}

// harmless are options of sieves that name no file.
var harmless = set("--lines --bytes --line-buffered --invert-match --ignore-case --count --only-matching --unique --reverse --numeric-sort --quiet --raw-output")

// plainScript reports whether a program of sed or awk reads no file of its own:
// a range of lines, one replacement, or fields printed.
func plainScript(s string) bool {
	switch rest := strings.Trim(s, "0123456789,$ ;"); {
	case rest == "p" || rest == "d" || rest == "q":
		return true
	case len(s) > 3 && s[0] == 's' && strings.IndexByte("/|#,:@!", s[1]) >= 0:
		return strings.Count(s, s[1:2]) == 3 && strings.Trim(s[strings.LastIndexByte(s, s[1])+1:], "gpiI0123456789") == ""
	case strings.HasPrefix(s, "{") || strings.HasPrefix(s, "/") || strings.HasPrefix(s, "NR"):
		return strings.Contains(s, "print") && !strings.Contains(s, "getline") && !strings.Contains(s, "system")
	}
	return false
}

// set returns the words of s.
func set(s string) map[string]bool {
	out := make(map[string]bool)
	for w := range strings.FieldsSeq(s) {
		out[w] = true
	}
	return out
}
