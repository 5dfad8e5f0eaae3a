package dialect

import (
	"path"
	"strconv"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// Calls of a shell: which command lines only read files, and which lines of which files they print.

// excerpt is what one command of a shell read prints: lines of a file.
type excerpt struct {
	path        string
	first, last int  // the lines asked for; last 0 = to the end
	tail        int  // the last lines of the file, this many; first is unknown
	numbered    bool // each line after its number and a tab
}

// shell reads a call of a shell. A command that only reads files is a Read.
func (r *row) shell(out Action, a args) Action {
	dir := a.text(r.Dir...)
	out.Dir = dir
	v, ok := a.get(r.Command...)
	if !ok {
		return out
	}
	if command, ok := str(v); ok {
		return r.commandLine(out, command, dir)
	}
	list, _ := array(v)
	words := make([]string, 0, len(list))
	for _, e := range list {
		if s, ok := str(e); ok {
			words = append(words, s)
		} else if o, ok := object(e); ok {
			words = append(words, o.text("command"))
		}
	}
	switch {
	case len(words) == 0:
		return out
	case r.Command[0] == "commands": // each element is a command line
		return r.commandLines(out, words, dir)
	case len(words) == 3 && strings.HasPrefix(words[1], "-") && strings.HasSuffix(words[1], "c") && strings.HasSuffix(words[0], "sh"):
		return r.commandLine(out, words[2], dir)
	case len(words) == 2 && words[0] == "apply_patch":
		return applyPatch(out, words[1], dir)
	}
	out.Command = strings.Join(words, " ")
	if p, ok := source(words); ok {
		return out.reading([]excerpt{p}, dir)
	}
	return out
}

// commandLines reads several command lines that are answered one by one.
func (r *row) commandLines(out Action, lines []string, dir string) Action {
	var all []excerpt
	for _, l := range lines {
		one := r.commandLine(out, l, dir)
		if len(one.excerpts) != 1 {
			if len(lines) == 1 {
				return one
			}
			out.Command = strings.Join(lines, "\n")
			return out
		}
		all = append(all, one.excerpts...)
	}
	out.Command = strings.Join(lines, "\n")
	return out.reading(all, "")
}

// commandLine reads a command line.
func (r *row) commandLine(out Action, command, dir string) Action {
	out.Command = command
	if r.Opaque {
		return out
	}
	if strings.Contains(command, patchBegin) && patches(command) {
		return applyPatch(out, command, dir)
	}
	if excerpts := shellReads(command); len(excerpts) > 0 {
		return out.reading(excerpts, dir)
	}
	return out
}

// reading makes a Shell that only reads files a Read.
func (a Action) reading(excerpts []excerpt, dir string) Action {
	for _, p := range excerpts {
		if device(join(dir, p.path)) {
			return a
		}
	}
	a.Op = Read
	a.excerpts = excerpts
	for i := range excerpts {
		p := &excerpts[i]
		p.path = join(dir, p.path)
		a.Targets = append(a.Targets, Target{Path: p.path, First: p.first, Last: p.last})
	}
	return a
}

// patches reports whether a command line that holds a patch only applies it.
func patches(command string) bool {
	head, _, _ := strings.Cut(command, patchBegin)
	words := strings.Fields(head)
	return len(words) > 0 && len(words) <= 3 && words[0] == "apply_patch"
}

// readers are the commands a shell read begins with.
var readers = map[string]bool{"cat": true, "sed": true, "head": true, "tail": true, "nl": true, "cd": true}

// shellReads returns what a command line prints, if all that it does is to
// print lines of files whose parts can be distinguished. It is strict: variables, globs, substitutions, any other
// command and any redirection but 2>/dev/null make it nil.
func shellReads(command string) []excerpt {
	command = strings.TrimSpace(command)
	word, _, _ := strings.Cut(command, " ")
	if !readers[word] || len(command) > 2000 || strings.ContainsAny(command, "`<") {
		return nil
	}
	file, err := parseShell(command)
	if err != nil {
		return nil
	}
	var p shellPlan
	for _, s := range file.Stmts {
		if !p.stmt(s) {
			return nil
		}
	}
	if !separable(p.excerpts) {
		return nil
	}
	return p.excerpts
}

// parsers are used again: one is dear to make.
var parsers = sync.Pool{New: func() any { return syntax.NewParser() }}

// parseShell parses a command line.
func parseShell(command string) (*syntax.File, error) {
	p := parsers.Get().(*syntax.Parser)
	defer parsers.Put(p)
	return p.Parse(strings.NewReader(command), "")
}

// shellPlan gathers what the commands of a command line print.
type shellPlan struct {
	dir      string
	excerpts []excerpt
}

func (p *shellPlan) stmt(s *syntax.Stmt) bool {
	if s.Negated || s.Background || s.Coprocess || s.Disown {
		return false
	}
	for _, r := range s.Redirs {
		if r.Op != syntax.RdrOut || r.N == nil || r.N.Value != "2" || literal(r.Word) != "/dev/null" {
			return false
		}
	}
	switch c := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		switch c.Op {
		case syntax.AndStmt:
			return p.stmt(c.X) && p.stmt(c.Y)
		case syntax.Pipe:
			return p.add(pipeline(c))
		}
	case *syntax.CallExpr:
		words, ok := literals(c)
		if !ok {
			return false
		}
		if words[0] == "cd" {
			if len(words) != 2 || len(p.excerpts) > 0 || words[1] == "" || words[1] == "-" {
				return false
			}
			p.dir = join(p.dir, words[1])
			return true
		}
		return p.add(source(words))
	}
	return false
}

func (p *shellPlan) add(x excerpt, ok bool) bool {
	x.path = join(p.dir, x.path)
	p.excerpts = append(p.excerpts, x)
	return ok
}

// literals returns the words of a command, if all of them are literal.
func literals(c *syntax.CallExpr) ([]string, bool) {
	if len(c.Assigns) > 0 || len(c.Args) == 0 {
		return nil, false
	}
	out := make([]string, len(c.Args))
	for i, w := range c.Args {
		if out[i] = literal(w); out[i] == "" {
			return nil, false
		}
	}
	return out, true
}

// literal returns the text of a word without expansions, or "".
func literal(w *syntax.Word) string {
	var b strings.Builder
	for i, part := range w.Parts {
		switch x := part.(type) {
		case *syntax.Lit:
			v := x.Value
			if i == 0 && strings.HasPrefix(v, "~") && !strings.HasPrefix(v, "~/") || strings.ContainsAny(v, "\\*?[]{}") {
				return ""
			}
			b.WriteString(v)
		case *syntax.SglQuoted:
			if x.Dollar {
				return ""
			}
			b.WriteString(x.Value)
		case *syntax.DblQuoted:
			for _, q := range x.Parts {
				l, ok := q.(*syntax.Lit)
				if !ok || x.Dollar || strings.Contains(l.Value, `\`) {
					return ""
				}
				b.WriteString(l.Value)
			}
		default:
			return ""
		}
	}
	return b.String()
}

// pipeline returns what a pipe of a source and filters prints.
func pipeline(c *syntax.BinaryCmd) (p excerpt, ok bool) {
	switch x := c.X.Cmd.(type) {
	case *syntax.BinaryCmd:
		if x.Op == syntax.Pipe && len(c.X.Redirs) == 0 {
			p, ok = pipeline(x)
		}
	case *syntax.CallExpr:
		plan := shellPlan{}
		if ok = plan.stmt(c.X) && len(plan.excerpts) == 1; ok {
			p = plan.excerpts[0]
		}
	}
	y, isCall := c.Y.Cmd.(*syntax.CallExpr)
	if !ok || !isCall || len(c.Y.Redirs) > 0 || c.Y.Negated {
		return excerpt{}, false
	}
	words, ok := literals(y)
	if !ok {
		return excerpt{}, false
	}
	return filter(p, words)
}

// source returns what a command that names its file prints.
func source(words []string) (excerpt, bool) {
	opts, files := words[1:], []string(nil)
	for len(opts) > 0 && !strings.HasPrefix(opts[len(opts)-1], "-") {
		files = append([]string{opts[len(opts)-1]}, files...)
		opts = opts[:len(opts)-1]
	}
	switch words[0] {
	case "cat", "nl":
		numbered := words[0] == "cat" && len(opts) == 1 && opts[0] == "-n" ||
			words[0] == "nl" && (len(opts) == 1 && (opts[0] == "-ba" || opts[0] == "-b a"))
		if words[0] == "nl" && len(opts) == 1 && opts[0] == "-b" && len(files) == 2 && files[0] == "a" {
			files, numbered = files[1:], true
		}
		if len(files) != 1 || !numbered && (words[0] == "nl" || len(opts) > 0) {
			return excerpt{}, false
		}
		return excerpt{path: clean(files[0]), first: 1, numbered: numbered}, true
	case "head", "tail", "sed":
		if name := words[len(words)-1]; len(words) > 2 && !strings.HasPrefix(name, "-") {
			return filter(excerpt{path: clean(name), first: 1}, words[:len(words)-1])
		}
	}
	return excerpt{}, false
}

func clean(name string) string {
	if strings.HasPrefix(name, "./") {
		return path.Clean(name)
	}
	return name
}

// filter returns what is left of an excerpt that goes through head, tail, sed or
// cat.
func filter(p excerpt, words []string) (excerpt, bool) {
	if p.tail > 0 {
		return p, false
	}
	args := words[1:]
	switch words[0] {
	case "cat":
		return p, len(args) == 0
	case "head", "tail":
		if words[0] == "head" && len(args) == 0 {
			args = []string{"-10"}
		}
		n, sign, ok := count(args)
		switch {
		case !ok || n <= 0:
			return p, false
		case words[0] == "head" && sign == 0:
			return p.window(1, n)
		case words[0] == "tail" && sign == '+':
			return p.window(n, 0)
		case words[0] == "tail" && sign == 0:
			if !p.numbered && (p.first != 1 || p.last != 0) {
				return p, false
			}
			p.tail, p.first, p.last = n, 0, 0
			return p, true
		}
	case "sed":
		return p.sed(args)
	}
	return p, false
}

// count reads the arguments -n 5, -n5, -5, -n +5 and the like.
func count(args []string) (n int, sign byte, ok bool) {
	s := ""
	switch {
	case len(args) == 1 && strings.HasPrefix(args[0], "-n"):
		s = args[0][2:]
	case len(args) == 1 && strings.HasPrefix(args[0], "-"):
		s = args[0][1:]
	case len(args) == 1 && strings.HasPrefix(args[0], "+"):
		s = args[0]
	case len(args) == 2 && args[0] == "-n":
		s = args[1]
	}
	if strings.HasPrefix(s, "+") {
		sign, s = '+', s[1:]
	}
	n, err := strconv.Atoi(s)
	return n, sign, err == nil && s[0] >= '0' && s[0] <= '9' && n < 1<<30
}

// window returns lines a to b of what p prints; b 0 is to the end.
func (p excerpt) window(a, b int) (excerpt, bool) {
	base, end := p.first, p.last
	p.first = base + a - 1
	if b > 0 {
		p.last = base + b - 1
	}
	if end > 0 && (p.last == 0 || p.last > end) {
		p.last = end
	}
	return p, p.last == 0 || p.last >= p.first
}

// sed reads sed -n with a range to print: 'a,bp', 'ap' or 'a,$p'.
func (p excerpt) sed(args []string) (excerpt, bool) {
	if len(args) != 2 || args[0] != "-n" {
		return p, false
	}
	lines, ok := strings.CutSuffix(strings.TrimSpace(args[1]), "p")
	from, to, both := strings.Cut(lines, ",")
	a, err := strconv.Atoi(strings.TrimSpace(from))
	b := a
	if to = strings.TrimSpace(to); both && to == "$" {
		b = 0
	} else if both && err == nil {
		b, err = strconv.Atoi(to)
	}
	if !ok || err != nil || a < 1 || b < 0 || b > 0 && b < a || b > 1<<30 || a > 1<<30 {
		return p, false
	}
	return p.window(a, b)
}

// separable reports whether what the excerpts print can be distinguished where each
// prints all that it was asked for: one alone, ranges with both ends, or lines with
// numbers.
func separable(excerpts []excerpt) bool {
	for i, p := range excerpts {
		if len(excerpts) == 1 {
			break
		}
		if p.tail > 0 || p.numbered != excerpts[0].numbered {
			return false
		}
		if p.last == 0 && !p.numbered && !(i == len(excerpts)-1 && sameFile(excerpts)) {
			return false
		}
	}
	return len(excerpts) > 0
}

func sameFile(excerpts []excerpt) bool {
	for _, p := range excerpts {
		if p.path != excerpts[0].path {
			return false
		}
	}
	return true
}
