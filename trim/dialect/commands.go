package dialect

import (
	"regexp"
	"slices"
	"strings"
)

// The commands that are known: what each of them does and prints, by its name and its options. effects.go asks.

// lookers only look, unless an option says otherwise.
var lookers = set(`
	cd ls cat head tail grep egrep fgrep rg ag find wc sed awk nl less more file stat tree which type echo printf pwd du df
	sort uniq cut tr column jq diff cmp test [ true false basename dirname realpath readlink strings xxd od ps date`)

// plainCommands print names, figures and what they are given, whatever their
// arguments are. They count under these very names.
var plainCommands = set(`
	cd pwd pushd popd ls tree mkdir rmdir rm mv cp ln touch chmod chown install rsync tee
	echo printf true false : test [ [[ sleep wait exit return export unset set shopt ulimit break continue shift local
	kill pkill pgrep ps lsof ss netstat df du free uptime date uname whoami id hostname nproc
	which type wc stat file md5sum sha1sum sha256sum basename dirname realpath readlink seq tput clear reset
	systemctl service ping apt apt-get apt-cache dpkg brew dnf yum apk zip`)

// searchers print the lines of files that they find.
var searchers = set("rg ag grep egrep fgrep")

// containers run programs elsewhere, and print their logs.
var containers = set("docker podman kubectl")

// quoters print files as they are, next to the sieves.
var quoters = set(`bat batcat diff xxd od paste comm join strings zcat patch colordiff delta eval gofmt goimports prettier Get-Content gc
	hexdump dd expand gcat ghead gtail gsed gawk clang-format rustfmt yq xmllint glow pygmentize highlight jj vim nvim ex ed unzip ack Select-String`)

// interpreters run a program. One that is written on the command line may print files.
var interpreters = set(`python python2 python3 node deno perl ruby php osascript lua luajit Rscript julia fish nu script`)

// builders build, test, check and install: they print what they did, and of
// files what is wrong there. They count in whichever directory they are.
var builders = set(`
	make gmake cmake ctest ninja meson bazel gcc g++ clang clang++ cc c++ rustc javac tsc vue-tsc
	mvn mvnw gradle gradlew ant sbt dotnet xcodebuild
	pytest py.test unittest tox nox jest vitest mocha ava karma cypress playwright phpunit rspec ginkgo gotestsum
	golangci-lint staticcheck eslint ruff flake8 pylint mypy pyright black isort stylelint biome oxlint
	webpack vite turbo nx lerna next rebar3 pip pip3 conda rustup gem composer venv compileall alembic`)

// subcommands are what some commands may be asked to do. What is not
// listed here may print files, or run what does.
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

// runners are the builders that do whatever a project's files say; harmlessTargets are what they may be asked to do.
var (
	runners         = set("make gmake cmake ninja meson bazel mvn mvnw gradle gradlew ant sbt dotnet xcodebuild turbo nx lerna next rebar3 webpack vite")
	harmlessTargets = set("all build test tests check lint vet compile verify assemble typecheck type-check unit")
)

// repeatableCommands are the commands that build and test by some of what they may be asked to do.
var repeatableCommands = map[string]string{
	"go": "build test vet list version env", "cargo": "build test check clippy bench doc", "npm": "test t ls list outdated",
	"yarn": "test build lint typecheck", "pnpm": "test build lint typecheck ls list", "bun": "test build", "swift": "build test",
	"mix": "test compile", "stack": "build test", "cabal": "build test", "docker": "ps images version info",
}

// installers are the builders that install, or change a database.
var installers = set("pip pip3 conda rustup gem composer venv alembic")

// harmlessFetch are long options with which a page is fetched and nothing is sent.
var harmlessFetch = set("--silent --show-error --fail --location --compressed --max-time --connect-timeout --head --insecure --user-agent --quiet")

// set returns the words of s.
func set(s string) map[string]bool {
	out := make(map[string]bool)
	for w := range strings.FieldsSeq(s) {
		out[w] = true
	}
	return out
}

// sieve is a command that prints what it reads. Without the name of a file it
// prints what is before the bar, which is looked at for itself.
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

// repeatable reports whether a command builds, tests, or fetches a page.
func repeatable(name string, args []string) bool {
	if name == "curl" || name == "wget" {
		return !slices.ContainsFunc(args, func(w string) bool {
			return w == unknown || strings.HasPrefix(w, "--") && !harmlessFetch[w] || !strings.HasPrefix(w, "--") && strings.HasPrefix(w, "-") && strings.ContainsAny(w, "XdFToO")
		})
	}
	if does, ok := repeatableCommands[name]; ok {
		return quietSubcommand(name, args, does)
	}
	if runners[name] {
		return !slices.ContainsFunc(args, func(w string) bool {
			return w == unknown || strings.Contains(w, "install") || w[:min(1, len(w))] != "-" && !strings.Contains(w, "=") && !harmlessTargets[w]
		})
	}
	return builders[name] && !installers[name]
}

// looking reports whether a command only looks.
func looking(words []string) bool {
	name, operands := words[0], 0
	for _, w := range words[1:] {
		group := len(w) > 1 && w[0] == '-' && w[1] != '-' // of options of one letter
		switch {
		case !strings.HasPrefix(w, "-"):
			operands++
		case name == "find" && (strings.HasPrefix(w, "-exec") || strings.HasPrefix(w, "-ok") || strings.HasPrefix(w, "-fprint") || w == "-fls" || w == "-delete"),
			name == "sort" && (group && strings.Contains(w, "o") || strings.HasPrefix(w, "--o")),
			name == "tree" && group && strings.Contains(w, "o"),
			name == "date" && (group && strings.Contains(w, "s") || strings.HasPrefix(w, "--s")),
			name == "git" && strings.HasPrefix(w, "--output"):
			return false
		}
	}
	switch name {
	case "git":
		return gitLooks(words)
	case "sed":
		return !scriptMay(words[1:], sedWrites)
	case "awk":
		return !scriptMay(words[1:], awkWrites)
	case "uniq":
		return operands < 2 // the second one is written
	}
	return lookers[name]
}

// gitLooks reports whether a command of git only looks.
func gitLooks(words []string) bool {
	for i, w := range words[1:] {
		if w != unknown && w[0] != '-' && words[i] != "-C" && words[i] != "-c" {
			return slices.Contains([]string{"log", "show", "diff", "status", "blame", "grep", "ls-files", "rev-parse"}, w)
		}
	}
	return false
}

// scriptMay reports whether sed or awk may change something: by one of its options, by its
// program, or by one that is in a file. A program with variables of the shell in it is taken not to.
func scriptMay(words []string, may func(script string) bool) bool {
	given := false // the program, as the value of an option
	for i := 0; i < len(words); i++ {
		w := words[i]
		script, long := strings.CutPrefix(w, "--expression=")
		switch {
		case long:
			given = true
		case strings.HasPrefix(w, "--"):
			if len(w) > 2 && strings.IndexByte("efil", w[2]) >= 0 { // --in-place, --file, --include and the like, which may be cut short
				return true
			}
			continue
		case len(w) > 1 && w[0] == '-':
			at := strings.IndexAny(w, "efFvi") // what follows is the value of the option
			if at < 0 {
				continue
			}
			if w[at] == 'f' || w[at] == 'i' {
				return true
			}
			value := w[at+1:]
			if value == "" && i+1 < len(words) {
				i++
				value = words[i]
			}
			if w[at] != 'e' {
				continue
			}
			script, given = value, true
		case given:
			continue
		default:
			given = true
		}
		if may(script) {
			return true
		}
	}
	return false
}

// sedWrites reports whether a program of sed writes to a file or runs a command: by the commands w, W and e, or the flags w and e
// of a replacement.
func sedWrites(script string) bool {
	after := func(i int, end byte) int { // the next end, and one more
		for ; i < len(script) && script[i] != end; i++ {
			if script[i] == '\\' {
				i++
			}
		}
		return i + 1
	}
	for i := 0; i < len(script); {
		switch c := script[i]; {
		case c == '/': // an address
			i = after(i+1, '/')
		case c == '\\' && i+1 < len(script):
			i = after(i+2, script[i+1])
		case (c == 's' || c == 'y') && i+1 < len(script):
			for i = after(after(i+2, script[i+1]), script[i+1]); i < len(script) && strings.IndexByte(";}\n", script[i]) < 0; i++ {
				if c == 's' && (script[i] == 'w' || script[i] == 'e') {
					return true
				}
			}
		case c == 'w' || c == 'W' || c == 'e':
			return true
		case strings.IndexByte("aicrR", c) >= 0: // a text, or a file that is read
			i = after(i+1, '\n')
		case strings.IndexByte("btT:", c) >= 0: // a label
			for i < len(script) && script[i] != ';' && script[i] != '\n' {
				i++
			}
		default:
			i++
		}
	}
	return false
}

var (
	awkText    = regexp.MustCompile(`"(?:\\.|[^"\\])*"`)
	awkPattern = regexp.MustCompile(`/(?:\\.|[^/\\\n])*/`)
	awkPrints  = regexp.MustCompile(`\bprintf?\b(?:[^;}\n]|,\s*\n)*(?:>|[^|]\|[^|])`)
	awkRuns    = regexp.MustCompile(`\bsystem\s*\(|(?:^|[^|])\|(?:[^|]|$)`)
)

// awkWrites reports whether a program of awk writes to a file or runs a command: by system, a bar, or print with a redirection.
// A slash may begin a pattern or divide, and a quote may be in a pattern: what one reading of them finds is enough.
func awkWrites(script string) bool {
	noTexts := awkText.ReplaceAllString(script, `""`)
	noPatterns := awkText.ReplaceAllString(awkPattern.ReplaceAllString(script, `""`), `""`)
	both := awkPattern.ReplaceAllString(noTexts, `""`)
	return awkPrints.MatchString(noTexts) || awkPrints.MatchString(noPatterns) || awkRuns.MatchString(both) || awkRuns.MatchString(noPatterns)
}

// RunsCommands reports whether a program of sed or awk among the words of a command may run commands or write to files.
func RunsCommands(words []string) bool {
	may := map[string]func(string) bool{"sed": sedWrites, "awk": awkWrites}[ProgramName(words[0])]
	return may != nil && slices.ContainsFunc(words[1:], may)
}
