package dialect

import "strings"

// codexRows are the tools of Codex.
var codexRows = []Row{
	{
		Name: "codex/exec_command", Tools: []string{"exec_command"}, Op: "shell", Command: []string{"cmd", "command"}, Dir: []string{"workdir"},
		Also: []string{"yield_time_ms", "max_output_tokens", "sandbox_permissions", "justification", "prefix_rule", "shell", "login", "tty"},
	},
	{
		Name: "codex/shell", Tools: []string{"shell", "shell_command", "container.exec", "local_shell", "local_shell_call"}, Op: "shell",
		Command: []string{"command", "cmd"}, Dir: []string{"workdir", "working_directory", "cwd"},
		Also: []string{"timeout_ms", "timeout", "with_escalated_permissions", "justification", "type", "env", "user", "login"},
	},
	{
		Name: "codex/apply_patch", Tools: []string{"apply_patch"}, Op: "edit", Patch: []string{"input", "patch", "patchText"}, Dir: []string{"workdir"},
	},
	{
		Name: "codex/read_file", Tools: []string{"read_file"}, Op: "read", Has: []string{"file_path", "mode"}, Path: []string{"file_path"},
		Offset: "offset", Base: 1, Limit: "limit", Most: 2000, Also: []string{"indentation"}, Formats: []string{"window"},
	},
	{
		Name: "codex/list_dir", Tools: []string{"list_dir"}, Op: "list", Path: []string{"dir_path", "path"}, Also: []string{"offset", "limit", "depth"},
	},
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

func word(s string) bool {
	for i := range len(s) {
		if !isWord(s[i]) {
			return false
		}
	}
	return true
}
