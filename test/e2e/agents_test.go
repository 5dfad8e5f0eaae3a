package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// agent is one agent on one of the wire formats.
type agent struct {
	name string
	wire string // the name of the format in llmtest
	// configure writes the agent's configuration files in home, for a model at base (without /v1). It returns the environment
	// variables that the agent needs.
	configure func(t *testing.T, home, base string) (env []string)
	// command returns the command line for a prompt, in a new conversation, or in the latest one if again is set. It returns nil
	// if the agent cannot continue a conversation without a terminal.
	command func(home, prompt string, again bool) []string
	// soak says that the agent is tested only with STET_SOAK: another agent of the list has the same client, this agent is in the
	// list with another format, or its start is slow.
	soak    bool
	version string // that only ALL=1 installs; "": it is always there
}

// key is a dummy: the scripted model does not check it.
const key = "dummy"

// bound is the name of a model that checks what stands before its thinking.
const bound = "claude-opus-5-5"

var agents = []agent{
	opencode("messages", "anthropic", bound),
	opencode("chat", "local", "scripted"),
	opencode("responses", "openai", "gpt-5.5"),
	codex,
	continueCLI("messages", "anthropic", bound),
	continueCLI("chat", "openai", "scripted"),
	continueCLI("responses", "openai", "gpt-5"),
	qwen("messages", "anthropic"),
	qwen("chat", "openai"),
	pi("messages", "anthropic", bound),
	soaking(pi("chat", "local", "scripted")),
	soaking(pi("responses", "openai", "gpt-5.5")),
	cline("messages", "anthropic", "claude-sonnet-4-5"),
	soaking(cline("chat", "openai-compatible", "scripted")),
	soaking(cline("responses", "openai-native", "gpt-5")),
	gemini,
}

// skip skips the test of an agent that is tested only with STET_SOAK, or only with STET_AGENTS=all.
func (a agent) skip(t *testing.T) {
	t.Helper()
	if a.soak && os.Getenv("STET_SOAK") == "" {
		t.Skip("with STET_SOAK=1 alone")
	}
	if a.version != "" && os.Getenv(envOthers) == "" {
		t.Skip("with STET_AGENTS=all alone")
	}
}

// newer is an agent at a version that only ALL=1 installs, with the Node that it needs.
func newer(a agent, version string) agent {
	configure, command := a.configure, a.command
	bin := func() string { return filepath.Join(os.Getenv(envOthers), a.name+"@"+version, "node_modules", ".bin") }
	a.version = version
	a.configure = func(t *testing.T, home, base string) []string {
		return append(configure(t, home, base), "PATH="+bin()+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	a.command = func(home, prompt string, again bool) []string {
		args := command(home, prompt, again)
		if len(args) > 0 {
			args[0] = filepath.Join(bin(), args[0])
		}
		return args
	}
	return a
}

func soaking(a agent) agent {
	a.soak = true
	return a
}

func opencode(wire, provider, model string) agent {
	configure := func(t *testing.T, home, base string) []string {
		settings := `"options": {"baseURL": "` + base + `/v1", "apiKey": "` + key + `"}`
		if model == bound {
			settings += `, "models": {"` + model + `": {"reasoning": true, "tool_call": true, "limit": {"context": 200000, "output": 8000}}}`
		}
		if provider == "local" {
			settings += `, "npm": "@ai-sdk/openai-compatible", "models": {"` + model + `": {"limit": {"context": 200000, "output": 8000}}}`
		}
		write(t, filepath.Join(home, ".config/opencode/opencode.json"), `{
			"$schema": "https://opencode.ai/config.json", "autoupdate": false, "share": "disabled",
			"permission": {"edit": "allow", "bash": "allow", "webfetch": "deny"},
			"provider": {"`+provider+`": {`+settings+`}}
		}`)
		return []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "npm_config_fetch_retries=0"}
	}
	command := func(_, prompt string, again bool) []string {
		args := []string{"opencode", "run", "--model", provider + "/" + model}
		if again {
			args = append(args, "--continue")
		}
		return append(args, prompt)
	}
	return agent{name: "opencode", wire: wire, configure: configure, command: command}
}

var codex = agent{
	name: "codex", wire: "responses",
	configure: func(t *testing.T, home, base string) []string {
		write(t, filepath.Join(home, ".codex/config.toml"), `
model = "gpt-5.5"
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "`+base+`/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
[analytics]
enabled = false
`)
		return []string{"OPENAI_API_KEY=" + key}
	},
	command: func(_, prompt string, again bool) []string {
		args := []string{"codex", "exec"}
		if again {
			args = append(args, "resume", "--last")
		}
		return append(args, "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check", prompt)
	},
}

// codexSocket is Codex over a WebSocket.
var codexSocket = agent{
	name: "codex-socket", wire: "responses",
	configure: func(t *testing.T, home, base string) []string {
		env := codex.configure(t, home, base)
		path := filepath.Join(home, ".codex/config.toml")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		write(t, path, strings.Replace(string(text), "[analytics]", "supports_websockets = true\n[analytics]", 1))
		return env
	},
	command: codex.command,
}

func continueCLI(wire, provider, model string) agent {
	configure := func(t *testing.T, home, base string) []string {
		write(t, filepath.Join(home, "continue.yaml"), `
name: e2e
version: 0.0.1
schema: v1
models:
  - name: scripted
    provider: `+provider+`
    model: `+model+`
    apiBase: `+base+`/v1
    apiKey: `+key+`
    roles: [chat]
    capabilities: [tool_use]
`)
		return []string{"CONTINUE_TELEMETRY_ENABLED=0", "CONTINUE_ALLOW_ANONYMOUS_TELEMETRY=0", "FORCE_NO_TTY=1"}
	}
	command := func(home, prompt string, again bool) []string {
		args := []string{"cn", "--config", filepath.Join(home, "continue.yaml"), "--auto"}
		if again {
			args = append(args, "--resume")
		}
		return append(args, "-p", prompt)
	}
	return agent{name: "continue", wire: wire, configure: configure, command: command}
}

// qwen uses a model that does not check thinking. The agent's first message lists the files, and each process makes that list
// again. A model that checks would refuse the second prompt, also without stet.
func qwen(wire, auth string) agent {
	configure := func(t *testing.T, home, base string) []string {
		write(t, filepath.Join(home, ".qwen/settings.json"), `{
			"privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false},
			"general": {"disableAutoUpdate": true, "disableUpdateNag": true}
		}`)
		if auth == "anthropic" {
			return []string{"ANTHROPIC_API_KEY=" + key, "ANTHROPIC_BASE_URL=" + base, "ANTHROPIC_MODEL=claude-sonnet-4-5"}
		}
		return []string{"OPENAI_API_KEY=" + key, "OPENAI_BASE_URL=" + base + "/v1", "OPENAI_MODEL=scripted"}
	}
	command := func(_, prompt string, again bool) []string {
		args := []string{"qwen", "--auth-type", auth, "--approval-mode", "yolo"}
		if again {
			args = append(args, "--continue")
		}
		return append(args, "-p", prompt)
	}
	return agent{name: "qwen", wire: wire, configure: configure, command: command}
}

func pi(wire, provider, model string) agent {
	configure := func(t *testing.T, home, base string) []string {
		entry := `"baseUrl": "` + base + `/v1"`
		switch provider {
		case "anthropic":
			entry = `"baseUrl": "` + base + `", "api": "anthropic-messages", "apiKey": "` + key + `", "models": [{"id": "` + model + `", "reasoning": true, "contextWindow": 200000, "maxTokens": 8000}]`
		case "local":
			entry += `, "api": "openai-completions", "apiKey": "` + key + `", "models": [{"id": "` + model + `", "contextWindow": 200000, "maxTokens": 8000}]`
		}
		write(t, filepath.Join(home, ".pi/agent/models.json"), `{"providers": {"`+provider+`": {`+entry+`}}}`)
		return []string{"PI_OFFLINE=1", "ANTHROPIC_API_KEY=" + key, "OPENAI_API_KEY=" + key}
	}
	command := func(_, prompt string, again bool) []string {
		args := []string{"pi", "--model", provider + "/" + model, "--thinking", "medium"}
		if again {
			args = append(args, "--continue")
		}
		return append(args, "-p", prompt)
	}
	return agent{name: "pi", wire: wire, configure: configure, command: command}
}

func cline(wire, provider, model string) agent {
	configure := func(t *testing.T, home, base string) []string {
		write(t, filepath.Join(home, ".cline/data/settings/providers.json"), `{"version": 1, "lastUsedProvider": "`+provider+`", "modes": {}, "providers": {"`+provider+`": {
			"settings": {"provider": "`+provider+`", "apiKey": "`+key+`", "model": "`+model+`", "baseUrl": "`+base+`/v1"},
			"updatedAt": "2026-01-02T03:04:05.000Z", "tokenSource": "manual"
		}}}`)
		return []string{"CLINE_SESSION_BACKEND_MODE=local"} // otherwise a background process remains
	}
	command := func(_, prompt string, again bool) []string {
		if again {
			return nil
		}
		return []string{"cline", prompt}
	}
	return agent{name: "cline", wire: wire, configure: configure, command: command}
}

// gemini uses a model that wants the signatures of its calls back. The agent does not continue a conversation: version 0.61.0
// then sends each result twice, which the provider refuses with stet and without it (google-gemini/gemini-cli, issue 29365).
var gemini = agent{
	name: "gemini", wire: "gemini",
	configure: func(t *testing.T, home, base string) []string {
		write(t, filepath.Join(home, ".gemini/settings.json"), `{
			"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": false},
			"general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false}
		}`)
		return []string{"GEMINI_API_KEY=" + key, "GOOGLE_GEMINI_BASE_URL=" + base, "GEMINI_CLI_TRUST_WORKSPACE=true"}
	},
	command: func(_, prompt string, again bool) []string {
		if again {
			return nil
		}
		return []string{"gemini", "--model", "gemini-3-pro-preview", "--approval-mode", "yolo", "-p", prompt}
	},
}

// copilot is a version of GitHub Copilot CLI, with a provider of one's own: GitHub's models need a login.
func copilot(version string) agent {
	return newer(agent{
		name: "copilot", wire: "chat",
		configure: func(_ *testing.T, _, base string) []string {
			return []string{
				"COPILOT_PROVIDER_BASE_URL=" + base + "/v1", "COPILOT_PROVIDER_TYPE=openai", "COPILOT_PROVIDER_API_KEY=" + key, "COPILOT_MODEL=gpt-5.5", "COPILOT_OFFLINE=true",
			}
		},
		command: func(_, prompt string, again bool) []string {
			args := []string{"copilot", "--allow-all-tools", "--no-auto-update"}
			if again {
				args = append(args, "--continue")
			}
			return append(args, "-p", prompt)
		},
	}, version)
}

// providerHosts are the hosts that agents ask without a base URL, by wire format.
var providerHosts = map[string]string{
	"messages": "https://api.anthropic.com", "responses": "https://api.openai.com", "chat": "https://api.openai.com",
	"gemini": "https://generativelanguage.googleapis.com",
}

// claudeCode is a version of Claude Code.
func claudeCode(version string) agent {
	return agent{
		name: "claude", wire: "messages",
		configure: func(_ *testing.T, _, base string) []string {
			env := []string{"ANTHROPIC_API_KEY=sk-ant-dummy", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1"}
			if base != providerHosts["messages"] {
				env = append(env, "ANTHROPIC_BASE_URL="+base)
			}
			return env
		},
		command: func(_, prompt string, again bool) []string {
			args := []string{filepath.Join(claudeDir(version), "claude"), "--model", bound, "--allowedTools", "Read,Edit,Write,Bash"}
			if again {
				args = append(args, "--continue")
			}
			return append(args, "-p", prompt)
		},
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
