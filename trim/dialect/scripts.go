package dialect

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// The command lines that a command runs as a shell does: it is given them as words, or reads them from a pipe, a redirection or a substitution. One that
// is not known makes the line unclear.

// shells take a command line with -c, or read it.
var shells = set("sh bash rbash zsh dash ksh mksh ash fish")

// starters start a shell that reads its command line.
var starters = set("su runuser at batch")

// texts take command lines as words.
var texts = set("watch parallel trap alias su runuser sg flock script")

// reads reports whether a command, or one in it, is a shell that reads its command line; maybe: also a program that is not known.
func (l *Line) reads(n syntax.Node, maybe bool) (found bool) {
	if n == nil {
		return false
	}
	syntax.Walk(n, func(n syntax.Node) bool {
		if x, ok := n.(*syntax.CallExpr); ok {
			found = found || slices.ContainsFunc(commandsOf(l.words(x)), func(words []string) bool {
				return readsScript(words) || maybe && words[0] == ""
			})
		}
		return !found
	})
	return found
}

// piped adds the command line that a shell gets from the command before it, as in echo … | sh.
func (l *Line) piped(x *syntax.BinaryCmd, depth int) {
	from := x.X // the last command before the bar
	for b, ok := from.Cmd.(*syntax.BinaryCmd); ok; b, ok = from.Cmd.(*syntax.BinaryCmd) {
		from = b.Y
	}
	text := ""
	if call, ok := from.Cmd.(*syntax.CallExpr); ok {
		if words := l.words(call); len(words) > 0 {
			if listers[ProgramName(words[0])] || words[0] == "git" && slices.Contains(words, "ls-files") {
				l.listed[x.Y.Cmd] = []string{""}
			}
			if words[0] == "find" {
				l.listed[x.Y.Cmd] = searched(words[1:])
			}
			if slices.Contains([]string{"echo", "printf", "cat"}, words[0]) {
				text = strings.Join(words[1:], " ")
			}
		}
		for _, r := range from.Redirs {
			if r.Hdoc != nil {
				text = l.surely(r.Hdoc)
			}
		}
	}
	l.given(x.Y, text)
	if l.reads(x.Y, true) {
		l.script(l.output(x.X), depth)
	}
}

// searched returns the directories in which find looks; "": any.
func searched(args []string) []string {
	if slices.ContainsFunc(args, func(w string) bool { return strings.HasPrefix(w, "-files0-from") }) {
		return []string{""}
	}
	for len(args) > 0 && option(args[0]) {
		args = args[1:]
	}
	end := slices.IndexFunc(args, func(w string) bool { return option(w) || w == "(" || w == "!" })
	if end < 0 {
		end = len(args)
	}
	if end == 0 {
		return []string{"."}
	}
	return slices.Clone(args[:end])
}

// listers print names of files, which are no options.
var listers = set("find fd ls rg grep tree locate")

// commands returns a command and those that it runs in its arguments. What xargs adds to theirs is not known, and adds says that it may be options.
func (l *Line) commands(x *syntax.CallExpr, words []string) (all [][]string, adds bool) {
	program := ProgramName(words[0])
	if sign := replaced(program, words); sign != "" {
		words = slices.Clone(words)
		for i, w := range words[1:] {
			if words[i+1] = strings.ReplaceAll(w, sign, "$_"); w == sign && (i == 0 || strings.HasPrefix(words[i], "-")) {
				words[i+1] = ""
			}
		}
		return commandsOf(words), false
	}
	all = commandsOf(words)
	if adds = program == "xargs" && len(all) > 1 && l.listed[x] == nil; adds {
		for i := range all {
			all[i] = append(slices.Clone(all[i]), "")
		}
	}
	return all, adds
}

// replaced returns the sign for which a command puts what it reads into the arguments of another; "": it has none.
func replaced(program string, words []string) string {
	if program == "find" || program == "parallel" {
		return "{}"
	}
	for i, w := range words[1:] {
		if rest, ok := strings.CutPrefix(w, "-I"); program == "xargs" && ok && rest == "" && i+2 < len(words) {
			return words[i+2]
		} else if program == "xargs" && ok && rest != "" {
			return rest
		}
	}
	return ""
}

// substituted adds the command lines that a shell gets as <(…), or from a file that another command has opened.
func (l *Line) substituted(x *syntax.CallExpr, commands [][]string, depth int) {
	if !slices.ContainsFunc(commands, func(words []string) bool { return TakesScript(ProgramName(words[0])) }) {
		return
	}
	for _, w := range x.Args {
		text, _ := l.literal(w)
		if from := substitution(w); from != nil {
			l.script(l.output(from), depth)
		} else if strings.HasPrefix(text, "/dev/fd/") || strings.HasPrefix(text, "/proc/") {
			l.Unclear = true
		}
	}
}

// substitution returns the last command of a word with <(…); nil: it has none.
func substitution(w *syntax.Word) *syntax.Stmt {
	for _, p := range w.Parts {
		if x, ok := p.(*syntax.ProcSubst); ok && len(x.Stmts) == 1 {
			return x.Stmts[0]
		} else if ok {
			return &syntax.Stmt{}
		}
	}
	return nil
}

// output returns what a command prints; "": it is not known. If it may be another text, the line is unclear.
func (l *Line) output(s *syntax.Stmt) (text string) {
	var words []string
	if x, ok := s.Cmd.(*syntax.CallExpr); ok {
		words = l.words(x)
	}
	if len(words) > 0 && (words[0] == "echo" || words[0] == "printf") {
		first := 1
		for first < len(words) && (words[0] == "echo" && len(words[first]) > 1 && strings.Trim(words[first][1:], "neE") == "" || words[0] == "printf" && words[first] == "--") {
			first++
		}
		text = strings.Join(words[first:], " ")
		l.Unclear = l.Unclear || slices.Contains(words, "") || strings.HasPrefix(text, "-") || strings.Contains(text, `\`) || words[0] == "printf" && strings.Contains(text, "%")
	}
	for _, r := range s.Redirs {
		if r.Hdoc != nil {
			text = l.surely(r.Hdoc)
		} else if r.Op == syntax.WordHdoc {
			text = l.surely(r.Word)
		}
	}
	if len(s.Redirs) > 0 && !slices.Equal(words, []string{"cat"}) {
		l.Unclear = true
	}
	return text
}

// words returns the words of a command; "": not known.
func (l *Line) words(x *syntax.CallExpr) (words []string) {
	for _, w := range x.Args {
		for _, w := range braceWords(w) {
			text := l.surely(w)
			if _, glob := l.literal(w); glob && len(words) == 0 {
				text = ""
			}
			words = append(words, text)
		}
	}
	return words
}

// script adds a command line that a command of this one runs; "": it is not known.
func (l *Line) script(text string, depth int) {
	if l.Unclear = l.Unclear || text == ""; text != "" {
		sure := l.sure
		l.add(text, depth+1)
		l.sure = sure
	}
}

// scripts returns the command lines that a command is given as words; "": one is not known.
func scripts(words []string) (all []string) {
	program := ProgramName(words[0])
	switch {
	case program == "eval" && slices.Contains(words, ""):
		return []string{""}
	case program == "eval":
		return []string{strings.Join(words[1:], " ")}
	case shells[program]:
		all = commandOptions(words)
	}
	for i, w := range words[1:] {
		if program == "env" && !option(w) && !strings.Contains(w, "=") && (i == 0 || !option(words[i])) {
			break // the command begins
		}
		name, value, long := strings.Cut(w, "=")
		s := strings.IndexByte(w, 'S')
		switch {
		case program == "env" && strings.HasPrefix(w, "--s"), shells[program] && strings.HasPrefix(name, "--com"):
			all = append(all, strings.TrimSpace(value+" "+strings.Join(words[i+2:], " ")))
		case program == "env" && s > 0 && w[0] == '-' && w[1] != '-':
			all = append(all, strings.TrimSpace(w[s+1:]+" "+strings.Join(words[i+2:], " ")))
		case texts[program] && strings.ContainsAny(w, " \t\n;|&"):
			all = append(all, w)
			if _, joined, ok := strings.Cut(w, "c"); option(w) && long {
				all = append(all, value)
			} else if option(w) && ok {
				all = append(all, joined)
			}
		}
	}
	return all
}

// commandOptions returns the words of a shell that may be the command line of its option -c: the first one, and those before it that may be values.
func commandOptions(words []string) []string {
	c := slices.IndexFunc(words, func(w string) bool {
		return strings.HasPrefix(w, "-") && letters(w, "c")
	})
	if c < 1 {
		return nil
	}
	_, all := operands(words[c:])
	return all
}

// operands returns the first word after the options, and before it those that may be values of options: all of them, the last one being the operand. ok is
// false if there is none.
func operands(words []string) (ok bool, all []string) {
	for i := 1; i < len(words); i++ {
		if option(words[i]) {
			continue
		}
		all = append(all, words[i])
		before := words[i-1]
		if !option(before) || !strings.HasPrefix(before, "--rcfile") && !strings.HasPrefix(before, "--init") && !letters(before, "oO") {
			return true, all
		}
	}
	return false, all
}

// letters reports whether a word is a group of options of one letter, with one of these in it.
func letters(w, some string) bool {
	return option(w) && !strings.HasPrefix(w, "--") && strings.ContainsAny(w, some)
}

func option(w string) bool { return strings.HasPrefix(w, "-") || strings.HasPrefix(w, "+") }

// Script returns the first operand of a command, which may be a file that it runs; "": there is none, or it runs what it reads.
func Script(words []string) string {
	if ok, all := operands(words); ok && !slices.Contains(words, "-") {
		return all[len(all)-1]
	}
	return ""
}

// Carries reports whether a program runs the command in its arguments, and nothing else that it is given.
func Carries(program string) bool {
	_, ok := carriers[program]
	return ok && !texts[program] && program != "env" && program != "entr"
}

// TakesScript reports whether a program runs the command line in a file.
func TakesScript(program string) bool {
	return shells[program] || program == "source" || program == "."
}

// readsScript reports whether a command is a shell that reads its command line, or gives its input to the commands after it.
func readsScript(words []string) bool {
	switch program := ProgramName(words[0]); {
	case program == "exec":
		return len(words) == 1
	case starters[program], program == "parallel" && !slices.ContainsFunc(words[1:], func(w string) bool { return !option(w) && w != "" }):
		return true
	case program == "sudo", program == "doas":
		for i, w := range words[1:] {
			switch {
			case strings.HasPrefix(w, "--sh"), strings.HasPrefix(w, "--lo"), letters(w, "si"):
				return true
			case !option(w) && !option(words[i]):
				return false // the command begins
			}
		}
		return false
	case !TakesScript(program), shells[program] && len(commandOptions(words)) > 0:
		return false
	}
	ok, all := operands(words)
	if !ok {
		return true
	}
	file := all[len(all)-1]
	return slices.ContainsFunc(words, func(w string) bool { return letters(w, "s") }) || file == "" || strings.HasPrefix(file, "/dev/") || strings.HasPrefix(file, "/proc/")
}

// given notes the text that commands read; "": it is not known. A program of another language that is not known makes the line unclear.
func (l *Line) given(n syntax.Node, text string) {
	if n == nil {
		return
	}
	syntax.Walk(n, func(n syntax.Node) bool {
		if x, ok := n.(*syntax.CallExpr); ok {
			words := l.words(x)
			if len(words) > 0 && text != "" {
				l.Texts = append(l.Texts, Text{words, text})
			}
			l.Unclear = l.Unclear || text == "" && len(words) > 0 && interpreters[ProgramName(words[0])] && (len(words) == 1 || words[1] == "-")
		}
		return true
	})
}
