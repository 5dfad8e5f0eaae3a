package trim

import (
	"fmt"
	"strings"
	"testing"
)

// TRK-9, context-engine.md "Admit": lines are left out if they stand in the request. In which file, output or call they stand
// does not matter.
func TestLinesStandElsewhere(t *testing.T) {
	text := func(a, b int) string { return lineRange("the text of line %[1]d, as the file has it", a, b) }
	read := func(c *conv, name string, a, b int) int {
		return c.call("Read", map[string]any{"file_path": "/p/" + name, "offset": a, "limit": b - a + 1}, lineRange(cat, a, b))
	}
	run := func(c *conv, command, output string, failed ...bool) int {
		return c.call("Bash", map[string]any{"command": command}, output, failed...)
	}
	behind := func(sign, text string) string {
		return sign + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+sign) + "\n"
	}
	diff := "diff --git a/a.ts b/a.ts\n--- a/a.ts\n+++ b/a.ts\n@@ -1,20 +1,30 @@\n" + behind(" ", text(1, 20)) + behind("+", text(21, 30))
	for name, tt := range map[string]struct {
		first, second func(c *conv) int
		want          string
	}{
		"another file": {
			func(c *conv) int { return read(c, "a.ts", 1, 30) }, func(c *conv) int { return read(c, "b.ts", 1, 30) },
			"[stet: /p/b.ts lines 1-30 the same: shown above by call_1 (lines 1-30 of a.ts). Ask again for the full text.]",
		},
		"an output": {
			func(c *conv) int { return run(c, "make show", text(1, 30)) }, func(c *conv) int { return read(c, "b.ts", 1, 30) },
			"[stet: /p/b.ts lines 1-30 the same: shown above by call_1 (lines 1-30 there). Ask again for the full text.]",
		},
		"an output that failed": {
			func(c *conv) int { return run(c, "make show", text(1, 30), true) }, func(c *conv) int { return read(c, "b.ts", 1, 30) },
			"shown above by call_1 (lines 1-30 there)",
		},
		"a file, printed": {
			func(c *conv) int { return read(c, "a.ts", 1, 30) }, func(c *conv) int { return run(c, "make show", text(1, 30)) },
			"[stet: output lines 1-30 the same: shown above by call_1 (lines 1-30 of a.ts). Ask again for the full text.]",
		},
		"a command": {
			func(c *conv) int { return run(c, "cat > a.ts <<'END'\n"+text(1, 30)+"END", "") },
			func(c *conv) int { return read(c, "a.ts", 1, 30) },
			"written by call_1 (lines 2-31 there)",
		},
		"another agent": {
			func(c *conv) int { return c.call("Task", map[string]any{"prompt": "Look."}, text(1, 30)) },
			func(c *conv) int { return read(c, "a.ts", 1, 30) },
			"shown above by call_1 (lines 1-30 there)",
		},
		"a difference": {
			func(c *conv) int { return run(c, "git log -p -1", diff) }, func(c *conv) int { return read(c, "a.ts", 1, 30) },
			"[stet: /p/a.ts lines 1-30 unchanged: shown above by call_1 (lines 1-30). Ask again for the full text.]",
		},
		"files that a shell printed": {
			func(c *conv) int { return run(c, "cat a.ts b.ts", text(1, 30)) }, func(c *conv) int { return run(c, "cat c.ts a.ts", text(1, 30)) },
			"[stet: output lines 1-30 unchanged: shown above by call_1 (lines 1-30). Ask again for the full text.]",
		},
	} {
		c := &conv{clock: noon}
		c.user("Working directory: /p")
		tt.first(c)
		at := tt.second(c)
		tt.second(c) // asks again
		p := expectLeft(t, lossless(t), c, at)
		if !strings.Contains(p.Edits[0].Text, tt.want) {
			t.Errorf("%s: %q", name, p.Edits[0].Text)
		}
	}
}

// A few lines that also stand in another file are no repeat. An output never points to its own lines.
func TestFewLinesElsewhere(t *testing.T) {
	c := &conv{clock: noon}
	head := lineRange("// %[1]d: a head that all files have, and that takes a hundred bytes of each of them, one like the other", 1, minOtherRun-1)
	for i := range 3 {
		c.call("Bash", map[string]any{"command": fmt.Sprintf("cat %d.ts", i)}, head+lineRange(fmt.Sprintf("line %%[1]d of file %d", i), 1, 30))
	}
	expectLeft(t, lossless(t), c)
}
