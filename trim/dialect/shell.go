package dialect

import "strings"

// excerpt is what one command of a shell read prints: lines of a file, or a line of
// its own.
type excerpt struct {
	path        string
	first, last int  // the lines asked for; last 0 = to the end
	tail        int  // the last lines of the file, this many; first is unknown
	numbered    bool // each line behind its number and a tab

	rule string // not a file but this line, printed by echo between files
}

// shell reads a call of a shell. A command that only reads files is a Read.
func (r *row) shell(out Action, a args) Action {
	dir := a.text(r.Dir...)
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
	if excerpts := source(words); len(excerpts) > 0 {
		return out.reading(excerpts, dir)
	}
	return out
}

// commandLines reads several command lines that are answered one by one.
func (r *row) commandLines(out Action, lines []string, dir string) Action {
	var all []excerpt
	for _, l := range lines {
		one := r.commandLine(out, l, dir)
		if len(one.excerpts) != 1 || one.excerpts[0].rule != "" {
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
		if p.rule == "" && device(join(dir, p.path)) {
			return a
		}
	}
	a.Op = Read
	a.excerpts = excerpts
	for i := range excerpts {
		p := &excerpts[i]
		if p.rule != "" {
			continue
		}
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
