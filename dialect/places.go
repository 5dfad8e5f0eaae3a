package dialect

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Paths yields the words of a text that may be paths: those with a slash that
// are no addresses of the web.
func Paths(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r <= ' ' || strings.ContainsRune("\"'`()<>[]{},;|&=", r) }) {
			word = strings.TrimRight(word, ".:!?")
			if strings.Contains(word, "/") && len(word) < 1024 && !strings.Contains(word, "://") && !yield(word) {
				return
			}
		}
	}
}

// Changes reports whether what a Shell runs may change something: unless every
// command of it only looks.
func (a *Action) Changes() bool { return a.lineEffects().changes }

// effects is what a command line may do beside what it is for.
type effects struct {
	changes bool // something, perhaps
	quiet   bool // no command of it prints files
}

// lineEffects are those of the action's command line, which is parsed once.
func (a *Action) lineEffects() effects {
	if a.effects == nil {
		file, err := parseShell(a.Command)
		a.effects = &effects{changes: err != nil || changes(file), quiet: err == nil && len(a.Command) <= maxQuiet && quiet(file)}
	}
	return *a.effects
}

// changes reports whether not every command of a command line only looks.
func changes(file *syntax.File) bool {
	looks := true
	syntax.Walk(file, func(n syntax.Node) bool {
		switch x := n.(type) {
		case *syntax.CallExpr:
			looks = looks && (len(x.Args) == 0 || looking(x.Args))
		case *syntax.Redirect:
			looks = looks && (x.Op == syntax.RdrIn || x.Op == syntax.DplOut || literal(x.Word) == "/dev/null")
		}
		return looks
	})
	return !looks
}

// looking reports whether a command only looks.
func looking(args []*syntax.Word) bool {
	name := literal(args[0])
	for i, w := range args[1:] {
		switch word := literal(w); {
		case name == "sed" && strings.HasPrefix(word, "-i"), name == "find" && (strings.HasPrefix(word, "-exec") || word == "-delete"):
			return false
		case name == "git" && word != "" && word[0] != '-' && literal(args[i]) != "-C" && literal(args[i]) != "-c":
			return slices.Contains([]string{"log", "show", "diff", "status", "blame", "grep", "ls-files", "rev-parse"}, word)
		}
	}
	return lookers[name]
}

var lookers = set(`
	cd ls cat head tail grep egrep fgrep rg ag find wc sed awk nl less more file stat tree which type echo printf pwd du df
	sort uniq cut tr column jq diff cmp test [ true false basename dirname realpath readlink strings xxd od ps date`)
