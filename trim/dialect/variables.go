package dialect

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// The variables of a command line: the values that it sets, and whether they are certain where they are used. A value that is not certain counts next to
// one that is not known.

// setters are commands that may set a variable whose name is not in the command line.
var setters = set("eval source . read mapfile readarray getopts unset")

var mention = regexp.MustCompile(`(\$\{?)?([A-Za-z_]\w*)(\}?)`)

// certain returns the variables of a command line that are set in one place, which always runs, and are nowhere else named but to take their value.
func (l *Line) certain(file *syntax.File, text string) map[string]bool {
	sure := map[string]bool{}
	for _, s := range file.Stmts {
		x, ok := s.Cmd.(*syntax.CallExpr)
		if !ok || len(x.Args) > 0 || len(s.Redirs) > 0 || s.Background {
			continue
		}
		for _, a := range x.Assigns {
			sure[a.Name.Value] = a.Name.Value != "_" && !a.Append && a.Index == nil
		}
	}
	if len(sure) == 0 { // as in most command lines
		return nil
	}
	named := map[string]int{}
	for _, m := range mention.FindAllStringSubmatch(text, -1) {
		if m[1] != "$" && (m[1] != "${" || m[3] != "}") {
			named[m[2]]++
		}
	}
	maps.DeleteFunc(sure, func(name string, _ bool) bool { return named[name] != 1 })
	syntax.Walk(file, func(n syntax.Node) bool {
		switch x := n.(type) {
		case *syntax.DeclClause:
			clear(sure)
		case *syntax.CallExpr:
			if slices.ContainsFunc(commandsOf(l.words(x)), func(words []string) bool {
				program := ProgramName(words[0])
				return setters[program] || program == "printf" && slices.ContainsFunc(words, func(w string) bool { return w == "" || strings.HasPrefix(w, "-v") })
			}) {
				clear(sure)
			}
		}
		return true
	})
	return sure
}

// assign notes the value of a variable.
func (l *Line) assign(a *syntax.Assign) {
	if a.Name == nil {
		return
	}
	if a.Array != nil {
		all := ""
		for _, e := range a.Array.Elems {
			text, _ := l.literal(e.Value)
			all += " " + text
		}
		l.Texts = append(l.Texts, Text{Text: all})
	}
	l.doubt = false
	value, glob := l.literal(a.Value)
	l.Texts = append(l.Texts, Text{Text: value})
	l.Unclear = l.Unclear || strings.Contains(value, "$(") || a.Value != nil && substitution(a.Value) != nil
	l.Lost = l.Lost || a.Name.Value == "CDPATH"
	if _, again := l.vars[a.Name.Value]; again || glob || strings.ContainsAny(value, " \t\n") {
		value = ""
	}
	l.vars[a.Name.Value] = value
	if l.doubt {
		delete(l.sure, a.Name.Value)
	}
}

// surely is literal, without the values of variables that are not certain.
func (l *Line) surely(w *syntax.Word) string {
	l.doubt = false
	text, _ := l.literal(w)
	if l.doubt {
		return ""
	}
	return text
}

// declared looks for commands in the words of declare, let and [[ … ]], which evaluate the index of an array.
func (l *Line) declared(s *syntax.Stmt) {
	syntax.Walk(s.Cmd, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok {
			text, _ := l.literal(w)
			l.Unclear = l.Unclear || strings.Contains(text, "[") && strings.ContainsAny(text, "`$")
		}
		return true
	})
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

// takers take names of files, after so many words that are none.
var takers = map[string]int{
	"rm": 0, "mv": 0, "cp": 0, "ln": 0, "chmod": 1, "chown": 1, "chgrp": 1, "touch": 0, "tee": 0, "truncate": 0, "rsync": 0, "install": 0, "shred": 0, "unlink": 0, "dd": 0, "rmdir": 0,
	"cat": 0, "head": 0, "tail": 0, "less": 0, "more": 0, "nl": 0, "tac": 0, "sed": 1, "awk": 1, "grep": 1, "egrep": 1, "rg": 1, "xargs": 0, "parallel": 0, "strings": 0, "xxd": 0, "od": 0, "base64": 0,
}

// under returns where a word of a command may name a file that is not known: a directory, "" for any. words are those of the command up to this one; nil: the
// word is of a redirection.
func (l *Line) under(words []string, w *syntax.Word) []string {
	if len(words) == 1 || len(words) > 1 && words[len(words)-1] != "" {
		return nil
	}
	for i, name := range words {
		first, takes := takers[ProgramName(name)]
		for _, w := range words[i+1:] {
			if !option(w) || w == "" {
				first--
			}
		}
		if takes && first < 0 {
			return l.start(w)
		}
	}
	if words == nil {
		if text, _ := l.literal(w); text == "" {
			return l.start(w)
		}
	}
	return nil
}

// read returns the directories of the files that a command gets by xargs or parallel.
func (l *Line) read(x *syntax.CallExpr, commands [][]string) []string {
	if name := ProgramName(commands[0][0]); name != "xargs" && name != "parallel" {
		return nil
	}
	if !slices.ContainsFunc(commands[1:], func(words []string) bool {
		_, takes := takers[ProgramName(words[0])]
		return takes
	}) {
		return nil
	}
	if dirs := l.listed[x]; dirs != nil {
		return dirs
	}
	return []string{""}
}

// start returns the directory in which the file of a word is, as far as it is known.
func (l *Line) start(w *syntax.Word) []string {
	parts := w.Parts
	if len(parts) == 1 {
		if q, ok := parts[0].(*syntax.DblQuoted); ok {
			parts = quoted(q.Parts)
		}
	}
	known := ""
	for i := range parts {
		text, _ := l.literal(&syntax.Word{Parts: parts[:i+1]})
		if text == "" {
			if x, ok := parts[i].(*syntax.ParamExp); ok && x.Param != nil && x.Exp == nil && l.covered[x.Param.Value] {
				return nil // the loop names it
			}
			break
		}
		known = text
	}
	return []string{known[:strings.LastIndexByte(known, '/')+1]}
}
