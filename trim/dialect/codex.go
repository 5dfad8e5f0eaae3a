package dialect

import "strings"

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

func word(s string) bool {
	for i := range len(s) {
		if !isWord(s[i]) {
			return false
		}
	}
	return true
}
