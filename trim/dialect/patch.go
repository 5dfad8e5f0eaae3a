package dialect

import "strings"

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
