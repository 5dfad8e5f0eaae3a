package dialect

import (
	"path"
	"strings"
)

// What a call does: its name and arguments become an Action. A patch, and a script of Codex, are read here too.

// Action returns what a call of the tool name does. args is a JSON object, or
// free text for a tool that takes text. Arguments that cannot be read leave
// the action without targets.
func (t *Table) Action(name, args string) Action { return t.action(name, args, 0) }

// action is Action for arguments that begin at byte at of the call's.
func (t *Table) action(name, args string, at base) Action {
	if a, ok := t.wrapped(name, args, at); ok {
		return a
	}
	a, readable := object(args)
	if !readable && args != "" && args[0] == '"' {
		// Some agents record the arguments as a JSON string.
		if s, ok := str(args); ok {
			a, readable = object(s)
			at = noBase
		}
	}
	r := t.find(name, a, readable)
	if r == nil {
		return Action{}
	}
	out := Action{Op: r.op, Row: r.Name, Once: r.Once, row: r}
	if r.Opaque {
		out.effects = &effects{changes, anything}
		out.Once = out.Once || strings.Contains(args, pollCall)
	}
	if !readable && r.op != Output && r.op != Agent {
		return r.free(out, args)
	}
	if len(r.Command) > 0 {
		return r.shell(out, a)
	}
	if len(r.Patch) > 0 {
		if v, ok := a.get(r.Patch...); ok {
			return r.patch(out, scalar(v), a)
		}
	}
	if r.op == Output || r.op == Agent {
		out.Command = args
		r.content(&out, a, at)
		return out
	}
	out.Targets = r.targets(a)
	if len(out.Targets) == 1 && device(out.Targets[0].Path) {
		return Action{}
	}
	switch r.op {
	case Write:
		r.content(&out, a, at)
	case Edit:
		out.Edits = r.edits(a, out.Targets, at)
	}
	return out
}

// wrapped unwraps a call made through another tool: Qwen's tool_call, and
// Codex's exec where it runs a single command.
func (t *Table) wrapped(name, text string, at base) (Action, bool) {
	switch name {
	case "tool_call":
		a, ok := object(text)
		if !ok {
			return Action{}, false
		}
		inner, arguments := a.text("name", "tool_name"), "{}"
		if m, ok := a.member("arguments", "args", "input"); ok {
			arguments, at = scalar(m.val), at.inside(m)
		}
		if inner == "" || inner == name {
			return Action{}, false
		}
		return t.action(inner, arguments, at), true
	case "exec":
		arguments, ok := scriptCall(text)
		if !ok {
			return Action{}, false
		}
		return t.action("exec_command", arguments, noBase), true
	}
	return Action{}, false
}

// free reads the arguments of a tool that takes text: a patch, or a command.
func (r *row) free(out Action, text string) Action {
	switch {
	case len(r.Patch) > 0 && strings.Contains(text, patchBegin):
		return r.patch(out, text, nil)
	case r.op == Shell && text != "" && (text[0] != '{' || r.Opaque):
		return r.commandLine(out, text, "")
	}
	return out
}

// content reads what a call writes, or says to another agent.
func (r *row) content(out *Action, a args, at base) {
	m, _ := a.member(r.Content...)
	out.Content, _ = str(m.val)
	out.ContentAt = at.span(m)
}

// targets reads the files that a call names.
func (r *row) targets(a args) []Target {
	v, ok := a.get(r.Path...)
	dir := a.text(r.Dir...)
	switch {
	case !ok && r.op == List:
		return []Target{{Path: join(dir, ".")}} // a listing without a path is of the working directory
	case !ok:
		return nil
	}
	whole := r.lines(a)
	if p, ok := str(v); ok {
		if strings.TrimSpace(p) == "" {
			return nil
		}
		whole.Path = join(dir, p)
		return []Target{whole}
	}
	list := []string{v}
	if v[0] == '[' {
		list, _ = array(v)
	}
	out := make([]Target, 0, len(list))
	for _, e := range list {
		t := whole
		if p, ok := str(e); ok {
			t.Path = p
		} else if o, ok := object(e); ok {
			t = r.lines(o)
			if t == (Target{}) {
				t = whole
			}
			if t.Path = o.text(r.Path...); t.Path == "" {
				t.Path = o.text("path", "filePath", "file_path")
			}
		}
		if strings.TrimSpace(t.Path) != "" {
			t.Path = join(dir, t.Path)
			out = append(out, t)
		}
	}
	return out
}

// lines reads the lines asked for, into a Target without a path.
func (r *row) lines(a args) Target {
	var t Target
	if n, ok := a.number(r.Start); ok && n > 0 {
		t.First = n
	}
	if n, ok := a.number(r.End); ok && n > 0 {
		t.Last = n
	}
	if n, ok := a.number(r.Offset); ok && n >= 0 {
		t.First = max(n+1-r.Base, 1)
	}
	if n, ok := a.number(r.Limit); ok && n > 0 {
		t.Last = max(t.First, 1) + n - 1
	}
	if r.Range != "" {
		if v, ok := a.get(r.Range); ok {
			if s, ok := str(v); ok {
				v = s
			}
			if list, ok := array(v); ok && len(list) == 2 {
				if n, ok := num(list[0]); ok && n > 0 {
					t.First = n
				}
				if n, ok := num(list[1]); ok && n > 0 {
					t.Last = n
				}
			}
		}
	}
	if t.Last > 0 && t.Last < t.First {
		t.Last = 0
	}
	return t
}

// edits reads the replacements that a call makes.
func (r *row) edits(a args, targets []Target, at base) []Replacement {
	if len(targets) != 1 {
		return nil
	}
	one := func(a args, at base) (Replacement, bool) {
		old, ok1 := a.member(r.Old...)
		newText, ok2 := a.get(r.New...)
		x := Replacement{Path: targets[0].Path, Old: scalar(old.val), New: scalar(newText), OldAt: at.span(old)}
		if r.All != "" {
			v, _ := a.get(r.All)
			x.All = v == "true" || v == `"true"`
		}
		return x, ok1 || ok2
	}
	var out []Replacement
	if m, ok := a.member(r.Edits...); ok && len(r.Edits) > 0 {
		at = at.inside(m)
		if s, ok := str(m.val); ok {
			m.val = s // an array recorded as a string
		}
		list, _ := items(m.val)
		for _, e := range list {
			if o, ok := object(e.val); ok {
				if x, ok := one(o, at.inside(e)); ok {
					out = append(out, x)
				}
			}
		}
		return out
	}
	if x, ok := one(a, at); ok {
		out = append(out, x)
	}
	return out
}

// device reports whether a path names what is no file: what it shows is
// another each time.
func device(p string) bool {
	if len(p) < 5 || p[0] != '/' {
		return false
	}
	p = path.Clean(p) + "/"
	return strings.HasPrefix(p, "/dev/") || strings.HasPrefix(p, "/proc/") || strings.HasPrefix(p, "/sys/")
}

// join returns p as seen from dir.
func join(dir, p string) string {
	if dir == "" || p == "" || strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~") || len(p) > 1 && p[1] == ':' {
		return p
	}
	return path.Join(dir, p)
}

const patchBegin = "*** Begin Patch"

// patch reads a patch, or search and replace blocks, into the action.
func (r *row) patch(out Action, text string, a args) Action {
	dir := a.text(r.Dir...)
	if !strings.Contains(text, patchBegin) {
		out.Targets = r.targets(a)
		if len(out.Targets) == 1 {
			out.Edits = searchReplace(out.Targets[0].Path, text)
		}
		return out
	}
	return applyPatch(out, text, dir)
}

// applyPatch reads the "*** Begin Patch" language. A patch that adds one file
// and does nothing else is a Write.
func applyPatch(out Action, text, dir string) Action {
	out.Op = Edit
	_, text, _ = strings.Cut(text, patchBegin)
	text, _, _ = strings.Cut(text, "*** End Patch")
	var p patcher
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if name, ok := strings.CutPrefix(line, "*** "); ok {
			p.head(name, dir)
		} else {
			p.line(line)
		}
	}
	p.flush()
	out.Targets, out.Edits = p.targets, p.edits
	if len(p.targets) == 1 && p.added == 1 && len(p.edits) <= 1 {
		out.Op, out.Edits = Write, nil
		if len(p.edits) == 1 {
			out.Content = p.edits[0].New
		}
	}
	return out
}

// patcher gathers the hunks of a patch.
type patcher struct {
	targets []Target
	edits   []Replacement
	added   int
	path    string
	add     bool // of a new file
	live    bool // a hunk is open
	old     []string
	new     []string
}

// head is a line "*** Verb File: path".
func (p *patcher) head(s, dir string) {
	verb, name, ok := strings.Cut(s, ": ")
	if !ok {
		return // End of File
	}
	p.flush()
	name = join(dir, strings.TrimSpace(name))
	if name == "" {
		return
	}
	switch verb {
	case "Add File":
		p.added++
		p.add, p.live = true, true
	case "Update File", "Delete File", "Move to":
		p.add, p.live = false, false
	default:
		return
	}
	if verb != "Move to" {
		p.path = name
	}
	p.targets = append(p.targets, Target{Path: name})
}

func (p *patcher) line(s string) {
	switch {
	case p.path == "" || s == "" && !p.live:
	case strings.HasPrefix(s, "@@"):
		p.flush()
		p.live = true
	case strings.HasPrefix(s, "+"):
		p.live = true
		p.new = append(p.new, s[1:])
	case p.add:
	case strings.HasPrefix(s, "-"):
		p.live = true
		p.old = append(p.old, s[1:])
	default:
		p.live = true
		s = strings.TrimPrefix(s, " ")
		p.old, p.new = append(p.old, s), append(p.new, s)
	}
}

// flush ends the open hunk.
func (p *patcher) flush() {
	if len(p.old) > 0 || len(p.new) > 0 || p.add && p.live {
		r := Replacement{Path: p.path, Old: strings.Join(p.old, "\n"), New: strings.Join(p.new, "\n")}
		if p.add && len(p.new) > 0 {
			r.New += "\n"
		}
		p.edits = append(p.edits, r)
	}
	p.old, p.new, p.live, p.add = nil, nil, false, false
}

// searchReplace reads blocks of the form
//
//	------- SEARCH (or <<<<<<< SEARCH)
//	old
//	=======
//	new
//	+++++++ REPLACE (or >>>>>>> REPLACE)
func searchReplace(path, text string) []Replacement {
	var out []Replacement
	var old, added []string
	state := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		switch {
		case state == 0 && (strings.HasSuffix(line, "- SEARCH") || strings.HasSuffix(line, "< SEARCH")):
			state, old, added = 1, nil, nil
		case state == 1 && strings.HasPrefix(line, "=======") && strings.Trim(line, "=") == "":
			state = 2
		case state == 2 && (strings.HasSuffix(line, "+ REPLACE") || strings.HasSuffix(line, "> REPLACE")):
			out = append(out, Replacement{Path: path, Old: strings.Join(old, "\n"), New: strings.Join(added, "\n")})
			state = 0
		case state == 1:
			old = append(old, line)
		case state == 2:
			added = append(added, line)
		}
	}
	return out
}

// scriptCall returns the arguments of the command that a script of Codex's
// exec runs, if it runs one and shows its output:
//
//	const r = await tools.exec_command({cmd:"…"}); text(r.output)
func scriptCall(script string) (string, bool) {
	script = strings.TrimSpace(script)
	if strings.HasPrefix(script, "{") {
		if o, ok := object(script); ok {
			script = strings.TrimSpace(o.text("code", "script", "input"))
		}
	}
	for strings.HasPrefix(script, "//") {
		_, rest, _ := strings.Cut(script, "\n")
		script = strings.TrimSpace(rest)
	}
	rest, ok := strings.CutPrefix(script, "const ")
	if !ok {
		return "", false
	}
	name, rest, ok := strings.Cut(rest, "=")
	name = strings.TrimSpace(name)
	if !ok || name == "" || !word(name) {
		return "", false
	}
	if rest, ok = strings.CutPrefix(strings.TrimSpace(rest), "await tools.exec_command("); !ok || !strings.HasPrefix(rest, "{") {
		return "", false
	}
	end := valueEnd(rest, 0)
	if end < 0 {
		return "", false
	}
	arguments := rest[:end]
	rest = strings.Join(strings.Fields(rest[end:]), "")
	if rest = strings.TrimSuffix(rest, ";"); rest != ");text("+name+".output)" && rest != ")text("+name+".output)" {
		return "", false
	}
	return arguments, true
}

// pollCall is how a script of Codex's exec asks what a command that runs has printed since. It is printed once.
const pollCall = "tools.write_stdin("

func word(s string) bool {
	for i := range len(s) {
		if !isWord(s[i]) {
			return false
		}
	}
	return true
}
