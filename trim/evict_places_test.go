package trim

import (
	"fmt"
	"testing"

	"github.com/stet-dev/stet/llm"
)

// Invariant 6: under adaptive, reads of files on which the agent may work stay, in every directory. Reads of files that others
// wrote leave (TRIM-17).
func TestFilesOfOthers(t *testing.T) {
	const root = "/home/me/.cache/work/project"
	run := func(command string) func(c *conv) {
		return func(c *conv) { c.call("Bash", map[string]any{"command": command}, "done") }
	}
	said := func(text string) func(c *conv) { return func(c *conv) { c.user(text) } }
	system := func(text string) func(c *conv) {
		return func(c *conv) { c.add(llm.System, llm.Part{Text: text}) }
	}
	for _, tt := range []struct {
		name, path string
		before     func(c *conv)
		leaves     bool
	}{
		{"outside", "/home/me/lib/a.py", nil, true},
		{"beside the workspace", "/home/me/.cache/work/lib/a.py", nil, true},
		{"in the workspace", root + "/src/a.py", nil, false},
		{"in the workspace, relative", "src/a.py", nil, false},
		{"in the workspace, from the home directory", "~/.cache/work/project/src/a.py", nil, false},
		{"a dependency", "vendor/x/y/a.py", nil, true},
		{"a dependency, absolute", root + "/web/node_modules/@x/y/a.js", nil, true},
		{"another directory that the system text names", "/home/me/lib/src/a.py", system("Additional working directories: /home/me/lib"), false},
		{"it names its neighbour", "/home/me/lib/src/a.py", system("see /home/me/lib/src/b.py."), false},
		{"it names the dependency", "vendor/x/y/a.py", system("vendor/x/y is ours"), false},
		{"it names another dependency", "vendor/x/a.py", system("vendor/z/b.py is ours"), true},
		{"it names all that holds the workspace", "/home/me/lib/a.py", system("you are in /home/me"), true},
		{"a person named it", "/home/me/lib/src/a.py", said("what does `/home/me/lib/src/a.py` do?"), false},
		{"a person named it and a line", "/home/me/lib/src/a.py", said("it fails in /home/me/lib/src/a.py:12:3."), false},
		{"a person named the dependency's file", "vendor/x/y/a.py", said("make @vendor/x/y/a.py shorter"), false},
		{"a person named its neighbour", "/home/me/lib/src/a.py", said("see /home/me/lib/src/b.py"), true},
		{"a person named its directory", "/home/me/lib/src/a.py", said("see how /home/me/lib/src does it"), true},
		{"built there", "/home/me/lib/src/a.py", run("cd /home/me/lib && make"), false},
		{"copied to", "/home/me/lib/src/a.py", run("cp b.py /home/me/lib/src/b.py"), false},
		{"only looked at", "/home/me/lib/src/a.py", run("cd /home/me/lib && grep -rn x . 2>/dev/null | head"), true},
		{"a command names another file of the dependency", "vendor/x/y/a.py", run("cp vendor/x/z/b.py ."), true},
		{"a command edits another file of the dependency", "vendor/x/y/a.py", run("sed -i s/a/b/ vendor/x/z/b.py && make"), false},
		{"a command goes there and edits", "vendor/x/y/a.py", run("cd vendor/x/z && cat > b.py <<END\na\nEND"), false},
		{"a command goes there, looks, and edits elsewhere", "vendor/x/y/a.py", run("cd vendor/x/z && cat b.py; cd /home/me && touch c.py"), true},
		{"edited beside", "/home/me/lib/src/a.py", func(c *conv) {
			c.call("Edit", `{"file_path":"/home/me/lib/doc/b.md","old_string":"a","new_string":"b"}`, "Edited.")
		}, false},
		{"a dependency edited beside", "vendor/x/y/a.py", func(c *conv) {
			c.call("Edit", `{"file_path":"vendor/x/z/b.py","old_string":"a","new_string":"b"}`, "Edited.")
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &conv{}
			c.user("Working directory: " + root)
			c.call("Read", fmt.Sprintf(`{"file_path":%q}`, tt.path), numberedLines(tt.path, 1, 40))
			if tt.before != nil {
				tt.before(c)
			}
			for i := range 31 {
				c.call("Bash", fmt.Sprintf(`{"command":"try %d"}`, i), "done")
			}
			p, _ := cold(t, Config{}, c)
			if leaves := len(p.Edits) > 0 && p.Omissions[0].Reason == Idle; leaves != tt.leaves {
				t.Errorf("leaves: %v", leaves)
			}
		})
	}
}

// numberedLines returns lines a to b of a file with their numbers, as a read prints them.
func numberedLines(path string, a, b int) string {
	text := ""
	for n := a; n <= b; n++ {
		text += fmt.Sprintf("%d\tthe text of line %d of %s\n", n, n, path)
	}
	return text
}
