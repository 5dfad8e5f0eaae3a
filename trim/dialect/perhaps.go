package dialect

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// What a command line may run without being seen to: commands in the arguments of a program that is not known to leave them alone, in the values of
// variables, and in programs of other languages.

// Limits of what is looked through. A line with more is unclear.
const (
	maxTokens = 50_000 // words of one line
	maxWindow = 10     // words of a command in a text, of which the others are left out
)

// inert are programs that run nothing of what they are given, next to those of inert options and subcommands.
var inert = set(`cd pwd pushd popd ls tree mkdir rmdir rm mv cp ln touch chmod chown tee echo printf true false : sleep exit return kill pgrep ps lsof df du free uptime uname
	which type wc stat file md5sum sha1sum sha256sum basename dirname realpath readlink seq cat head tail rg ag grep egrep fgrep sort uniq cut tr column jq diff cmp nl strings
	apt apt-get brew dnf yum apk dpkg gh glab set shopt read`)

// talkers are subcommands of git whose arguments are messages, patterns and names; installers' subcommands take names of packages.
var (
	talkers = set("commit tag notes log grep show shortlog blame merge stash diff branch revert cherry-pick add status checkout switch restore")
	getters = set("install i add remove uninstall update get ci upgrade")
	gitCmds = set(`add am annotate apply archive bisect blame branch bugreport bundle cat-file check-attr check-ignore check-mailmap check-ref-format checkout checkout-index cherry cherry-pick
		citool clean clone column commit commit-graph commit-tree config count-objects credential daemon describe diagnose diff diff-files diff-index diff-tree difftool fast-export fast-import fetch
		fetch-pack filter-branch fmt-merge-msg for-each-ref for-each-repo format-patch fsck gc get-tar-commit-id grep gui hash-object help hook init instaweb interpret-trailers lfs log ls-files ls-remote ls-tree
		mailinfo mailsplit maintenance merge merge-base merge-file merge-index merge-tree mergetool mktag mktree multi-pack-index mv name-rev notes pack-objects pack-refs patch-id prune
		pull push range-diff read-tree rebase reflog remote repack replace request-pull rerere reset restore rev-list rev-parse revert rm send-email send-pack shortlog show show-branch show-index
		show-ref sparse-checkout stage stash status stripspace submodule subtree switch symbolic-ref tag update-index update-ref update-server-info var verify-commit verify-pack verify-tag version whatchanged
		worktree write-tree`)
	gitRuns = regexp.MustCompile(`(?i)^(core\.hookspath|include(if\..*)?\.path)=`)
)

// languages run a program that is written on the command line, or comes from before the bar.
var languages = regexp.MustCompile(`^(python|pypy|perl|ruby|node|deno|bun|php|lua|osascript|tclsh|Rscript|julia)[a-z]*[0-9.]*$`)

// acts are what a program of another language does that a rule may be about. aims are files that it opens whose names are not written there.
var (
	acts = regexp.MustCompile(`\b(rmtree|rm_rf|rm_r|remove_tree|removedirs|fromhex|b64decode|atob|marshal|ctypes|importlib|__import__|child_process)\b|\b(rm|rmdir|unlink|remove)(Sync)?\s*\(` +
		`|\bos\.(remove|unlink|rmdir|system|popen|exec|spawn)|\b(exec|eval|compile|getattr|system|popen|spawn|shell_exec|Function)\s*\(|\bsubprocess\.\w+\(\s*[^\[\s"']|\b(system|exec|unlink|rmdir)\s+[\w"'$@]|\bqx\b`)
	listRemove = regexp.MustCompile(`\.remove\s*\(`)
	aims       = regexp.MustCompile(`\b(open|Path|writeFile|writeFileSync)\(\s*([A-Za-z_]\w*\s*[^\w\s,)]|f["']|["'][^"'\n]*["']\s*[+%])`)
	arguments  = regexp.MustCompile(`\b(sys|process)\.argv`)
	inQuotes   = regexp.MustCompile(`"([^"\n]{1,300})"|'([^'\n]{1,300})'`)
)

// runsNothing reports whether a program runs nothing of its arguments, and of what it reads.
func runsNothing(words []string) bool {
	name, args := programName(words[0]), words[1:]
	first := slices.IndexFunc(args, func(w string) bool { return !option(w) })
	switch {
	case name == "sed", name == "awk":
		return !slices.ContainsFunc(args, map[string]func(string) bool{"sed": sedWrites, "awk": awkWrites}[name])
	case name == "git":
		return first == 0 && talkers[args[0]] && !slices.ContainsFunc(args, func(w string) bool { return strings.HasPrefix(w, "-O") || strings.HasPrefix(w, "--open") })
	case builders[name] || subcommands[name] != "":
		return first >= 0 && getters[args[first]]
	}
	return inert[name] && !slices.ContainsFunc(args, func(w string) bool { return name == "printf" && strings.HasPrefix(w, "-v") })
}

// splits reports whether a word that is not known may be several words, or an option: it is not in quotes, or a list.
func (l *Line) splits(w *syntax.Word) bool {
	for _, p := range w.Parts {
		list := false
		syntax.Walk(p, func(n syntax.Node) bool {
			x, ok := n.(*syntax.ParamExp)
			list = list || ok && (x.Index != nil || x.Param != nil && (x.Param.Value == "@" || x.Param.Value == "*"))
			return !list
		})
		_, quotes := p.(*syntax.DblQuoted)
		x, simple := p.(*syntax.ParamExp)
		_, lit := p.(*syntax.Lit)
		if list || !quotes && !lit && !(simple && x.Param != nil && l.covered[x.Param.Value]) {
			return true
		}
	}
	return false
}

// suffix returns the name at the end of a path whose directory is not known; "": there is none.
func suffix(w *syntax.Word) string {
	text := printed(w)
	text = strings.TrimSuffix(text, `"`)
	if i := strings.LastIndexByte(text, '/'); i >= 0 && !strings.ContainsAny(text[i:], "$`'\\\"*?[{") {
		return text[i+1:]
	}
	return ""
}

// loose returns the words of a text in which a command may be, whatever is between them.
func loose(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_./~*-^", r)
	})
}

// perhaps notes words in which a command may begin anywhere.
func (l *Line) perhaps(words []string) {
	if l.Unclear = l.Unclear || len(l.tokens)+len(words) > maxTokens; !l.Unclear {
		l.tokens = append(append(l.tokens, words...), "")
	}
}

// Perhaps calls do for each place at which a command may begin that the line runs without being seen to, until it returns false.
func (l *Line) Perhaps(do func(words []string) bool) {
	for i, w := range l.tokens {
		if w != "" && !do(l.tokens[i:min(i+maxWindow, len(l.tokens))]) {
			return
		}
	}
}

// hidden looks for commands in the arguments of a command.
func (l *Line) hidden(c *LineCommand, words []string) {
	program := programName(words[0])
	switch {
	case program == "git":
		l.gitHides(words)
	case program == "hash" && slices.Contains(words, "-p"):
		l.Unclear = true
	case slices.Contains([]string{"test", "[", "unset", "export", "printf", "wait", "read", "set"}, program): // they evaluate what is in the index of an array
		l.Unclear = l.Unclear || slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, "[") && strings.ContainsAny(w, "`$") })
	}
	if _, carries := carriers[program]; program != "env" && carries && !texts[program] && program != "entr" || runsNothing(words) {
		return
	}
	var all []string
	if program == "sed" || program == "awk" { // it may write to files
		c.Names = append(c.Names, loose(strings.Join(words[1:], " "))...)
	}
	for _, w := range words[1:] {
		if all = append(all, loose(w)...); option(w) && strings.Contains(w, " ") { // the value of an option of one letter
			all = append(append(all, ""), loose(w[2:])...)
		} else if w == "" {
			all = append(all, "")
		} else if languages.MatchString(program) && strings.ContainsAny(w, "(; =\n\"'") {
			l.code(c, w)
		}
	}
	l.perhaps(all)
}

// gitHides notes what git runs by its settings, and commands that are none of git's own: aliases.
func (l *Line) gitHides(words []string) {
	l.Unclear = l.Unclear || slices.ContainsFunc(words, gitRuns.MatchString)
	for i := 1; i < len(words); i++ {
		switch w := words[i]; {
		case slices.Contains([]string{"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"}, w):
			i++
		case w == "" || !option(w):
			l.Unclear = l.Unclear || w != "" && !gitCmds[w]
			return
		}
	}
}

// code looks for commands and files in a program of another language.
func (l *Line) code(c *LineCommand, text string) {
	l.perhaps(loose(text))
	plain := listRemove.ReplaceAllString(strings.ReplaceAll(text, "re.compile(", ""), "")
	l.Unclear = l.Unclear || acts.MatchString(plain) || strings.Contains(text, "os.remove")
	for _, m := range inQuotes.FindAllStringSubmatch(text, -1) {
		if name := m[1] + m[2]; len(c.Names) < maxGlob && !strings.ContainsAny(name, " ()%") {
			c.Names = append(c.Names, name)
		}
	}
	if aims.MatchString(arguments.ReplaceAllString(text, "argv")) {
		c.Under = append(c.Under, "")
	}
}

// given looks for commands in a text that a command reads; "": it is not known, and nothing is looked for.
func (l *Line) given(c *LineCommand, n syntax.Node, text string) {
	if n == nil || text == "" {
		return
	}
	syntax.Walk(n, func(n syntax.Node) bool {
		if x, ok := n.(*syntax.CallExpr); ok {
			if words := l.words(x); len(words) > 0 && languages.MatchString(programName(words[0])) {
				l.code(c, text)
			} else if len(words) > 0 && !runsNothing(words) || len(words) > 0 && words[0] == "read" {
				l.perhaps(loose(text))
			}
		}
		return true
	})
}

// ran looks for commands in the texts that a line writes to files which it may run, or makes it unclear.
func (l *Line) ran() {
	for _, c := range l.Commands {
		written := c.Wrote
		if len(c.Words) > 0 && c.Words[0][0] == "tee" {
			written = c.Words[0][1:]
		}
		for _, name := range written {
			base := programName(name)
			if !slices.ContainsFunc(l.Commands, func(c LineCommand) bool {
				return slices.ContainsFunc(c.Words, func(w []string) bool {
					program := programName(w[0])
					ok, all := operands(w)
					return program == base || ok && programName(all[len(all)-1]) == base && !slices.Contains(w, "-") && (takesScript(program) || languages.MatchString(program))
				})
			}) {
				continue
			}
			if c.text == "" {
				l.Unclear = true
			} else {
				l.code(&LineCommand{}, c.text)
			}
		}
	}
}
