package dialect

import (
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// Place is where a command line runs.
type Place struct {
	Dir, Home string                        // absolute: the directory, and that of the person
	Glob      func(pattern string) []string // the files that a pattern of the shell names
}

// LineCommand is one simple command of a command line.
type LineCommand struct {
	Words [][]string // its words; then, without the programs that only run the rest, such as sudo: the first is as it is written. A word "" is not known before it runs
	Exact bool       // no variable is set for it: a rule that allows may count
	Text  string     // without redirections
	Names []string   // words that may be files; "": not known
	Reads []string   // files of its redirections; "": not known
	Wrote []string
}

// Line is a command line that is taken apart.
type Line struct {
	place    Place
	Dirs     []string // in which its commands may run: the agent's, and those of cd
	Commands []LineCommand
	Unclear  bool // a part of it cannot be parsed
}

// maxNested is how often a command line may be in another, as in sh -c "…".
const maxNested = 5

// ParseLine takes a command line apart: the commands of its substitutions, functions and nested shells are among them.
func ParseLine(text string, at Place) *Line {
	l := &Line{place: at, Dirs: []string{at.Dir}}
	l.add(text, 0)
	if len(l.Commands) == 0 {
		l.Commands = []LineCommand{{}}
	}
	return l
}

func (l *Line) add(text string, depth int) {
	defer func() {
		if recover() != nil { // of the parser: the line is one that it cannot take apart
			l.Unclear = true
		}
	}()
	file, err := syntax.NewParser().Parse(strings.NewReader(text), "")
	if err != nil || depth > maxNested {
		l.Unclear = true
		return
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		s, ok := n.(*syntax.Stmt)
		if !ok {
			return true
		}
		var c LineCommand
		switch x := s.Cmd.(type) {
		case *syntax.CallExpr:
			c = l.call(x, depth)
		case *syntax.DeclClause, *syntax.LetClause, *syntax.ArithmCmd: // a variable such as PATH changes what later commands are
			c.Text = "export x=y"
		case nil:
		default:
			c.Exact = true
		}
		for _, r := range s.Redirs {
			l.redirect(&c, r, depth)
		}
		switch s.Cmd.(type) {
		case *syntax.CallExpr, *syntax.DeclClause, *syntax.LetClause, *syntax.ArithmCmd:
			l.Commands = append(l.Commands, c)
		default:
			if len(c.Reads)+len(c.Wrote) > 0 {
				l.Commands = append(l.Commands, c)
			}
		}
		return true
	})
}

func (l *Line) call(x *syntax.CallExpr, depth int) (c LineCommand) {
	if len(x.Args) == 0 {
		c.Text = "x=y"
		return c
	}
	var b strings.Builder
	if syntax.NewPrinter().Print(&b, &syntax.CallExpr{Args: x.Args}) == nil {
		c.Text = b.String()
	}
	var words []string
	for _, w := range x.Args {
		for _, w := range braceWords(w) {
			text, glob := l.literal(w)
			if glob && len(words) == 0 && text != "[" {
				text = "" // a program whose name is found when it runs
			}
			words = append(words, text)
			c.Names = append(c.Names, l.files(text, glob)...)
		}
	}
	if len(words) == 0 {
		return c
	}
	c.Words = append([][]string{words}, unwrapped(words)...)
	c.Exact = len(x.Assigns) == 0
	switch first := programName(words[0]); first {
	case "cd", "pushd":
		for _, d := range slices.Clone(l.Dirs) {
			if len(l.Dirs) < 8 && len(words) > 1 && words[len(words)-1] != "" {
				l.Dirs = append(l.Dirs, absolute(d, words[len(words)-1]))
			}
		}
	case "echo", "printf":
		c.Names = nil
	}
	for _, words := range c.Words {
		if script, ok := script(words); ok {
			l.add(script, depth+1)
		}
	}
	return c
}

func (l *Line) redirect(c *LineCommand, r *syntax.Redirect, depth int) {
	switch r.Op {
	case syntax.DplIn, syntax.DplOut:
		return
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		w := r.Hdoc
		if r.Op == syntax.WordHdoc {
			w = r.Word
		}
		text, _ := l.literal(w)
		if slices.ContainsFunc(c.Words, func(words []string) bool { return shells[programName(words[0])] }) {
			l.add(text, depth+1)
		}
		return
	}
	to, glob := l.literal(r.Word)
	if to == "/dev/null" {
		return
	}
	if files := l.files(to, glob); r.Op == syntax.RdrIn {
		c.Reads = append(c.Reads, files...)
	} else {
		c.Wrote = append(c.Wrote, files...)
	}
}

// literal returns a word without its quotes; "" if it has parts that are not known before it runs. glob says that the rest of it are
// signs that stand for names of files.
func (l *Line) literal(w *syntax.Word) (text string, glob bool) {
	if w == nil {
		return "", false
	}
	var b strings.Builder
	parts := w.Parts
	for i := 0; i < len(parts); i++ {
		switch x := parts[i].(type) {
		case *syntax.Lit:
			s := x.Value
			if rest, ok := strings.CutPrefix(s, "~"); ok && i == 0 && (rest == "" || rest[0] == '/') {
				s = l.place.Home + rest
			}
			glob = glob || strings.ContainsAny(s, "*?[")
			b.WriteString(strings.ReplaceAll(s, `\`, ""))
		case *syntax.SglQuoted:
			if x.Dollar && strings.Contains(x.Value, `\`) {
				return "", false
			}
			b.WriteString(x.Value)
		case *syntax.DblQuoted:
			parts = slices.Concat(parts[:i+1], quoted(x.Parts), parts[i+1:])
		case *syntax.ParamExp:
			if x.Param == nil || x.Exp != nil || x.Repl != nil || x.Slice != nil || x.Index != nil || x.Excl || x.Length {
				return "", false
			}
			switch x.Param.Value {
			case "PWD":
				b.WriteString(l.Dirs[0])
			case "HOME":
				b.WriteString(l.place.Home)
			default:
				return "", false
			}
		default:
			return "", false
		}
	}
	return b.String(), glob
}

// maxBraces is how many words a word with braces may stand for. One with more is not known.
const maxBraces = 1000

// braceWords returns the words for which {a,b} stands.
func braceWords(w *syntax.Word) []*syntax.Word {
	w = &syntax.Word{Parts: slices.Clone(w.Parts)} // the line is walked on
	if !syntax.SplitBraces(w) {
		return []*syntax.Word{w}
	}
	var all []*syntax.Word
	for w, err := range expand.BracesSeq(nil, w) {
		if err != nil || len(all) == maxBraces {
			return []*syntax.Word{{Parts: []syntax.WordPart{&syntax.ParamExp{}}}}
		}
		all = append(all, w)
	}
	return all
}

// quoted returns the parts of a text in double quotes, with each literal in single quotes.
func quoted(parts []syntax.WordPart) (out []syntax.WordPart) {
	unescape := strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\$`, `$`, "\\`", "`", "\\\n", "")
	for _, p := range parts {
		if lit, ok := p.(*syntax.Lit); ok {
			p = &syntax.SglQuoted{Value: unescape.Replace(lit.Value)}
		}
		out = append(out, p)
	}
	return out
}

// maxGlob is how many files a word may stand for. Of a word with more, the others are not looked at.
const maxGlob = 10_000

// files returns the files that a word may name: as it is, after a sign as in --file=x, if=x, @x or HEAD:x, and those that it stands for.
func (l *Line) files(word string, glob bool) (names []string) {
	if word == "" {
		return nil
	}
	if !strings.HasPrefix(word, "-") {
		names = append(names, word)
	}
	for _, sign := range []string{"=", "@", ":"} {
		if _, after, ok := strings.Cut(word, sign); ok && after != "" {
			names = append(names, after)
		}
	}
	if glob {
		for _, n := range slices.Clone(names) {
			for _, d := range l.Dirs {
				found := l.place.Glob(absolute(d, n))
				names = append(names, found[:min(len(found), maxGlob)]...)
			}
		}
	}
	return names
}

// wrappers run the command that follows them.
var wrappers = map[string]bool{
	"sudo": true, "doas": true, "env": true, "nice": true, "ionice": true, "nohup": true, "setsid": true, "stdbuf": true, "time": true, "command": true, "exec": true,
	"timeout": true, "xargs": true, "builtin": true, "busybox": true, "watch": true, "unbuffer": true, "chrt": true, "taskset": true,
}

// unwrapped returns the commands that a command runs: that after sudo and the like, with each word with which it may begin, because the word after an
// option may be the option's value; and those of find -exec.
func unwrapped(words []string) (all [][]string) {
	also := func(words []string) {
		if len(words) > 0 && len(all) < 100 {
			all = append(append(all, words), unwrapped(words)...)
		}
	}
	if b := programName(words[0]); b != words[0] {
		also(append([]string{b}, words[1:]...))
		return all
	}
	if words[0] == "find" {
		for i, w := range words {
			if w == "-exec" || w == "-execdir" || w == "-ok" || w == "-okdir" {
				rest := words[i+1:]
				if end := slices.IndexFunc(rest, func(w string) bool { return w == ";" || w == "+" }); end >= 0 {
					rest = rest[:end]
				}
				also(rest)
			}
		}
	}
	if !wrappers[words[0]] {
		return all
	}
	option := false
	for i, w := range words[1:] {
		switch {
		case strings.HasPrefix(w, "-"):
			option = !strings.Contains(w, "=")
		case strings.Contains(w, "=") || isNumber(w):
			option = false
		default:
			also(words[i+1:])
			if !option {
				return all
			}
			option = false
		}
	}
	return all
}

// shells take a command line with -c.
var shells = map[string]bool{"sh": true, "bash": true, "zsh": true, "dash": true, "ksh": true, "ash": true}

// script returns the command line that a command gives to a shell.
func script(words []string) (text string, ok bool) {
	if words[0] == "eval" {
		return strings.Join(words[1:], " "), true
	}
	if !shells[words[0]] {
		return "", false
	}
	c := slices.IndexFunc(words, func(w string) bool {
		return strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && strings.Contains(w, "c")
	})
	if c < 0 {
		return "", false
	}
	for _, w := range words[c+1:] {
		if !strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "+") {
			return w, true
		}
	}
	return "", false
}

// absolute returns a path that may be relative to a directory.
func absolute(dir, p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(dir, p)
}

func programName(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789.smhd") == "" }
