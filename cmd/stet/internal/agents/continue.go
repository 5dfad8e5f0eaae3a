package agents

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/stet-dev/stet/llm"
)

// redirectContinue redirects Continue. Continue reads base URLs only from its configuration file, so it gets a copy of that file
// with other URLs. The copy may hold keys: only its owner can read it, and it is removed when the agent has ended.
func (m Machine) redirectContinue(r *Redirect, at int, base string) {
	file, arg := m.continueConfig(r.Args[at+1:])
	if file == "" {
		r.Notes = append(r.Notes, "Continue is not redirected: there is no home directory (HOME) with its configuration, and no --config FILE")
		return
	}
	b, err := os.ReadFile(file)
	if err != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("Continue is not redirected: it needs a configuration file (--config FILE): %v", err))
		return
	}
	copied, found, err := continueRedirected(b, base)
	if err != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("Continue is not redirected: %s: %v", file, err))
		return
	}
	name := r.temporaryFile("Continue", "config.yaml", copied)
	if name == "" {
		return
	}
	for api, baseURL := range found {
		r.learn("apiBase in "+file, baseURL, api)
	}
	switch {
	case arg < 0:
		r.Args = slices.Insert(r.Args, at+1, "--config", name)
	case strings.HasPrefix(r.Args[at+1+arg], "--config="):
		r.Args[at+1+arg] = "--config=" + name
	default:
		r.Args[at+1+arg] = name
	}
}

// continueConfig returns the configuration file, and its index in args; -1 for the default file.
func (m Machine) continueConfig(args []string) (file string, arg int) {
	for i, a := range args {
		if v, ok := strings.CutPrefix(a, "--config="); ok {
			return m.Absolute(v), i
		}
		if a == "--config" && i+1 < len(args) {
			return m.Absolute(args[i+1]), i + 1
		}
	}
	dir := cmp.Or(m.Getenv("CONTINUE_GLOBAL_DIR"), m.BelowHome(".continue"))
	if dir == "" {
		return "", -1
	}
	return filepath.Join(dir, "config.yaml"), -1
}

// continueAPIs has the APIs of each of Continue's providers.
var continueAPIs = map[string][]string{
	"anthropic": {llm.Messages},
	"openai":    {llm.Chat, llm.Responses},
}

// continueRedirected returns the configuration with other base URLs, and the original URLs. If models use one API at two addresses,
// only the models at the first one are redirected.
func continueRedirected(config []byte, base string) ([]byte, llm.Upstreams, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(config, &doc); err != nil {
		return nil, nil, err
	}
	found := llm.Upstreams{}
	seen := map[string]string{} // base URL by provider
	changed := 0
	for _, model := range continueModels(&doc) {
		provider := yamlValue(model, "provider")
		if provider == nil || continueAPIs[provider.Value] == nil {
			continue
		}
		now := ""
		apiBase := yamlValue(model, "apiBase")
		if apiBase != nil {
			now = strings.TrimRight(apiBase.Value, "/")
		}
		if first, ok := seen[provider.Value]; ok && first != now {
			continue
		}
		seen[provider.Value] = now
		if now != "" {
			for _, api := range continueAPIs[provider.Value] {
				found[api] = now
			}
		}
		if apiBase == nil {
			apiBase = &yaml.Node{Kind: yaml.ScalarNode}
			model.Content = append(model.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "apiBase"}, apiBase)
		}
		*apiBase = yaml.Node{Kind: yaml.ScalarNode, Value: inPlaceOf(now, base)}
		changed++
	}
	if changed == 0 {
		return nil, nil, fmt.Errorf("no model of provider anthropic or openai in it")
	}
	out, err := yaml.Marshal(&doc)
	return out, found, err
}

// continueModels returns the entries under "models" that are mappings.
func continueModels(doc *yaml.Node) []*yaml.Node {
	if len(doc.Content) == 0 {
		return nil
	}
	models := yamlValue(doc.Content[0], "models")
	if models == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(models.Content), func(n *yaml.Node) bool { return n.Kind != yaml.MappingNode })
}

func yamlValue(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content) && mapping.Kind == yaml.MappingNode; i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}
