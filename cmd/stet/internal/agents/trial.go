package agents

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/pelletier/go-toml/v2"

	"github.com/stet-dev/stet/llm/llmtest"
)

// trial says how to run an agent once: without a terminal, a login and the person's own files, so that it sends a request.
type trial struct {
	command []string // of the agent, without its program; the prompt comes last
	env     []string // a dummy key, and what keeps it from other hosts
	// files are its configuration files below the home directory: JSON or TOML, by their names.
	files map[string]map[string]any
	// servers says where the person keeps MCP servers, and under which key. nil: the agent has none.
	servers func(m Machine) string
	key     string
	entry   func(command []string) map[string]any
}

// ProviderHosts are the hosts that the agents of trials ask.
var ProviderHosts = []string{claudeHost, openaiHost, "chatgpt.com", "generativelanguage.googleapis.com"}

// Keys that are sent in place of a person's. Their beginnings say which provider they are for.
const (
	claudeKey = "sk-ant-dummy-key-of-stet-doctor"
	openaiKey = "sk-proj-dummy-key-of-stet-doctor"
	geminiKey = "AIzaDummyKeyOfStetDoctor"
)

// trials has the agents whose requests can be compared.
var trials = map[string]trial{
	"claude": {
		command: []string{"-p"},
		env:     []string{"ANTHROPIC_API_KEY=" + claudeKey, "DISABLE_AUTOUPDATER=1"},
		servers: func(m Machine) string {
			if dir := m.Getenv("CLAUDE_CONFIG_DIR"); dir != "" {
				return filepath.Join(dir, ".claude.json")
			}
			return m.BelowHome(".claude.json")
		},
		key: "mcpServers", entry: entryWith(nil),
	},
	"codex": {
		command: []string{"exec", "--skip-git-repo-check"},
		env:     []string{"OPENAI_API_KEY=" + openaiKey, "CODEX_API_KEY=" + openaiKey},
		files:   map[string]map[string]any{".codex/config.toml": {"analytics": map[string]any{"enabled": false}}},
		servers: Machine.codexFile, key: "mcp_servers", entry: entryWith(nil),
	},
	"opencode": {
		command: []string{"run", "--model", "anthropic/claude-sonnet-4-5"},
		env:     []string{"ANTHROPIC_API_KEY=" + claudeKey, "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1"},
		files:   map[string]map[string]any{".config/opencode/opencode.json": {"autoupdate": false, "share": "disabled"}},
		servers: Machine.opencodeUserFile, key: "mcp", entry: opencodeServer,
	},
	"gemini": {
		command: []string{"--model", "gemini-3-pro-preview", "-p"},
		env:     []string{"GEMINI_API_KEY=" + geminiKey, "GEMINI_CLI_TRUST_WORKSPACE=true"},
		files: map[string]map[string]any{".gemini/settings.json": {
			"security": map[string]any{"auth": map[string]any{"selectedType": "gemini-api-key"}}, "privacy": map[string]any{"usageStatisticsEnabled": false},
			"general": map[string]any{"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
		}},
		servers: func(m Machine) string { return m.BelowHome(".gemini", "settings.json") }, key: "mcpServers", entry: entryWith(nil),
	},
	"qwen": {
		command: []string{"--auth-type", "openai", "-p"},
		env:     []string{"OPENAI_API_KEY=" + openaiKey, "OPENAI_BASE_URL=https://api.openai.com/v1", "OPENAI_MODEL=gpt-5.5"},
		files: map[string]map[string]any{".qwen/settings.json": {
			"privacy": map[string]any{"usageStatisticsEnabled": false}, "telemetry": map[string]any{"enabled": false},
			"general": map[string]any{"disableAutoUpdate": true, "disableUpdateNag": true},
		}},
		servers: func(m Machine) string { return m.BelowHome(".qwen", "settings.json") }, key: "mcpServers", entry: entryWith(nil),
	},
	"copilot": {
		command: []string{"--allow-all-tools", "--no-auto-update", "-p"},
		env: []string{
			"COPILOT_PROVIDER_BASE_URL=https://api.openai.com/v1", "COPILOT_PROVIDER_TYPE=openai", "COPILOT_PROVIDER_API_KEY=" + openaiKey,
			"COPILOT_MODEL=gpt-5.5", "COPILOT_OFFLINE=true",
		},
		servers: Machine.copilotServersFile, key: "mcpServers", entry: copilotServer,
	},
	"pi": {
		command: []string{"--model", "anthropic/claude-sonnet-4-5", "-p"},
		env:     []string{"PI_OFFLINE=1", "ANTHROPIC_API_KEY=" + claudeKey},
	},
}

// ComparedAgents returns the names of the agents whose requests can be compared.
func ComparedAgents() []string { return slices.Sorted(maps.Keys(trials)) }

// Trial is a run of an agent in a home directory of its own.
type Trial struct {
	Command []string
	Env     []string
	Dir     string
	Servers []string // names of the MCP servers that it starts
}

// Trial writes an agent's configuration below dir, which does not exist, and returns the run that asks prompt of the provider p. server is
// the command of its MCP server; with nil it gets the person's own servers, which keep the person's home directory.
func (m Machine) Trial(name, dir string, p *llmtest.Provider, server []string, prompt string) (*Trial, error) {
	t := trials[name]
	path, err := exec.LookPath(Program(name))
	if err != nil {
		return nil, err
	}
	home := filepath.Join(dir, "home")
	ca := filepath.Join(home, "authority.pem")
	out := &Trial{Command: append(append([]string{path}, t.command...), prompt), Dir: filepath.Join(dir, "empty"), Env: append(m.bare(home), t.env...)}
	for value, names := range map[string][]string{
		p.URL:    {"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY"},
		ca:       {"NODE_EXTRA_CA_CERTS", "CODEX_CA_CERTIFICATE", "SSL_CERT_FILE"},
		loopback: {"NO_PROXY", "no_proxy"},
	} {
		for _, name := range names {
			out.Env = append(out.Env, name+"="+value)
		}
	}
	files := map[string]map[string]any{}
	for file, content := range t.files {
		files[filepath.Join(home, filepath.FromSlash(file))] = maps.Clone(content)
	}
	if t.servers != nil {
		servers := map[string]any{}
		if server != nil {
			servers["many"] = t.entry(server)
		} else if servers, err = m.ownServers(t); err != nil {
			return nil, err
		}
		out.Servers = slices.Sorted(maps.Keys(servers))
		file := t.servers(Machine{Env: out.Env, Dir: out.Dir})
		if files[file] == nil {
			files[file] = map[string]any{}
		}
		files[file][t.key] = servers
	}
	for _, d := range []string{out.Dir, filepath.Join(home, "tmp")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	for file, content := range files {
		encode := json.Marshal
		if filepath.Ext(file) == ".toml" {
			encode = toml.Marshal
		}
		text, err := encode(content)
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, text, 0o600)); err != nil {
			return nil, err
		}
	}
	return out, os.WriteFile(ca, p.Authority, 0o600)
}

// bare is an environment with a home directory of its own, and nothing that configures an agent.
func (m Machine) bare(home string) []string {
	env := []string{"HOME=" + home, "USERPROFILE=" + home, "TERM=dumb", "NO_COLOR=1", "CI=1"}
	for _, name := range []string{"PATH", "LANG", "SystemRoot", "ComSpec", "PATHEXT"} {
		if v := m.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	for name, below := range map[string]string{
		"XDG_CONFIG_HOME": ".config", "XDG_DATA_HOME": ".local/share", "XDG_STATE_HOME": ".local/state", "XDG_CACHE_HOME": ".cache",
		"APPDATA": "AppData/Roaming", "LOCALAPPDATA": "AppData/Local", "TMPDIR": "tmp", "TMP": "tmp", "TEMP": "tmp",
	} {
		env = append(env, name+"="+filepath.Join(home, filepath.FromSlash(below)))
	}
	return env
}

// ownServers returns the person's MCP servers. Those that are programs keep the person's home directory.
func (m Machine) ownServers(t trial) (map[string]any, error) {
	var content map[string]any
	file := t.servers(m)
	if filepath.Ext(file) == ".toml" {
		text, _ := os.ReadFile(file) // a missing file has none
		if err := toml.Unmarshal(text, &content); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	} else {
		readJSON(file, &content)
	}
	servers, _ := content[t.key].(map[string]any)
	if len(servers) == 0 {
		return nil, fmt.Errorf("%s has no MCP servers of yours: leave --mine out", file)
	}
	for _, v := range servers {
		if entry, is := v.(map[string]any); is && entry["command"] != nil {
			env := "env"
			if _, list := entry["command"].([]any); list { // opencode's form
				env = "environment"
			}
			object(entry, env)["HOME"] = m.Home()
		}
	}
	return servers, nil
}
