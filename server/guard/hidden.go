package guard

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/trim/dialect"
)

// What a command line may run without being seen to: commands in the arguments of a program that is not known to leave them alone, in the values of
// variables, and in programs of other languages.

// Limits of what is looked through. A line with more is unclear.
const (
	maxTokens = 50_000 // words of one line
	maxWindow = 10     // words of a command in a text, of which the others are left out
)

// pattern returns a function that returns a regular expression. It is compiled at its first use: most programs that start need none.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// inert are programs that run nothing of what they are given, except by the options of runsBy, next to those of inert subcommands.
var inert = strings.Fields(`cd pwd pushd popd ls tree mkdir rmdir rm mv cp ln touch chmod chown tee echo printf true false : sleep exit return kill pgrep ps lsof df du free uptime uname
	which type wc stat file md5sum sha1sum sha256sum basename dirname realpath readlink seq cat head tail rg ag grep egrep fgrep sort uniq cut tr column jq diff cmp nl strings
	apt apt-get dnf yum apk dpkg set shopt read`)

// runsBy are options of such programs with which they run a command. They may be shortened, and -y and -o written as -yo.
var runsBy = map[string]func() *regexp.Regexp{
	"rg": pattern(`^--(pre|hostname-bin)(=|$)`), "ag": pattern(`^--pag`), "sort": pattern(`^--co`), "printf": pattern(`^-v`),
	"git": pattern(`^-O|^--op`), "gh": pattern(`^--$`), "glab": pattern(`^--$`),
	"apt": ofApt, "apt-get": ofApt, "dpkg": pattern(`^--(pre|post|status-l)`), "dnf": ofDnf, "yum": ofDnf,
}

var (
	ofApt       = pattern(`^-[^-]*[oc]|^--[oc]`)
	ofDnf       = pattern(`^-c|^--(set|conf)`)
	ofPackagers = pattern(`^--?(scr|sh|git(=|$)|node-g|conf|tool|exec|ldfl|vett|py)`)
)

// quiet are subcommands with which some programs run nothing of what they are given. Others may be names that a person has for a command.
var quiet = map[string][]string{
	"git":  talkers,
	"gh":   strings.Fields("pr issue repo run release workflow auth api browse gist label search status secret variable project cache org ruleset"),
	"glab": strings.Fields("mr issue repo ci release auth api label variable"),
	"brew": strings.Fields("install reinstall uninstall remove upgrade update list info search outdated cleanup services tap untap leaves deps doctor link unlink pin"),
}

// talkers are subcommands of git whose arguments are messages, patterns and names; installers' subcommands take names of packages.
var (
	talkers   = strings.Fields("commit tag notes log grep show shortlog blame merge stash diff branch revert cherry-pick add status checkout switch restore")
	packagers = strings.Fields("npm yarn pnpm bun pip pip3 pipx go cargo gem composer uv poetry conda bundle rustup pdm")
	getters   = strings.Fields("install i add remove uninstall update get ci upgrade")
	gitCmds   = strings.Fields(`add am annotate apply archive bisect blame branch bugreport bundle cat-file check-attr check-ignore check-mailmap check-ref-format checkout checkout-index cherry cherry-pick
		citool clean clone column commit commit-graph commit-tree config count-objects credential daemon describe diagnose diff diff-files diff-index diff-tree difftool fast-export fast-import fetch
		fetch-pack filter-branch fmt-merge-msg for-each-ref for-each-repo format-patch fsck gc get-tar-commit-id grep gui hash-object help hook init instaweb interpret-trailers lfs log ls-files ls-remote ls-tree
		mailinfo mailsplit maintenance merge merge-base merge-file merge-index merge-tree mergetool mktag mktree multi-pack-index mv name-rev notes pack-objects pack-refs patch-id prune
		pull push range-diff read-tree rebase reflog remote repack replace request-pull rerere reset restore rev-list rev-parse revert rm send-email send-pack shortlog show show-branch show-index
		show-ref sparse-checkout stage stash status stripspace submodule subtree switch symbolic-ref tag update-index update-ref update-server-info var verify-commit verify-pack verify-tag version whatchanged
		worktree write-tree`)
	gitRuns  = pattern(`(?i)^(core\.hookspath|include(if\..*)?\.path)=`)
	grepRuns = pattern(`^-[a-zA-Z]+O`) // its pager, after other letters
)

// languages run a program that is written on the command line, or comes from before the bar.
var languages = pattern(`^(python|pypy|perl|ruby|node|deno|bun|php|lua|osascript|tclsh|Rscript|julia)[a-z]*[0-9.]*$`)

// acts are what a program of another language does that a rule may be about. aims are files that it opens whose names are not written there.
var (
	acts = pattern(`\b(rmtree|rm_rf|rm_r|remove_tree|removedirs|removeSync|fromhex|b64decode|atob|marshal|ctypes|importlib|__import__|child_process|qx)\b` +
		`|\b(rm|rmdir|unlink)(Sync)?\s*\(|(^|[^.\w])(remove|exec|eval|compile|getattr|Function)\s*\(|\b(system|popen|spawn|shell_exec)\s*\(` +
		`|\bos\.(remove|unlink|rmdir|exec|spawn)|\bsubprocess\.\w+\(\s*[^\[\s"']|\b(system|exec|unlink|rmdir)\s+[\w"'$@]`)
	aims     = pattern(`\b(open|Path|writeFile|writeFileSync)\(\s*([A-Za-z_]\w*\s*[^\w\s,)]|f["']|["'][^"'\n]*["']\s*[+%])`)
	argv     = pattern(`\b(sys|process)\.argv`)
	inQuotes = pattern(`"([^"\n]{1,300})"|'([^'\n]{1,300})'`)
)

// runsNothing reports whether a program runs nothing of its arguments, and of what it reads.
func runsNothing(words []string) bool {
	name, args := dialect.ProgramName(words[0]), words[1:]
	first := slices.IndexFunc(args, func(w string) bool { return !strings.HasPrefix(w, "-") })
	subcommands, some := quiet[name]
	by, packages := runsBy[name], slices.Contains(packagers, name)
	if packages {
		subcommands, some, by = getters, true, ofPackagers
	}
	switch {
	case name == "sed", name == "awk":
		return !dialect.RunsCommands(words)
	case by != nil && slices.ContainsFunc(args, by().MatchString), name == "git" && first > 0:
		return false
	case some:
		return first >= 0 && slices.Contains(subcommands, args[first])
	}
	return slices.Contains(inert, name)
}

// loose returns the words of a text in which a command may be, whatever is between them.
func loose(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_./~*-^", r)
	})
}

// hidden is what may be in a command line.
type hidden struct {
	*dialect.Line
	words []string // of texts in which a command may begin at each word
}

// lookFor finds what may be in a command line. It adds files to the commands, and may find the line unclear.
func lookFor(l *dialect.Line) *hidden {
	h := &hidden{Line: l}
	for i := range l.Commands {
		c := &l.Commands[i]
		for _, words := range slices.Concat(c.Words, c.Maybe) {
			h.arguments(c, words)
		}
		h.written(c)
	}
	for _, t := range l.Texts {
		switch {
		case len(t.Words) > 0 && languages().MatchString(dialect.ProgramName(t.Words[0])):
			var c dialect.LineCommand
			h.code(&c, t.Text)
			l.Commands = append(l.Commands, dialect.LineCommand{Text: "x", Words: [][]string{t.Words}, Names: c.Names, Under: c.Under})
		case len(t.Words) == 0, !runsNothing(t.Words), t.Words[0] == "read":
			h.add(loose(t.Text))
		}
	}
	return h
}

func (h *hidden) add(words []string) {
	h.Unclear = h.Unclear || len(h.words)+len(words) > maxTokens
	if !h.Unclear {
		h.words = append(append(h.words, words...), "")
	}
}

// ruled returns a decision if a rule may be about one of the commands.
func (h *hidden) ruled(j *judge) (found strictest) {
	for i, w := range h.words {
		if w != "" && !found.ruled {
			j.perhaps(&found, policy.Request{Tool: j.tool, Words: h.words[i:min(i+maxWindow, len(h.words))], Write: true})
		}
	}
	return found
}

// arguments looks for commands in the arguments of a command.
func (h *hidden) arguments(c *dialect.LineCommand, words []string) {
	program := dialect.ProgramName(words[0])
	switch {
	case program == "git":
		h.git(words)
	case program == "hash" && slices.Contains(words, "-p"), program == "alias" && len(words) > 1: // a name for another command
		h.Unclear = true
	case slices.Contains([]string{"test", "[", "unset", "export", "printf", "wait", "read", "set"}, program): // they evaluate what is in the index of an array
		h.Unclear = h.Unclear || slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, "[") && strings.ContainsAny(w, "`$") })
	}
	if dialect.Carries(program) || runsNothing(words) {
		return
	}
	var all []string
	if program == "sed" || program == "awk" { // it may write to files
		c.Names = append(c.Names, loose(strings.Join(words[1:], " "))...)
	}
	for _, w := range words[1:] {
		if all = append(all, loose(w)...); strings.HasPrefix(w, "-") && strings.Contains(w, " ") { // the value of an option of one letter
			all = append(append(all, ""), loose(w[2:])...)
		} else if w == "" {
			all = append(all, "")
		} else if languages().MatchString(program) && strings.ContainsAny(w, "(; =\n\"'") {
			h.code(c, w)
		}
	}
	h.add(all)
}

// git notes what git runs by its settings, and commands that are none of git's own: aliases.
func (h *hidden) git(words []string) {
	h.Unclear = h.Unclear || slices.ContainsFunc(words, gitRuns().MatchString)
	for i := 1; i < len(words); i++ {
		switch w := words[i]; {
		case slices.Contains([]string{"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"}, w):
			i++
		case w == "" || !strings.HasPrefix(w, "-"):
			h.Unclear = h.Unclear || w != "" && !slices.Contains(gitCmds, w) || w == "grep" && slices.ContainsFunc(words[i:], grepRuns().MatchString)
			return
		}
	}
}

// code looks for commands and files in a program of another language.
func (h *hidden) code(c *dialect.LineCommand, text string) {
	h.add(loose(text))
	h.Unclear = h.Unclear || acts().MatchString(text)
	for _, m := range inQuotes().FindAllStringSubmatch(text, -1) {
		if name := m[1] + m[2]; len(c.Names) < maxNamed && !strings.ContainsAny(name, " ()%") {
			c.Names = append(c.Names, name)
		}
	}
	if aims().MatchString(argv().ReplaceAllString(text, "argv")) {
		c.Under = append(c.Under, "")
	}
}

// written looks for commands in the text that a command writes to a file which the line may run, or makes it unclear.
func (h *hidden) written(c *dialect.LineCommand) {
	files := c.Wrote
	if len(c.Words) > 0 && c.Words[0][0] == "tee" {
		files = c.Words[0][1:]
	}
	for _, name := range files {
		runs := func(words []string) bool {
			program, file := dialect.ProgramName(words[0]), dialect.Script(words)
			return program == dialect.ProgramName(name) || dialect.ProgramName(file) == dialect.ProgramName(name) && (languages().MatchString(program) || dialect.TakesScript(program))
		}
		if !slices.ContainsFunc(h.Commands, func(c dialect.LineCommand) bool { return slices.ContainsFunc(c.Words, runs) }) {
			continue
		}
		h.Unclear = h.Unclear || c.Says == ""
		if !h.Unclear {
			h.code(&dialect.LineCommand{}, c.Says)
		}
	}
}
