package agents

import (
	"path/filepath"
	"strings"
	"testing"
)

const (
	toolSearch = "ENABLE_TOOL_SEARCH=true"
	firstParty = "_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL=1"
)

// kept returns the variables of claudeKeeps in an environment.
func kept(env []string) string {
	var all []string
	for _, v := range env {
		for _, k := range claudeKeeps {
			if strings.HasPrefix(v, k.name+"=") {
				all = append(all, v)
			}
		}
	}
	return strings.Join(all, " ")
}

// A run of Claude Code keeps its own behaviour if, and only if, its requests go to the provider's own host. A variable that the person
// has set stays.
func TestRunKeepsBehaviour(t *testing.T) {
	const provider, gateway = "https://api.anthropic.com", "https://gateway.test"
	for _, tt := range []struct {
		name, command, version string
		env                    []string
		upstream               string // what the proxy is told; empty: nothing
		user, project, local   string // settings
		want                   string
	}{
		{name: "the oldest row", version: "2.1.300 (Claude Code)", want: toolSearch},
		{name: "before a row", version: "2.1.301", want: toolSearch},
		{name: "the first version of a row", version: "2.1.302", want: firstParty},
		{name: "a newer one", version: "2.10.0", want: firstParty},
		{name: "an older one", version: "1.0.9999", want: toolSearch},
		{name: "unknown", want: firstParty},
		{name: "no number", version: "dev", want: firstParty},
		{name: "a pinned version", command: "npx -y @anthropic-ai/claude-code@2.1.300 -p x", version: "2.1.332", want: toolSearch},
		{name: "the latest", command: "npx @anthropic-ai/claude-code@latest", version: "2.1.300", want: firstParty},
		{name: "a launcher", command: "env A=1 timeout 5 claude -p x", version: "2.1.300", want: toolSearch},
		{name: "a shell", command: "bash -c claude", version: "2.1.300", want: toolSearch},
		{name: "another agent", command: "codex exec x", version: "2.1.300"},
		{name: "another agent that follows the variables", command: "qwen", version: "2.1.300"},
		{name: "the provider, named", env: []string{"ANTHROPIC_BASE_URL=" + provider + "/"}, want: firstParty},
		{name: "the provider, with a port", upstream: "https://API.anthropic.com:443", want: firstParty},
		{name: "a gateway in the environment", env: []string{"ANTHROPIC_BASE_URL=" + gateway}},
		{name: "a gateway before the proxy's provider", env: []string{"ANTHROPIC_BASE_URL=" + gateway}, upstream: provider, want: firstParty},
		{name: "a gateway of the proxy", upstream: gateway},
		{name: "not encrypted", upstream: "http://api.anthropic.com"},
		{name: "a name that contains it", upstream: "https://api.anthropic.com.gateway.test"},
		{name: "a cloud", env: []string{"CLAUDE_CODE_USE_BEDROCK=1"}},
		{name: "no cloud", env: []string{"CLAUDE_CODE_USE_VERTEX=0"}, want: firstParty},
		{name: "a cloud in the settings", user: `{"env": {"CLAUDE_CODE_USE_FOUNDRY": "true"}}`},
		{name: "no cloud in the settings", env: []string{"CLAUDE_CODE_USE_MANTLE=1"}, local: `{"env": {"CLAUDE_CODE_USE_MANTLE": "false"}}`, want: firstParty},
		{name: "a gateway in the settings", project: `{ /* ours */ "env": {"ANTHROPIC_BASE_URL": "` + gateway + `"}}`},
		{name: "a gateway in an argument", command: `claude --settings={"env":{"ANTHROPIC_BASE_URL":"x"}}`},
		{name: "a gateway in a named file", command: "claude --settings .claude/settings.local.json -p x", local: `{"env": {"ANTHROPIC_BASE_URL": "` + gateway + `"}}`},
		{name: "set by the person", env: []string{"ENABLE_TOOL_SEARCH=auto"}, version: "2.1.300", want: "ENABLE_TOOL_SEARCH=auto"},
		{name: "set to nothing", env: []string{"_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL="}, want: "_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL="},
		{name: "set in the settings", user: `{"env": {"ENABLE_TOOL_SEARCH": "false"}}`, version: "2.1.300"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := place(t, tt.env...)
			m.Version = func(string) string { return tt.version }
			if tt.upstream != "" {
				m.Upstream = func(string, string) string { return tt.upstream }
			}
			for file, text := range map[string]string{
				m.BelowHome(".claude", "settings.json"): tt.user, filepath.Join(m.Dir, ".claude", "settings.json"): tt.project,
				filepath.Join(m.Dir, ".claude", "settings.local.json"): tt.local,
			} {
				if text != "" {
					write(t, file, text)
				}
			}
			if tt.command == "" {
				tt.command = "claude -p x"
			}
			r := m.Redirect(strings.Fields(tt.command), testBase)
			defer r.Clean()
			if got := kept(r.Env); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// AddProxy sets the variable for the version and the upstream, ProxyChanged says when another one is needed, and RemoveProxy takes it out.
func TestLastingKeepsBehaviour(t *testing.T) {
	home := t.TempDir()
	version, upstream := "2.1.300", ""
	m := Machine{Env: []string{"HOME=" + home}, Dir: home, Version: func(string) string { return version }, Upstream: func(string, string) string { return upstream }}
	file, state := filepath.Join(home, ".claude", "settings.json"), filepath.Join(home, "setup.json")
	const before = "{\n  \"env\": {\n    \"A\": \"1\"\n  }\n}\n"
	put(t, file, before)
	add := func(want string) {
		t.Helper()
		if _, err := m.AddProxy("claude", proxyBase, state, false, nil); err != nil {
			t.Fatal(err)
		}
		var all []string
		for name, value := range environment([]byte(text(file))) {
			all = append(all, name+"="+value)
		}
		if got := kept(all); got != want {
			t.Errorf("%q, want %q:\n%s", got, want, text(file))
		}
		checkChanged(t, m, state, "")
	}
	add(toolSearch)
	version = "2.1.332"
	checkChanged(t, m, state, "env.ENABLE_TOOL_SEARCH env._CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL")
	add(firstParty)
	upstream = "https://gateway.test"
	checkChanged(t, m, state, "env._CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL")
	add("")
	upstream = ""
	put(t, file, strings.Replace(text(file), `"A": "1"`, `"A": "1", "_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL": "0"`, 1))
	add("_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL=0") // the person's own
	put(t, file, strings.Replace(text(file), `, "_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL": "0"`, "", 1))
	checkChanged(t, m, state, "env._CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL")
	add(firstParty)
	if _, err := m.RemoveProxy("claude", state, false); err != nil || text(file) != before {
		t.Errorf("%v:\n%s", err, text(file))
	}
}

func checkChanged(t *testing.T, m Machine, state, want string) {
	t.Helper()
	lasting, err := ReadLasting(state)
	if err != nil {
		t.Fatal(err)
	}
	changed, err := m.ProxyChanged("claude", lasting)
	if err != nil || strings.Join(changed, " ") != want {
		t.Errorf("changed: %q, %v, want %q", changed, err, want)
	}
}
