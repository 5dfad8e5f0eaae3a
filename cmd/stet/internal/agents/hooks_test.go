package agents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/internal/jsonc"
	"github.com/stet-dev/stet/server/guard"
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
			if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" && (g.mark == pluginMark || name == "claude") {
				t.Error(name, "others may read the token", info, err)
			}
			if is, closed := g.Installed(m, ""); !is || closed {
				t.Error(name, is, closed)
			}
			installed, err := os.ReadFile(file)
			if err != nil || !strings.Contains(strings.ToLower(string(installed)), "pretooluse") && !strings.Contains(string(installed), "BeforeTool") && !strings.Contains(string(installed), `tell("before"`) {
				t.Fatal(name, err, string(installed))
			}
			if g.plugin != nil {
				// the whole file
			} else if event := "/" + g.speech.event(guard.Before) + `"`; strings.Count(string(installed), "/claude"+event)+strings.Count(string(installed), " hook "+name+" "+event[1:]) != 1 {
				t.Errorf("%s: entries for one event:\n%s", name, installed)
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

// Agents wait for their hooks a little longer than the guard for a person, and docs/answers.md says how long that is. (GRD-1)
func TestWaits(t *testing.T) {
	docs, err := os.ReadFile("../../../../docs/answers.md")
	if err != nil {
		t.Fatal(err)
	}
	h := Hooks{Wait: guard.DefaultWait, Pause: guard.DefaultPause}
	waits := func(s *speech, event string) time.Duration { return s.timeout(h, event) - hookTimeout }
	wait := fmt.Sprintf("| `ask-wait` (%d s), then the call is denied |", guard.DefaultWait/time.Second)
	dialog := "| as long as its dialog is open, a day at most |"
	for _, row := range []struct {
		agent, says string
		waits, want time.Duration
	}{
		{"| Claude Code |", dialog, waits(&claudeSpeech, "PermissionRequest"), 24 * time.Hour},
		{"| Claude Code, `-p` and SDKs |", wait, waits(&claudeSpeech, "PreToolUse"), guard.DefaultWait},
		{"| Codex |", fmt.Sprintf("| `ask-pause` (%d s), then its dialog comes |", guard.DefaultPause/time.Second), waits(&codexSpeech, "PermissionRequest"), guard.DefaultPause},
		{"| Codex, also `exec` |", wait, waits(&codexSpeech, "PreToolUse"), guard.DefaultWait},
		{"| opencode |", dialog, 24 * time.Hour, 24 * time.Hour}, // see below
		{"| Qwen Code |", fmt.Sprintf("| `ask-pause` (%d s), at most 50 s, then its dialog comes |", guard.DefaultPause/time.Second), waits(&qwenSpeech, "PermissionRequest"), guard.DefaultPause},
		{"| Gemini CLI, pi |", wait, waits(&geminiSpeech, "BeforeTool"), guard.DefaultWait},
		{"| Copilot CLI |", fmt.Sprintf("| `ask-pause` (%d s), then its dialog comes |", guard.DefaultPause/time.Second), waits(&copilotSpeech, "preToolUse"), guard.DefaultPause},
		{"| opencode, also `run` |", wait, guard.DefaultWait, guard.DefaultWait},
	} {
		found := slices.ContainsFunc(strings.Split(string(docs), "\n"), func(l string) bool { return strings.HasPrefix(l, row.agent) && strings.HasSuffix(l, row.says) })
		if !found || row.waits != row.want {
			t.Errorf("%s waits %v: docs/answers.md has no row that ends with %s", row.agent, row.waits, row.says)
		}
	}
	if text := plugin("opencode", opencodePlugin)(h); !strings.Contains(text, `tell("ask", what, 86400)`) || !strings.Contains(text, fmt.Sprint(int((hookTimeout+guard.DefaultWait)/time.Second))) {
		t.Error("opencode's plugin waits otherwise")
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

// Codex trusts a hook by its position and by a hash, which is as Codex 0.169.0 makes it.
func TestTrust(t *testing.T) {
	entry := map[string]any{"hooks": []any{map[string]any{"type": "command", "command": "'/tmp/gstet' hook codex PreToolUse", "timeout": float64(30)}}}
	if got := trustHash("pre_tool_use", entry); got != "sha256:12c972d5ee236ed5ee4f6bd5c1df302017e1c6af0ba29df8ed234edced93375d" {
		t.Error(got)
	}
	g, _ := GuardOf("codex")
	home := t.TempDir()
	m := Machine{Env: []string{"HOME=" + home}, Dir: home}
	e, err := g.Install(m, "", Hooks{Program: "/opt/stet"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(e.File), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Write(); err != nil {
		t.Fatal(err)
	}
	untrusted := func(want int) {
		t.Helper()
		if events, err := g.Untrusted(m); err != nil || len(events) != want {
			t.Error(events, err)
		}
	}
	untrusted(6)
	config := ""
	for event, name := range map[string]string{"SessionStart": "session_start", "UserPromptSubmit": "user_prompt_submit", "PermissionRequest": "permission_request", "PreToolUse": "pre_tool_use", "PostToolUse": "post_tool_use", "Stop": "stop"} {
		list, _, err := jsonc.Lookup(e.New, []string{"hooks", event})
		if err != nil {
			t.Fatal(err)
		}
		v := list.([]any)[0]
		config += "[hooks.state.\"" + e.File + ":" + name + ":0:0\"]\ntrusted_hash = \"" + trustHash(name, v) + "\"\n"
	}
	file := filepath.Join(filepath.Dir(e.File), "config.toml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	untrusted(0)
	text := strings.Replace(string(e.New), `"Stop": [`, `"Stop": [{"hooks": [{"type": "command", "command": "first"}]},`, 1)
	if err := os.WriteFile(e.File, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	untrusted(1)
}

// Where hooks are taken out again, a file is byte for byte what it was, and no copy of it stays. A file that its person has changed since keeps the
// change, and the copy stays.
func TestFileComesBack(t *testing.T) {
	const before = "{\n  // mine\n\t\"model\": \"a b\", \"env\": {} }\n\n"
	for changed, want := range map[string]int{"": 0, "ab": 2} {
		home := t.TempDir()
		m := Machine{Env: []string{"HOME=" + home}, Dir: home}
		file := filepath.Join(home, ".claude", "settings.json")
		if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(before), 0o640); err != nil {
			t.Fatal(err)
		}
		g, _ := GuardOf("claude")
		install, err := g.Install(m, "", Hooks{URL: "http://127.0.0.1:1/guard", Token: "secret"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := install.Write(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if changed != "" {
			if err := os.WriteFile(file, bytes.Replace(text, []byte("a b"), []byte(changed), 1), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		remove, err := g.Remove(m, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := remove.Write(); err != nil {
			t.Fatal(err)
		}
		text, err = os.ReadFile(file)
		if same := string(text) == before; err != nil || same != (changed == "") || changed != "" && !bytes.Contains(text, []byte(`"ab"`)) || len(Copies(file)) != want {
			t.Errorf("changed to %q: %v, %d copies:\n%s", changed, err, len(Copies(file)), text)
		}
	}
}

// What Copilot CLI sends, also in its older form, is read by its names: a call without a tool is an error, and a failed call is seen as one. (GRD-1)
func TestReadHooks(t *testing.T) {
	for _, c := range []struct {
		s                  *speech
		event, body        string
		tool, input        string
		failed, unreadable bool
	}{
		{&copilotSpeech, "preToolUse", `{"cwd":"/w","toolName":"bash","toolArgs":"{\"command\":\"rm x\"}"}`, "bash", `{"command":"rm x"}`, false, false},
		{&copilotSpeech, "preToolUse", `{"sessionId":"s","cwd":"/w","toolName":"apply_patch","toolArgs":"*** Begin Patch"}`, "apply_patch", `{"input":"*** Begin Patch"}`, false, false},
		{&copilotSpeech, "preToolUse", `{"cwd":"/w","tool_name":"bash","tool_input":{}}`, "", "", false, true},
		{&claudeSpeech, "PreToolUse", `{"session_id":"s","cwd":"/w"}`, "", "", false, true},
		{&copilotSpeech, "postToolUse", `{"cwd":"/w","toolName":"bash","toolArgs":{},"toolResult":{"resultType":"failure"}}`, "bash", "{}", true, false},
		{&copilotSpeech, "postToolUse", `{"cwd":"/w","toolName":"bash","toolArgs":{},"toolResult":{"resultType":"success"}}`, "bash", "{}", false, false},
		{&geminiSpeech, "AfterTool", `{"cwd":"/w","tool_name":"replace","tool_input":{},"tool_response":{"llmContent":"x","error":{"message":"no"}}}`, "replace", "{}", true, false},
		{&geminiSpeech, "AfterTool", `{"cwd":"/w","tool_name":"replace","tool_input":{},"tool_response":{"llmContent":"x"}}`, "replace", "{}", false, false},
	} {
		e, err := c.s.read(c.event, "", []byte(c.body))
		if (err != nil) != c.unreadable || e.Tool != c.tool || string(e.Input) != c.input || e.Failed != c.failed || err == nil && c.s == &copilotSpeech && e.Session == "" {
			t.Errorf("%s: %+v, %v", c.body, e, err)
		}
	}
}

// The end of Claude Code's turn says which sub-agents go on. Another form of it is no error.
func TestGoesOn(t *testing.T) {
	for tasks, want := range map[string]string{`[{"id":"a1","type":"subagent","status":"running"},{"id":"b2","type":"shell"}]`: "[a1 b2]", "[]": "[]", `3`: "[]", `[{"id":1}]`: "[]"} {
		e, err := claudeSpeech.read("Stop", "", []byte(`{"cwd":"/w","background_tasks":`+tasks+`}`))
		if err != nil || strings.TrimSpace(fmt.Sprint(e.Running)) != want {
			t.Errorf("%s: %v, %v", tasks, e.Running, err)
		}
	}
}

// After a compaction a session begins again without what was sent before.
func TestSessionAnew(t *testing.T) {
	for body, want := range map[string]bool{`{"source":"compact"}`: true, `{"source":"clear"}`: true, `{"source":"resume"}`: false, `{"source":"startup"}`: false, `{}`: false} {
		for _, s := range []speech{claudeSpeech, codexSpeech, qwenSpeech, geminiSpeech} {
			if e, err := s.read("SessionStart", "", []byte(body)); err != nil || e.Anew != want {
				t.Errorf("%s: %s: %t, %v", s.agent, body, e.Anew, err)
			}
		}
	}
}

// Files in which agents look for hooks are known, also in directories that a variable names, and others are not taken for them. (GRD-1)
func TestIsHookFile(t *testing.T) {
	m := Machine{Env: []string{"HOME=/h", "COPILOT_HOME=/c", "QWEN_HOME=/q", "PI_CODING_AGENT_DIR=/p"}}
	for path, want := range map[string]bool{
		"/h/.gemini/extensions/x/hooks/hooks.json": true, "/h/.gemini/extensions/x/README.md": false, "/h/.copilot/config.json": true, "/c/hooks/a.json": true,
		"/c/config.json": true, "/q/settings.json": true, "/p/extensions/a.js": true, "/w/.pi/notes.md": false, "/w/.pi/extensions/a.js": true, "/w/.pi/settings.json": true,
		"/h/.pi/agent/settings.json": true, "/c/notes.md": false,
	} {
		if got := m.IsHookFile(path); got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
}

// A folder that a person has linked stays when a plugin is removed, and an empty folder of the plugin goes.
func TestPluginFolder(t *testing.T) {
	for _, linked := range []bool{false, true} {
		home := t.TempDir()
		m := Machine{Env: []string{"HOME=" + home}, Dir: home}
		folder := filepath.Join(home, ".config", "opencode", "plugin")
		if linked {
			if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(t.TempDir(), folder); err != nil {
				t.Skip("no links here:", err)
			}
		}
		g, _ := GuardOf("opencode")
		for _, change := range []func() (Edit, error){
			func() (Edit, error) { return g.Install(m, "", Hooks{URL: "http://127.0.0.1:1/guard", Token: "secret"}) },
			func() (Edit, error) { return g.Remove(m, "") },
		} {
			e, err := change()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := e.Write(); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := os.Lstat(folder); (err == nil) != linked {
			t.Errorf("linked %t: %v", linked, err)
		}
	}
}

// Each agent's form carries a person's words whole: several lines, quotes, markup, characters that end strings elsewhere, 8,000 bytes. (GRD-1)
func TestWords(t *testing.T) {
	words := "no:\n\"use\" 'the' `garden`\r\n</script> $(rm -rf x) \\ \x1b[31m \u2028 \u202e " + strings.Repeat("é", 3900)
	for name, form := range GuardForms() {
		said := false
		for _, kind := range []guard.Kind{guard.Before, guard.Asking} {
			out := form.Write(guard.Event{Kind: kind, Dialog: guard.NoDialog}, guard.Answer{Decided: true, Action: policy.Deny, Reason: words})
			var v any
			if len(out) > 0 {
				if err := json.Unmarshal(out, &v); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			said = said || strings.Contains(guard.Texts(out), words)
		}
		if !said {
			t.Errorf("%s: the words are not whole", name)
		}
	}
}
