package agentconfig

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// redirectCodex tells Codex about the proxy. It does not look at
// OPENAI_BASE_URL, but takes configuration as arguments (-c key=value), which
// leaves its own file as it is. The provider stays the one it would have used,
// with its way of logging in; only that provider's base URL is another.
func (m Machine) redirectCodex(r *Redirect, at int, base string) {
	c := m.codexConfig(r.Args[at+1:])
	key := "openai_base_url"
	if c.provider != "openai" {
		key = "model_providers." + c.provider + ".base_url"
	}
	if c.baseURL != "" {
		r.learn("the base URL of Codex's provider "+c.provider, c.baseURL, Chat, Responses)
	}
	if c.baseURL == "" && c.provider == "openai" && m.codexChatGPT() {
		r.learn("Codex's ChatGPT login", chatGPT, Responses)
	}
	ours := strconv.Quote(inPlaceOf(r.Found[Responses], base))
	// An override in the command line comes after ours and would win: it is
	// pointed to the proxy in its place.
	for i := at + 1; i < len(r.Args); i++ {
		if c.baseURL != "" {
			r.Args[i] = strings.ReplaceAll(r.Args[i], strconv.Quote(c.baseURL), ours)
		}
	}
	r.Args = slices.Insert(r.Args, at+1, "-c", key+"="+ours)
}

// codexConfig is what the redirection needs to know of Codex's configuration.
type codexConfig struct {
	provider string // "openai" is the built-in one
	baseURL  string // that provider's, empty where none is set
}

var (
	codexProvider = regexp.MustCompile(`^model_provider\s*=\s*"?([^"]+)"?$`)
	codexBaseURL  = regexp.MustCompile(`\b(?:openai_)?base_url"?\s*=\s*"([^"]+)"`)
)

// codexConfig reads the configuration file and the overrides among args.
func (m Machine) codexConfig(args []string) codexConfig {
	var file struct {
		ModelProvider string
		OpenAIBaseURL string
		Providers     map[string]any
	}
	home := cmp.Or(m.Getenv("CODEX_HOME"), m.BelowHome(".codex"))
	if b, err := os.ReadFile(filepath.Join(home, "config.toml")); err == nil {
		var m map[string]any
		if toml.Unmarshal(b, &m) == nil {
			file.ModelProvider, _ = m["model_provider"].(string)
			file.OpenAIBaseURL, _ = m["openai_base_url"].(string)
			file.Providers, _ = m["model_providers"].(map[string]any)
		}
	}
	c := codexConfig{provider: file.ModelProvider}
	override := ""
	for _, arg := range args {
		if m := codexProvider.FindStringSubmatch(arg); m != nil {
			c.provider = m[1]
		}
		if m := codexBaseURL.FindStringSubmatch(arg); m != nil {
			override = m[1]
		}
	}
	switch {
	case override != "":
		c.baseURL = override
	case c.provider == "" || c.provider == "openai":
		c.baseURL = m.Lasting.before("codex", file.OpenAIBaseURL, "openai_base_url")
	default:
		if provider, ok := file.Providers[c.provider].(map[string]any); ok {
			now, _ := provider["base_url"].(string)
			c.baseURL = m.Lasting.before("codex", now, "model_providers", c.provider, "base_url")
		}
	}
	if c.provider == "" {
		c.provider = "openai"
	}
	return c
}
