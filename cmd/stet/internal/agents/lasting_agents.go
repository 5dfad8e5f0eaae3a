package agents

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stet-dev/stet/llm"
)

// claudeUserFile is the person's file, for all projects.
func (m Machine) claudeUserFile() string {
	return m.inHome("CLAUDE_CONFIG_DIR", ".claude", "settings.json")
}

// claudeValues has one value, because Claude Code's settings override the environment.
func claudeValues(m Machine) []baseURL {
	const name = "ANTHROPIC_BASE_URL"
	return []baseURL{{path: []string{"env", name}, apis: []string{llm.Messages}, asks: m.Getenv(name), bare: true}}
}

// chatGPT is the server that Codex asks with a ChatGPT account.
const chatGPT = "https://chatgpt.com/backend-api/codex"

// codexChatGPT reports whether Codex is logged in with a ChatGPT account. Then it asks another server.
func (m Machine) codexChatGPT() bool {
	var login struct {
		Key    *string         `json:"OPENAI_API_KEY"`
		Tokens json.RawMessage `json:"tokens"`
	}
	b, err := os.ReadFile(filepath.Join(filepath.Dir(m.codexFile()), "auth.json"))
	if err != nil || json.Unmarshal(b, &login) != nil {
		return false
	}
	return login.Key == nil && len(login.Tokens) > 0 && string(login.Tokens) != "null"
}

// codexValues returns the values of the provider that Codex is configured for.
func codexValues(m Machine) []baseURL {
	c := m.codexConfig(nil)
	path := []string{"openai_base_url"}
	if c.provider != "openai" {
		path = []string{"model_providers", c.provider, "base_url"}
	}
	v := baseURL{path: path, apis: []string{llm.Chat, llm.Responses}}
	if c.provider == "openai" && m.codexChatGPT() {
		v.asks = chatGPT
	}
	return []baseURL{v}
}

// opencodeUserFile returns the person's file, the one with comments if it exists.
func (m Machine) opencodeUserFile() string {
	commented := m.inHome("XDG_CONFIG_HOME", ".config", "opencode", "opencode.jsonc")
	if _, err := os.Stat(commented); err == nil {
		return commented
	}
	return strings.TrimSuffix(commented, "c")
}

// opencodeValues returns the values of opencode's two built-in providers, and of other providers in the person's file. The SDKs of
// the built-in ones read the environment if nothing is configured.
func opencodeValues(m Machine) []baseURL {
	var file struct {
		Model    string
		Provider map[string]struct {
			NPM     string
			Options struct{ BaseURL string }
		}
	}
	readJSON(m.opencodeUserFile(), &file)
	found := map[string]provider{"anthropic": {name: "anthropic", api: llm.Messages}, "openai": {name: "openai", api: llm.Responses}}
	for name, entry := range file.Provider {
		p := found[name]
		p.name, p.baseURL = name, entry.Options.BaseURL
		if entry.NPM != "" {
			p.api = opencodeAPIs[entry.NPM]
		}
		found[name] = p
	}
	chosen, _, _ := strings.Cut(file.Model, "/")
	all := providerValues(found, chosen, func(name string) []string { return []string{"provider", name, "options", "baseURL"} })
	for i := range all {
		switch all[i].path[1] {
		case "anthropic":
			all[i].asks = m.Getenv("ANTHROPIC_BASE_URL")
		case "openai":
			all[i].asks = m.Getenv("OPENAI_BASE_URL")
		}
	}
	return all
}

// piModelsFile is where pi keeps the base URLs of providers.
func (m Machine) piModelsFile() string {
	return m.inHome("PI_CODING_AGENT_DIR", ".pi/agent", "models.json")
}

func piValues(m Machine) []baseURL {
	file := m.piModelsFile()
	all := providerValues(piProviders(file), m.piProvider(nil, filepath.Dir(file)), func(name string) []string { return []string{"providers", name, "baseUrl"} })
	for i := range all {
		all[i].bare = slices.Equal(all[i].apis, []string{llm.Messages})
	}
	return all
}

// clineValues returns the values of the providers that Cline is configured for.
func clineValues(m Machine) []baseURL {
	var file struct {
		LastUsedProvider string
		Providers        map[string]struct {
			Settings struct{ BaseURL string }
		}
	}
	readJSON(m.clineFile(nil), &file)
	found := map[string]provider{}
	for name, entry := range file.Providers {
		found[name] = provider{name, clineAPIs[name], entry.Settings.BaseURL}
	}
	return providerValues(found, file.LastUsedProvider, func(name string) []string { return []string{"providers", name, "settings", "baseUrl"} })
}

// providerValues returns the base URLs of providers with a known API, the chosen one first.
func providerValues(found map[string]provider, chosen string, path func(name string) []string) (all []baseURL) {
	for _, p := range inOrder(found, chosen) {
		apis := []string{p.api}
		if p.api == llm.Responses {
			apis = []string{llm.Chat, llm.Responses} // other paths of that provider are forwarded to Chat's server
		}
		all = append(all, baseURL{path: path(p.name), apis: apis})
	}
	return all
}
