package dialect

import (
	"path"
	"strings"
)

// Action returns what a call of the tool name does. args is a JSON object, or
// free text for a tool that takes text. Arguments that cannot be read leave
// the action without targets (TRIM-9).
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
			at = unplaced
		}
	}
	r := t.find(name, a, readable)
	if r == nil {
		return Action{}
	}
	out := Action{Op: r.op, Row: r.Name, Once: r.Once, row: r}
	if r.Opaque {
		out.effects = &effects{changes, anything}
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
		return t.action("exec_command", arguments, unplaced), true
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

// content reads what a call writes, or tells another agent.
func (r *row) content(out *Action, a args, at base) {
	m, _ := a.member(r.Content...)
	out.Content, _ = str(m.val)
	out.ContentAt = at.place(m)
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
		x := Replacement{Path: targets[0].Path, Old: scalar(old.val), New: scalar(newText), OldAt: at.place(old)}
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
