package agents

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/stet-dev/stet/internal/invisible"
	"github.com/stet-dev/stet/llm"
)

// redirectCodex redirects Codex. Codex ignores OPENAI_BASE_URL, but takes configuration as arguments (-c key=value), so its own
// file is not changed. The provider and its login stay the same; only that provider's base URL changes.
func (m Machine) redirectCodex(r *Redirect, at int, base string) {
	c := m.codexConfig(r.Args[at+1:])
	key := "openai_base_url"
	if c.provider != "openai" {
		key = "model_providers." + c.provider + ".base_url"
	}
	if c.baseURL != "" {
		r.learn("the base URL of Codex's provider "+c.provider, c.baseURL, llm.Chat, llm.Responses)
	}
	if c.baseURL == "" && c.provider == "openai" && m.codexChatGPT() {
		r.learn("Codex's ChatGPT login", chatGPT, llm.Chat, llm.Responses) // its list of models comes from there too
	}
	ours := strconv.Quote(inPlaceOf(r.Found[llm.Responses], base))
	// An override in the command line comes after ours and would win, so it is changed to the proxy's address.
	for i := at + 1; i < len(r.Args); i++ {
		if c.baseURL != "" {
			r.Args[i] = strings.ReplaceAll(r.Args[i], strconv.Quote(c.baseURL), ours)
		}
	}
	r.Args = slices.Insert(r.Args, at+1, "-c", key+"="+ours)
}

// codexConfig has the settings of Codex that the redirection needs.
type codexConfig struct {
	provider string // "openai" is the built-in provider
	baseURL  string // that provider's; empty if not set
}

var (
	codexProvider = regexp.MustCompile(`^model_provider\s*=\s*"?([^"]+)"?$`)
	codexBaseURL  = regexp.MustCompile(`\b(?:openai_)?base_url"?\s*=\s*"([^"]+)"`)
)

// codexConfig reads the configuration file and the overrides in args.
func (m Machine) codexConfig(args []string) codexConfig {
	var file struct {
		ModelProvider string
		OpenAIBaseURL string
		Providers     map[string]any
	}
	if b, err := os.ReadFile(m.codexFile()); err == nil {
		var m map[string]any
		if toml.Unmarshal(invisible.SkipMark(b), &m) == nil {
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
