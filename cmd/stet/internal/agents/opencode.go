package agents

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/stet-dev/stet/internal/jsonc"
	"github.com/stet-dev/stet/llm"
)

// redirectOpencode redirects opencode. Its providers need base URLs with /v1, unlike ANTHROPIC_BASE_URL, and a configured provider
// has its own base URL. OPENCODE_CONFIG_CONTENT is merged over its files, so the files are not changed. The variable's old content
// stays in it.
func (m Machine) redirectOpencode(r *Redirect, at int, base string) {
	content := map[string]any{}
	if s := m.Getenv("OPENCODE_CONFIG_CONTENT"); s != "" {
		if err := jsonc.Unmarshal([]byte(s), &content); err != nil {
			r.Notes = append(r.Notes, fmt.Sprintf("OPENCODE_CONFIG_CONTENT is not JSON (%v): opencode is not redirected", err))
			return
		}
	}
	overlay := object(content, "provider")
	r.redirectProviders("opencode", m.opencodeProviders(content, flagValue(r.Args[at+1:], "-m", "--model")), base, func(p provider, baseURL string) {
		object(object(overlay, p.name), "options")["baseURL"] = baseURL
	})
	merged, err := json.Marshal(content)
	if err != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("opencode is not redirected: %v", err))
		return
	}
	r.set("OPENCODE_CONFIG_CONTENT", string(merged))
}

// opencodeAPIs has the API of each provider package.
var opencodeAPIs = map[string]string{
	"@ai-sdk/anthropic":         llm.Messages,
	"@ai-sdk/openai":            llm.Responses,
	"@ai-sdk/openai-compatible": llm.Chat,
}

// opencodeProviders lists the providers that speak one of the three APIs, in order.
func (m Machine) opencodeProviders(content map[string]any, model string) []provider {
	found := map[string]provider{
		"anthropic": {name: "anthropic", api: llm.Messages},
		"openai":    {name: "openai", api: llm.Responses},
	}
	for _, layer := range append(m.opencodeFiles(), content) {
		if s, ok := layer["model"].(string); ok && model == "" {
			model = s
		}
		providers, _ := layer["provider"].(map[string]any)
		for name, v := range providers {
			entry, _ := v.(map[string]any)
			o := found[name]
			o.name = name
			if npm, ok := entry["npm"].(string); ok {
				o.api = opencodeAPIs[npm]
			}
			options, _ := entry["options"].(map[string]any)
			if s, ok := options["baseURL"].(string); ok {
				o.baseURL = m.expand(m.Lasting.before("opencode", s, "provider", name, "options", "baseURL"))
			}
			found[name] = o
		}
	}
	chosen, _, _ := strings.Cut(model, "/")
	return inOrder(found, chosen)
}

// opencodeFiles reads opencode's configuration files; the last one has priority. Files that cannot be read are skipped: opencode
// reports them.
func (m Machine) opencodeFiles() []map[string]any {
	var names []string
	if global := cmp.Or(m.Getenv("XDG_CONFIG_HOME"), m.BelowHome(".config")); global != "" {
		names = append(names, filepath.Join(global, "opencode", "opencode"))
	}
	var up []string
	for dir := m.Dir; ; dir = filepath.Dir(dir) {
		up = append(up, filepath.Join(dir, "opencode"))
		_, err := os.Stat(filepath.Join(dir, ".git"))
		if err == nil || dir == filepath.Dir(dir) {
			break
		}
	}
	slices.Reverse(up)
	var files []string
	for _, n := range append(names, up...) {
		files = append(files, n+".json", n+".jsonc")
	}
	if custom := m.Getenv("OPENCODE_CONFIG"); custom != "" {
		files = slices.Insert(files, 2*len(names), custom)
	}
	var all []map[string]any
	for _, f := range files {
		var m map[string]any
		if b, err := os.ReadFile(f); err == nil && jsonc.Unmarshal(b, &m) == nil {
			all = append(all, m)
		}
	}
	return all
}

var envReference = regexp.MustCompile(`\{env:([A-Za-z_][A-Za-z0-9_]*)\}`)

// expand replaces opencode's references to environment variables.
func (m Machine) expand(s string) string {
	return envReference.ReplaceAllStringFunc(s, func(ref string) string {
		return m.Getenv(envReference.FindStringSubmatch(ref)[1])
	})
}

// object returns the object under key in m, and makes it if it does not exist.
func object(m map[string]any, key string) map[string]any {
	o, ok := m[key].(map[string]any)
	if !ok {
		o = map[string]any{}
		m[key] = o
	}
	return o
}
