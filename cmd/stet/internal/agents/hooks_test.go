package agents

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Installing and removing the hooks leaves every other byte of the agent's file as it was, at any position.
func TestHooks(t *testing.T) {
	h := Hooks{URL: "http://127.0.0.1:1/guard", Token: "secret", Program: "/opt/my stet"}
	for _, name := range GuardedAgents() {
		g, _ := GuardOf(name)
		for _, text := range []string{
			"", "{}\n", "{\n  \"model\": \"x\"\n}\n",
			"{\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"true\"}]}\n    ]\n  },\n  \"model\": \"x\"\n}\n",
		} {
			if g.plugin != nil && text != "" {
				continue
			}
			home := t.TempDir()
			m := Machine{Env: []string{"HOME=" + home}, Dir: home}
			file := g.file(m, "")
			if text != "" {
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 { // a second time nothing changes
				e, err := g.Install(m, "", h)
				if err != nil {
					t.Fatal(name, err)
				}
				if _, err := e.Write(); err != nil {
					t.Fatal(err)
				}
			}
			if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" && name != "codex" {
				t.Error(name, "others may read the token", info, err)
			}
			if is, closed := g.Installed(m, ""); !is || closed {
				t.Error(name, is, closed)
			}
			installed, err := os.ReadFile(file)
			if err != nil || strings.Count(string(installed), "PreToolUse")+strings.Count(string(installed), "tool.execute.before") == 0 {
				t.Fatal(name, err, string(installed))
			}
			if n := strings.Count(string(installed), "/claude/PreToolUse\"") + strings.Count(string(installed), " hook codex PreToolUse"); g.plugin == nil && n != 1 {
				t.Errorf("%s: %d entries for one event:\n%s", name, n, installed)
			}
			e, err := g.Remove(m, "")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := e.Write(); err != nil {
				t.Fatal(err)
			}
			left, err := os.ReadFile(file)
			if err != nil && (text != "" && text != "{}\n" || !os.IsNotExist(err)) {
				t.Fatal(name, err)
			}
			if diff := cmp.Diff(text, string(left)); diff != "" && text != "{}\n" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
}

// The order of entries does not matter for what is taken out.
func TestHooksBetweenOthers(t *testing.T) {
	g, _ := GuardOf("claude")
	home := t.TempDir()
	m := Machine{Env: []string{"HOME=" + home}, Dir: home}
	e, err := g.Install(m, "", Hooks{URL: "http://127.0.0.1:1/guard", Token: "x", Closed: true})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(e.New), `"PreToolUse": [`, `"PreToolUse": [{"hooks": [{"type": "command", "command": "first"}]},`, 1)
	i := strings.LastIndex(text, "]")
	for strings.Contains(text[i:], "SessionEnd") {
		i = strings.LastIndex(text[:i], "]")
	}
	if err := os.MkdirAll(filepath.Join(home, ".claude"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(g.file(m, ""), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(e.New), "/claude/PreToolUse?closed\"") || strings.Count(string(e.New), "?closed") != 1 {
		t.Errorf("the guard does not learn that a call is denied which it cannot undo: %s", e.New)
	}
	if is, closed := g.Installed(m, ""); !is || !closed {
		t.Error(is, closed)
	}
	if e, err = g.Remove(m, ""); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(e.New), "/guard/") || !strings.Contains(string(e.New), `"first"`) {
		t.Errorf("left: %s", e.New)
	}
}
