package trim

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
)

// work returns a conversation that ends with results which are not evicted.
func work(do func(c *conv)) *conv {
	c := &conv{}
	c.user("go on")
	do(c)
	for i := range recent {
		c.call("terminal-execute", map[string]any{"command": fmt.Sprintf("step %d", i)}, fmt.Sprintf("done %d", i))
	}
	return c
}

// cold plans a conversation at a cold point after its last message.
func cold(t testing.TB, c Config, w *conv) (*Plan, []llm.Message) {
	t.Helper()
	p := newEngine(t, c).Plan(w.messages, Point{After: len(w.messages), Why: Gap})
	return p, llm.Apply(w.messages, p.Edits)
}

// long returns at least n bytes of text. Each name gives other text.
func long(name string, n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%s, line %d of many\n", name, i)
	}
	return b.String()
}

// TRIM-13, TRIM-17: what leaves at a cold point under each policy, and its placeholder.
func TestEvict(t *testing.T) {
	idle := func(c *conv, turns int) {
		for i := range turns {
			c.call("terminal-execute", map[string]any{"command": fmt.Sprintf("try %d", i)}, fmt.Sprintf("tried %d", i))
		}
	}
	outside := func(c *conv) {
		c.user("Working directory: /home/me/project")
		c.call("filesystem-read", map[string]any{"filePath": "/home/me/notes/a.txt"}, shown("/home/me/notes/a.txt", 1, 40, 40))
		idle(c, 31)
	}
	agent := map[string]any{"description": "look around", "prompt": long("prompt", 900)}
	tests := []struct {
		name string
		do   func(c *conv)
		from Policy // the first policy that leaves it out; "": none
		want string // what its placeholder contains
		why  Reason
	}{
		{"output", func(c *conv) {
			c.call("terminal-execute", map[string]any{"command": "go test ./..."}, long("out", 900))
			idle(c, 5)
		}, Adaptive, "go test ./... Run it again if needed.]", Command},
		{"output of a command that changes something", func(c *conv) {
			c.call("terminal-execute", map[string]any{"command": "git push origin main"}, long("out", 900))
			idle(c, 5)
		}, Adaptive, "git push origin main Run again, it may change something, or print something else.]", Command},
		{"failed output", func(c *conv) {
			c.call("terminal-execute", map[string]any{"command": "go test ./..."}, long("out", 900), true)
			idle(c, 5)
		}, "", "", ""},
		{"output that may show a file", func(c *conv) {
			c.call("terminal-execute", map[string]any{"command": "git show HEAD:a.go | head -90"}, long("out", 900))
			idle(c, 5)
		}, "", "", ""},
		{"file that a command of Windows printed", func(c *conv) {
			c.call("terminal-execute", map[string]any{"command": `type src\a.go`}, long("out", 900))
			c.call("shell", map[string]any{"command": []string{"powershell.exe", "-Command", "Get-Content a.go"}}, long("other", 900))
			idle(c, 5)
		}, "", "", ""},
		{"output that showed a file long ago", func(c *conv) {
			c.call("terminal-execute", map[string]any{"command": "git show HEAD:a.go | head -90"}, long("out", 900))
			idle(c, 31)
		}, Adaptive, "Run it again if needed.]", Command},
		{"search", func(c *conv) {
			c.call("Grep", map[string]any{"pattern": "func main"}, long("found", 900))
			idle(c, 31)
		}, Adaptive, "func main", Command},
		{"search, not long ago", func(c *conv) {
			c.call("Grep", map[string]any{"pattern": "func main"}, long("found", 900))
			idle(c, 5)
		}, Adaptive, "func main", Command},
		{"search that shows the lines around", func(c *conv) {
			c.call("Grep", map[string]any{"pattern": "func main", "output_mode": "content", "-A": 20}, long("found", 900))
			idle(c, 5)
		}, "", "", ""},
		{"page of the web through a search", func(c *conv) {
			c.call("terminal-execute", map[string]any{"command": "curl -s https://example.com | rg x"}, long("found", 900))
			idle(c, 5)
		}, Adaptive, "curl", Command},
		{"program on the command line", func(c *conv) {
			c.call("terminal-execute", map[string]any{"command": "python3 -c 'print(open(\"a.go\").read())'"}, long("found", 900))
			idle(c, 5)
		}, "", "", ""},
		{"search for names", func(c *conv) {
			c.call("Glob", map[string]any{"pattern": "*.go"}, long("found", 900))
			idle(c, 5)
		}, Adaptive, "*.go", Command},
		{"report of another agent", func(c *conv) {
			c.call("Task", agent, long("report", 900))
			idle(c, 61)
		}, Adaptive, "and may change something.]", Command},
		{"report of another agent, not so long ago", func(c *conv) {
			c.call("Task", agent, long("report", 900))
			idle(c, 45)
		}, Bold, "and may change something.]", Command},
		{"read outside the workspace", outside, Adaptive, "Read it again if needed.]", Idle},
		{"read outside the workspace, beside an edit", func(c *conv) {
			outside(c)
			c.call("filesystem-edit", map[string]any{"filePath": "/home/me/notes/b.txt", "searchContent": "a", "replaceContent": "b"}, "Edited.")
		}, Bold, "", ""},
		{"dependency", func(c *conv) {
			c.user("Working directory: /home/me/project")
			c.read("node_modules/x/index.js", 1, 40, 40)
			idle(c, 11)
		}, Adaptive, "Read it again if needed.]", Idle},
		{"dependency of an unknown workspace", func(c *conv) {
			c.read("/home/me/.cache/work/vendor/x/index.js", 1, 40, 40)
			idle(c, 31)
		}, "", "", ""},
		{"idle read", func(c *conv) {
			c.read("src/a.go", 1, 40, 40)
			idle(c, 61)
		}, Bold, "Read it again if needed.]", Idle},
		{"idle read where the agent works", func(c *conv) {
			c.read("src/a.go", 1, 40, 40)
			c.call("filesystem-create", map[string]any{"filePath": "src/b.go", "content": "package src"}, "Written.")
			idle(c, 61)
		}, "", "", ""},
		{"idle content of few bytes", func(c *conv) {
			c.call("filesystem-create", map[string]any{"filePath": "src/a.go", "content": long("written", 900)}, "Written.")
			idle(c, 61)
		}, "", "", ""},
		{"idle content", func(c *conv) {
			c.call("filesystem-create", map[string]any{"filePath": "src/a.go", "content": long("written", large)}, "Written.")
			idle(c, 61)
		}, Bold, "Read the file if needed.]", Arguments},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			leaves := false
			for _, policy := range []Policy{Lossless, Adaptive, Bold} {
				leaves = leaves || policy == tt.from
				p, out := cold(t, Config{Policy: policy}, work(tt.do))
				left := ""
				for i, e := range p.Edits {
					left += e.Text
					if tt.why != "" && leaves && p.Omissions[i].Reason != tt.why && p.Omissions[i].Reason != Arguments {
						t.Errorf("%s: left as %s", policy, p.Omissions[i].Reason)
					}
				}
				if leaves != (len(p.Edits) > 0) && (tt.why != "" || policy != Bold) || leaves && !strings.Contains(left, tt.want) {
					t.Errorf("%s: %q", policy, left)
				}
				if len(out) == 0 {
					t.Error("nothing is sent")
				}
			}
		})
	}
}

// The text that an edit replaced leaves the arguments, if all its lines stand elsewhere. The new text stays.
func TestEvictReplacedText(t *testing.T) {
	var lines []string
	for n := 3; n < 20; n++ {
		lines = append(lines, fmt.Sprintf("the text of line %d of a.go", n))
	}
	old := strings.Join(lines, "\n")
	edit := func(text string) func(c *conv) {
		return func(c *conv) {
			c.read("src/a.go", 1, 40, 40)
			c.call("filesystem-edit", map[string]any{"filePath": "src/a.go", "searchContent": text, "replaceContent": long("new", 900)}, "Edited.")
		}
	}
	_, out := cold(t, Config{}, work(edit(old)))
	args := out[3].Parts[0].Args
	if strings.Contains(args, "line 3 of a.go") || !strings.Contains(args, replacedPlaceholder) || !strings.Contains(args, "new, line 0") || !strings.Contains(args, `"filePath":"src/a.go"`) {
		t.Errorf("%s", args)
	}

	// If both texts are equal, the new one stays too.
	_, out = cold(t, Config{}, work(func(c *conv) {
		c.read("src/a.go", 1, 40, 40)
		c.call("filesystem-edit", map[string]any{"filePath": "src/a.go", "searchContent": old, "replaceContent": old}, "Edited.")
	}))
	var sent struct{ SearchContent, ReplaceContent string }
	if err := json.Unmarshal([]byte(out[3].Parts[0].Args), &sent); err != nil || sent.SearchContent != replacedPlaceholder || sent.ReplaceContent != old {
		t.Errorf("%v: %+v", err, sent)
	}

	for _, c := range []struct {
		config Config
		text   string
	}{{Config{Policy: Lossless}, old}, {Config{InPlace: true}, old}, {Config{}, old + "\nand a line that no result showed"}} {
		if p, _ := cold(t, c.config, work(edit(c.text))); len(p.Edits) > 0 {
			t.Errorf("%+v: %s", c.config, p.Edits[0].Text)
		}
	}
}

// A pointer never names a source that has left. The result that pointed to it is sent in full.
func TestEvictMovesPointers(t *testing.T) {
	c := work(func(c *conv) {
		c.call("terminal-execute", map[string]any{"command": "make"}, long("out", 900))
		for i := range 4 {
			c.call("terminal-execute", map[string]any{"command": fmt.Sprint("try ", i)}, "no")
		}
		c.call("terminal-execute", map[string]any{"command": "make all"}, long("out", 900))
	})
	c.messages = c.messages[:len(c.messages)-2] // it is one of the newest results
	e := newEngine(t, Config{})
	warm := llm.Apply(c.messages, e.Plan(c.messages).Edits)
	if !strings.Contains(warm[12].Parts[0].Text, "shown above by call_1") {
		t.Fatalf("%s", warm[12].Parts[0].Text)
	}
	_, out := cold(t, Config{}, c)
	if !strings.Contains(out[2].Parts[0].Text, "Run it again") || out[12].Parts[0].Text != c.messages[12].Parts[0].Text {
		t.Errorf("%s\n%s", out[2].Parts[0].Text, out[12].Parts[0].Text)
	}
}

// Invariant 6: short lines count like others. The old text of an edit stays if one of its lines stands nowhere else.
func TestEvictShortLines(t *testing.T) {
	var lines []string
	for i := range 120 {
		lines = append(lines, fmt.Sprintf("%d,", 100+i*7))
	}
	edit := map[string]any{"filePath": "src/t.go", "searchContent": strings.Join(lines, "\n") + "\n", "replaceContent": "x"}
	for _, c := range []struct {
		name  string
		shown string // the lines of the file that were shown before the edit
		left  bool
	}{
		{"not shown", "", false},
		{"shown", strings.Join(lines, "\n"), true},
		{"all but one", strings.Replace(strings.Join(lines, "\n"), "247,", "1247,", 1), false},
		{"the first is the end of a line", "x := []int{" + strings.Join(lines, "\n"), false},
	} {
		p, _ := cold(t, Config{}, work(func(w *conv) {
			if c.shown != "" {
				w.call("terminal-execute", map[string]any{"command": "cat src/t.go"}, c.shown+"\n")
			}
			w.call("filesystem-edit", edit, "Edited.")
		}))
		if left := len(p.Edits) > 0; left != c.left {
			t.Errorf("%s: left %v", c.name, left)
		}
	}
}
