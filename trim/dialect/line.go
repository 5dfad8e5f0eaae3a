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
	Dir, Home string                                   // absolute: the agent's directory, and that of the person
	In        string                                   // the directory that the call names for the line; "": none. An agent may not heed it
	Glob      func(pattern string, left *int) []string // the files that a pattern of the shell names: it looks at so many names at most, and takes them off
}

// LineCommand is one simple command of a command line.
type LineCommand struct {
	Words [][]string // its words; then those of each command that it may run, as after sudo. A word "" is not known before it runs
	Maybe [][]string // the same words, if a variable has another value than the line sets
	Exact bool       // no variable is set for it, or is in it: a rule that allows may count
	Text  string     // without redirections
	Names []string   // words that may be files
	Reads []string   // files of its redirections
	Wrote []string
	Under []string // directories of files that are not known before it runs; "": any
	Split bool     // of Words: one that is not known may be several, or an option
	Says  string   // what it writes to Wrote; "": not known
}

// Line is a command line that is taken apart.
type Line struct {
	place    Place
	left     int                      // how many names of files are looked at
	covered  map[string]bool          // variables of loops over words that are known
	listed   map[syntax.Node][]string // commands that read names of files, and the directories of these
	vars     map[string]string        // that it sets, each once, to a word that is known; "": to another
	sure     map[string]bool          // those that have this value wherever they are used
	resolved bool                     // one of them was taken since this was set to false
	doubt    bool                     // the same of one that is not sure
	defines  bool                     // functions, whose names may be those of programs
	Dirs     []string                 // in which its commands may run: the agent's, the call's, and those of cd
	Lost     bool                     // these are not all
	Many     bool                     // its patterns may name more files than were looked at
	Commands []LineCommand
	Texts    []Text // that it has, but does not run
	Unclear  bool   // a part of it cannot be parsed, or is a command that is not known before it runs
}

// Text is a text in a command line, and the command that reads it; nil: it is the value of a variable.
type Text struct {
	Words []string
	Text  string
}

// maxDirs is how many directories a command line may run in.
const maxDirs = 16

// maxNested is how often a command line may be in another, as in sh -c "…".
const maxNested = 5

// ParseLine takes a command line apart: the commands of its substitutions, functions and nested shells are among them.
func ParseLine(text string, at Place) *Line {
	l := &Line{place: at, left: maxNames, Dirs: []string{at.Dir}, vars: map[string]string{"PWD": ".", "OLDPWD": ".", "HOME": at.Home}}
	l.covered, l.listed = map[string]bool{}, map[syntax.Node][]string{}
	if at.In != "" {
		l.enter(at.In)
	}
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
	l.sure = nil // in a nested command line the variables may be others
	if depth == 0 {
		l.sure = l.certain(file, text)
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch x := n.(type) {
		case *syntax.Assign:
			l.assign(x)
		case *syntax.FuncDecl: // what a shell in it reads is not known here
			l.Unclear, l.defines = l.Unclear || l.reads(x.Body, false), true
		case *syntax.ProcSubst:
			l.Unclear = l.Unclear || x.Op == syntax.CmdOut && l.reads(&syntax.Block{Stmts: x.Stmts}, true)
		}
		s, ok := n.(*syntax.Stmt)
		if !ok {
			return true
		}
		var c LineCommand
		switch x := s.Cmd.(type) {
		case *syntax.BinaryCmd:
			if x.Op == syntax.Pipe || x.Op == syntax.PipeAll {
				l.piped(x, depth)
			}
			c.Exact = true
		case *syntax.ForClause:
			c.Text = printed(x)
			if words, ok := x.Loop.(*syntax.WordIter); ok {
				known := len(words.Items) > 0
				for _, w := range words.Items {
					for _, w := range braceWords(w) {
						text, glob := l.literal(w)
						known = known && text != ""
						c.Names = append(c.Names, l.files(text, glob)...)
					}
				}
				l.covered[words.Name.Value] = known
			}
		case *syntax.CallExpr:
			c = l.call(x, depth)
		case *syntax.DeclClause, *syntax.LetClause, *syntax.ArithmCmd: // a variable such as PATH changes what later commands are
			c.Text = "export x=y"
			l.declared(s)
		case *syntax.TestClause:
			l.declared(s)
		case nil:
		default:
			c.Exact = true
		}
		for _, r := range s.Redirs {
			l.redirect(&c, s, r, depth)
		}
		switch s.Cmd.(type) {
		case *syntax.CallExpr, *syntax.DeclClause, *syntax.LetClause, *syntax.ArithmCmd:
			l.Commands = append(l.Commands, c)
		default:
			if len(c.Names)+len(c.Reads)+len(c.Wrote) > 0 {
				l.Commands = append(l.Commands, c)
			}
		}
		return true
	})
}

func printed(n syntax.Node) string {
	var b strings.Builder
	if syntax.NewPrinter().Print(&b, n) != nil {
		return ""
	}
	return b.String()
}

func (l *Line) call(x *syntax.CallExpr, depth int) (c LineCommand) {
	if len(x.Args) == 0 {
		c.Text = "x=y"
		return c
	}
	c.Text = printed(&syntax.CallExpr{Args: x.Args})
	var words, known []string // known: without the values of variables that are not sure
	l.resolved = false
	for _, w := range x.Args {
		for _, w := range braceWords(w) {
			l.doubt = false
			text, glob := l.literal(w)
			if glob && len(words) == 0 && text != "[" {
				text = "" // a program whose name is found when it runs
			}
			if c.Split = c.Split || text == "" && l.splits(w); text == "" && len(words) == 0 {
				text = suffix(w)
			}
			words = append(words, text)
			c.Names = append(c.Names, l.files(text, glob)...)
			if c.Under = append(c.Under, l.under(words, w)...); glob && strings.Contains(text, "**") { // in some shells at any depth
				c.Under = append(c.Under, text[:strings.LastIndexByte(text[:strings.Index(text, "**")], '/')+1])
			}
			if l.doubt {
				text = ""
			}
			known = append(known, text)
		}
	}
	if len(words) == 0 {
		return c
	}
	if name, ok := strings.CutPrefix(words[0], "="); ok && name != "" { // of zsh: a program by its name
		words[0], known[0] = name, name
	}
	var adds bool
	c.Words, adds = l.commands(x, words)
	c.Split = c.Split || adds
	if !slices.Equal(known, words) {
		c.Maybe, _ = l.commands(x, known)
	}
	l.Unclear = l.Unclear || len(c.Words) >= maxRun
	c.Under = append(c.Under, l.read(x, c.Words)...)
	l.substituted(x, c.Words, depth)
	c.Exact = len(x.Assigns) == 0 && !l.resolved
	switch first := ProgramName(words[0]); first {
	case "cd", "pushd":
		if to := words[len(words)-1]; len(words) > 1 && !strings.HasPrefix(to, "+") && to != "-" { // else it is one of those
			l.enter(to)
		}
	case "echo", "printf":
		c.Says = strings.Join(words[1:], " ")
		if c.Names = nil; slices.Contains(words, "") {
			c.Says = ""
		}
	}
	for i, w := range words {
		if to, long := strings.CutPrefix(w, "--chdir="); long || goes[ProgramName(words[0])] && (w == "-C" || w == "--chdir" || w == "--directory") && i+1 < len(words) {
			if !long {
				to = words[i+1]
			}
			l.enter(to)
		}
	}
	for _, words := range slices.Concat(c.Words, c.Maybe) {
		for _, text := range scripts(words) {
			l.script(text, depth)
		}
	}
	return c
}

// goes are programs that work in the directory of their option -C.
var goes = set("env git make gmake tar bsdtar sudo ninja go")

// enter notes that commands may run in a directory; "": it is not known.
func (l *Line) enter(to string) {
	l.Lost = l.Lost || to == ""
	for _, d := range slices.Clone(l.Dirs) {
		if to := absolute(d, to); slices.Contains(l.Dirs, to) {
			continue
		} else if l.Lost = l.Lost || len(l.Dirs) == maxDirs; !l.Lost {
			l.Dirs = append(l.Dirs, to)
		}
	}
}

func (l *Line) redirect(c *LineCommand, s *syntax.Stmt, r *syntax.Redirect, depth int) {
	switch r.Op {
	case syntax.DplOut:
		return
	case syntax.DplIn:
		l.Unclear = l.Unclear || l.reads(s.Cmd, true)
		return
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		w := r.Hdoc
		if r.Op == syntax.WordHdoc {
			w = r.Word
		}
		text := l.surely(w)
		if l.reads(s.Cmd, true) {
			l.script(text, depth)
		}
		c.Says = text
		l.given(s.Cmd, text)
		return
	case syntax.RdrIn:
		if from := substitution(r.Word); from != nil && l.reads(s.Cmd, true) {
			l.script(l.output(from), depth)
		}
	}
	to, glob := l.literal(r.Word)
	if to == "/dev/null" {
		return
	}
	c.Under = append(c.Under, l.under(nil, r.Word)...)
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
			if user, rest, _ := strings.Cut(s, "/"); i == 0 && strings.HasPrefix(user, "~") {
				switch strings.Trim(user, "0123456789") {
				case "~":
					s = l.place.Home + s[1:]
				case "~+", "~-": // one of those in which the line works
					s = "./" + rest
				default:
					return "", false
				}
			}
			glob = glob || strings.ContainsAny(s, "*?[")
			b.WriteString(strings.ReplaceAll(s, `\`, ""))
		case *syntax.SglQuoted:
			value, err := expand.Literal(nil, &syntax.Word{Parts: []syntax.WordPart{x}})
			if err != nil {
				return "", false
			}
			b.WriteString(value)
		case *syntax.DblQuoted:
			parts = slices.Concat(parts[:i+1], quoted(x.Parts), parts[i+1:])
		case *syntax.ParamExp:
			if x.Param == nil || x.Exp != nil || x.Repl != nil || x.Slice != nil || x.Index != nil || x.Excl || x.Length {
				return "", false
			}
			value := l.vars[x.Param.Value]
			if value == "" {
				return "", false
			}
			if !slices.Contains([]string{"PWD", "OLDPWD", "HOME"}, x.Param.Value) {
				l.resolved, l.doubt = true, l.doubt || !l.sure[x.Param.Value]
			}
			b.WriteString(value)
		case *syntax.CmdSubst:
			switch strings.Join(strings.Fields(strings.Trim(printed(&syntax.Block{Stmts: x.Stmts}), "{}; \n")), " ") {
			case "pwd":
				b.WriteString(".")
			case "mktemp", "mktemp -d": // outside, wherever it is
				b.WriteString("/tmp/mktemp")
			default:
				return "", false
			}
			if _, moved := l.vars["TMPDIR"]; moved || l.defines {
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

// maxNames is how many names of files are looked at for the patterns of a line.
const maxNames = 10_000

// maxGlob is how many files a word may stand for. Of a word with more, the others are left out: the guard asks about half as many.
const maxGlob = 2000

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
				found := l.place.Glob(absolute(d, n), &l.left)
				l.Many = l.Many || l.left < 0
				names = append(names, found[:min(len(found), maxGlob)]...)
			}
		}
	}
	return names
}

// carriers run the command in their arguments, after so many words of their own. In those of find and git a word says where it begins: see begins.
var carriers = map[string]int{
	"sudo": 0, "doas": 0, "pkexec": 0, "runuser": 0, "su": 1, "sg": 1, "env": 0, "nice": 0, "ionice": 0, "chrt": 1, "taskset": 1, "nohup": 0, "setsid": 0, "setpriv": 0,
	"unshare": 0, "chroot": 1, "flock": 1, "stdbuf": 0, "unbuffer": 0, "script": 1, "time": 0, "timeout": 1, "gtimeout": 1, "strace": 0, "ltrace": 0, "watch": 0, "entr": 0,
	"xargs": 0, "parallel": 0, "command": 0, "exec": 0, "builtin": 0, "busybox": 0, "caffeinate": 0, "arch": 0, "systemd-run": 0,
}

var begins = map[string][]string{"find": {"-exec", "-execdir", "-ok", "-okdir"}, "git": {"foreach", "run"}}

// maxRun is how many commands a command may run in its arguments. One with more is not clear.
const maxRun = 100

// commandsOf returns a command, and those that it runs in its arguments. The word after an option may be its value, so the command may begin there
// and after it.
func commandsOf(words []string) [][]string {
	if len(words) == 0 {
		return nil
	}
	all, program := [][]string{words}, ProgramName(words[0])
	also := func(rest []string) bool {
		all = append(all, commandsOf(rest)...)
		return len(all) < maxRun
	}
	for i, w := range words {
		if slices.Contains(begins[program], w) && !also(words[i+1:]) {
			return all
		}
	}
	own, runs := carriers[program]
	option := false
	for i := 1; i < len(words) && runs; i++ {
		switch w := words[i]; {
		case strings.HasPrefix(w, "-"):
			option = !strings.Contains(w, "=") && !(len(w) > 2 && w[1] != '-' && strings.ContainsAny(w[len(w)-1:], "0123456789}"))
			continue
		case strings.Contains(w, "="):
			continue
		}
		runs = also(words[i:]) && (option || own > 0)
		if !option {
			own--
		}
		option = false
	}
	return all
}

// absolute returns a path that may be relative to a directory.
func absolute(dir, p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(dir, p)
}

// ProgramName returns the name of a program from its path, also as zsh writes one: "=ls".
func ProgramName(name string) string {
	return strings.TrimPrefix(name[strings.LastIndexByte(name, '/')+1:], "=")
}
