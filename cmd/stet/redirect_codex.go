package main

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/knadh/koanf/parsers/toml/v2"
)

// redirectCodex tells Codex about the proxy. It does not look at
// OPENAI_BASE_URL, but takes configuration as arguments (-c key=value), which
// leaves its own file as it is. The provider stays the one it would have used,
// with its way of logging in; only that provider's base URL is another.
func (p *program) redirectCodex(r *redirect, at int, base string) {
	c := p.codexConfig(r.args[at+1:])
	key := "openai_base_url"
	if c.provider != "openai" {
		key = "model_providers." + c.provider + ".base_url"
	}
	if c.baseURL != "" {
		r.learn("the base URL of Codex's provider "+c.provider, c.baseURL, wireChat, wireResponses)
	}
	ours := strconv.Quote(inPlaceOf(r.found.Responses, base))
	// An override in the command line comes after ours and would win: it is
	// pointed to the proxy in its place.
	for i := at + 1; i < len(r.args); i++ {
		if c.baseURL != "" {
			r.args[i] = strings.ReplaceAll(r.args[i], strconv.Quote(c.baseURL), ours)
		}
	}
	r.args = slices.Insert(r.args, at+1, "-c", key+"="+ours)
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
func (p *program) codexConfig(args []string) codexConfig {
	var file struct {
		ModelProvider string
		OpenAIBaseURL string
		Providers     map[string]any
	}
	home := cmp.Or(p.getenv("CODEX_HOME"), p.below(".codex"))
	if b, err := os.ReadFile(filepath.Join(home, "config.toml")); err == nil {
		if m, err := toml.Parser().Unmarshal(b); err == nil {
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
		c.baseURL = file.OpenAIBaseURL
	default:
		if provider, ok := file.Providers[c.provider].(map[string]any); ok {
			c.baseURL, _ = provider["base_url"].(string)
		}
	}
	if c.provider == "" {
		c.provider = "openai"
	}
	return c
}
