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
				program := programName(words[0])
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
	l.doubt = false
	value, glob := l.literal(a.Value)
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
