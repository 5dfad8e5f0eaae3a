package bench

import (
	"fmt"
	"strings"
)

// callForm translates an act into an agent's tool call and its result. args becomes JSON, or is a text.
type callForm func(a *act) (tool string, args any, result string)

type object = map[string]any

// done returns the result of an act that changes a file, or that failed.
func (a *act) done() string {
	if a.failed {
		return "Error: that did not work"
	}
	return "The file " + a.path + " has been updated."
}

// numbered returns the shown lines with their numbers.
func (a *act) numbered(format string) string {
	var b strings.Builder
	for i, line := range a.shown {
		fmt.Fprintf(&b, format, a.from+i, line)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (a *act) printed() string { return strings.Join(a.shown, "\n") }

// file returns arguments with the path and the range of the shown lines.
func (a *act) file(path, offset, limit string) object {
	o := object{path: a.path}
	if !a.whole {
		o[offset], o[limit] = a.from, len(a.shown)
	}
	return o
}

// callFormOf returns the form of calls for tools with these names and arguments.
func callFormOf(run string, read callForm, edit, write string, path, old, put, content string) callForm {
	return func(a *act) (string, any, string) {
		switch a.op {
		case "read":
			tool, args, result := read(a)
			if a.failed {
				result = a.done()
			}
			return tool, args, result
		case "edit":
			return edit, object{path: a.path, old: a.old, put: a.new}, a.done()
		case "write":
			return write, object{path: a.path, content: a.new}, a.done()
		}
		return run, object{"command": a.command}, a.printed()
	}
}

var claudeCalls = callFormOf("Bash", func(a *act) (string, any, string) {
	return "Read", a.file("file_path", "offset", "limit"), a.numbered("%6d→%s\n")
}, "Edit", "Write", "file_path", "old_string", "new_string", "content")

var opencodeCalls = callFormOf("bash", func(a *act) (string, any, string) {
	note := fmt.Sprintf("(End of file - total %d lines)", a.total)
	if a.from+len(a.shown)-1 < a.total {
		note = fmt.Sprintf("(Showing lines %d-%d of %d. Use offset=%d to continue.)", a.from, a.from+len(a.shown)-1, a.total, a.from+len(a.shown))
	}
	return "read", a.file("filePath", "offset", "limit"),
		"<path>/home/me/project/" + a.path + "</path>\n<type>file</type>\n<content>\n" + a.numbered("%d: %s\n") + "\n\n" + note + "\n</content>"
}, "edit", "write", "filePath", "oldString", "newString", "content")

var geminiCalls = callFormOf("run_shell_command", func(a *act) (string, any, string) {
	return "read_file", object{"file_path": a.path, "start_line": a.from, "end_line": a.from + len(a.shown) - 1}, a.printed()
}, "replace", "write_file", "file_path", "old_string", "new_string", "content")

var piCalls = callFormOf("bash", func(a *act) (string, any, string) {
	return "read", a.file("path", "offset", "limit"), a.printed()
}, "edit", "write", "path", "oldText", "newText", "content")

var copilotCalls = callFormOf("bash", func(a *act) (string, any, string) {
	return "view", object{"path": a.path, "view_range": []int{a.from, a.from + len(a.shown) - 1}}, a.numbered("%d. %s\n")
}, "edit", "create", "path", "old_str", "new_str", "file_text")

// clineCalls is the form of Cline. Its results are a list with an entry for each query.
func clineCalls(a *act) (string, any, string) {
	listed := func(query, text string) string {
		return encoded([]object{{"query": query, "result": text, "success": !a.failed}})
	}
	tool, args, result := callFormOf("run_commands", func(a *act) (string, any, string) {
		return "read_files", object{"files": []object{a.file("path", "start_line", "limit")}}, a.numbered("%d | %s\n")
	}, "editor", "editor", "path", "old_text", "new_text", "new_text")(a)
	if tool == "run_commands" {
		args = object{"commands": []string{a.command}}
	}
	return tool, args, listed(a.path+a.command, result)
}

// shellCalls is the form of agents that have only a shell.
func shellCalls(a *act) (string, any, string) {
	command := a.command
	switch a.op {
	case "read":
		command = fmt.Sprintf("sed -n '%d,%dp' %s", a.from, a.from+len(a.shown)-1, a.path)
	case "edit":
		command = fmt.Sprintf("python3 - <<'END'\nreplace('''%s''', '''%s''')\nEND", a.old, a.new)
	case "write":
		command = fmt.Sprintf("cat > %s <<'END'\n%sEND", a.path, a.new)
	}
	return "bash", object{"command": command}, "<returncode>0</returncode>\n<output>\n" + a.printed() + "\n</output>"
}

// codexCalls is the form of Codex. It reads with a shell and edits with patches.
func codexCalls(a *act) (string, any, string) {
	lines := func(mark, text string) string {
		return mark + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+mark) + "\n"
	}
	switch a.op {
	case "edit":
		return "apply_patch", "*** Begin Patch\n*** Update File: " + a.path + "\n@@\n" + lines("-", a.old) + lines("+", a.new) + "*** End Patch", a.done()
	case "write":
		return "apply_patch", "*** Begin Patch\n*** Add File: " + a.path + "\n" + lines("+", a.new) + "*** End Patch", a.done()
	}
	_, args, _ := shellCalls(a)
	return "exec_command", encoded(object{"cmd": args.(object)["command"], "workdir": "/home/me/project"}),
		"Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 0\nOriginal token count: 9\nOutput:\n" + a.printed() + "\n"
}
