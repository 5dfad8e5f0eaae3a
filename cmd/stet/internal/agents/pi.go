package agents

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stet-dev/stet/internal/jsonc"
	"github.com/stet-dev/stet/llm"
)

// piCommands are pi's commands that do not run the agent.
var piCommands = []string{"install", "remove", "uninstall", "update", "list", "config"}

// piAPIs has the API of each of pi's API names.
var piAPIs = map[string]string{"anthropic-messages": llm.Messages, "openai-completions": llm.Chat, "openai-responses": llm.Responses}

// redirectPi redirects pi. It reads base URLs from its configuration and from extensions, so it gets an extension with other URLs.
func (m Machine) redirectPi(r *Redirect, at int, base string) {
	args := r.Args[at+1:]
	if len(args) > 0 && slices.Contains(piCommands, args[0]) {
		return
	}
	file := m.piModelsFile()
	found := piProviders(file)
	for name, p := range found {
		p.baseURL = m.Lasting.before("pi", p.baseURL, "providers", name, "baseUrl")
		found[name] = p
	}
	var code bytes.Buffer
	code.WriteString("export default function (pi) {\n")
	r.redirectProviders("pi", inOrder(found, m.piProvider(args, filepath.Dir(file))), base, func(p provider, baseURL string) {
		if p.api == llm.Messages {
			baseURL = base // the client adds a version
		}
		name, _ := json.Marshal(p.name)
		config, _ := json.Marshal(map[string]string{"baseUrl": baseURL}) // strings always encode
		code.WriteString("  pi.registerProvider(" + string(name) + ", " + string(config) + ");\n")
	})
	code.WriteString("}\n")
	if file := r.temporaryFile("pi", "stet.js", code.Bytes()); file != "" {
		r.Args = slices.Insert(r.Args, at+1, "--extension", file)
	}
}

// piProviders returns pi's two built-in providers, and the providers in its file.
func piProviders(file string) map[string]provider {
	found := map[string]provider{
		"anthropic": {name: "anthropic", api: llm.Messages},
		"openai":    {name: "openai", api: llm.Responses},
	}
	var models struct {
		Providers map[string]struct{ API, BaseURL string }
	}
	readJSON(file, &models)
	for name, entry := range models.Providers {
		p := found[name]
		p.name, p.baseURL = name, entry.BaseURL
		if entry.API != "" {
			p.api = piAPIs[entry.API]
		}
		found[name] = p
	}
	return found
}

// piProvider returns the provider that pi will ask, or "".
func (m Machine) piProvider(args []string, dir string) string {
	if name := flagValue(args, "--provider"); name != "" {
		return name
	}
	if name, _, ok := strings.Cut(flagValue(args, "--model"), "/"); ok {
		return name
	}
	chosen := ""
	for _, file := range []string{filepath.Join(dir, "settings.json"), filepath.Join(m.Dir, ".pi", "settings.json")} {
		var settings struct{ DefaultProvider string }
		readJSON(file, &settings)
		chosen = cmp.Or(settings.DefaultProvider, chosen)
	}
	return chosen
}

// readJSON reads a configuration file, with or without comments. A file that cannot be read is skipped: the agent reports it.
func readJSON(file string, into any) {
	if b, err := os.ReadFile(file); err == nil {
		_ = jsonc.Unmarshal(b, into)
	}
}

// keepPi returns the setting with which pi uses message threads at a base URL too, if its requests end at Anthropic's own host and the
// person has not chosen; nil: none.
func (m Machine) keepPi(f *configFile, done LastingAgent, ours []LastingValue) *LastingValue {
	k := &LastingValue{Path: []string{"providers", "anthropic", "compat", "supportsMessageThreads"}, Ours: "true", Bool: true}
	now, there, err := f.lookup(k.Path)
	own := slices.ContainsFunc(ours, func(v LastingValue) bool { return slices.Equal(v.Path, k.Path) && v.Ours == now })
	redirected := slices.ContainsFunc(done.Values, func(v LastingValue) bool {
		return slices.Equal(v.Path, []string{"providers", "anthropic", "baseUrl"}) && v.Asked == ""
	})
	if err != nil || there && !own || !redirected || !m.goesTo(claudeHost, llm.Messages, "") || !losesAtBaseURL("pi", m.versionFor("pi")) {
		return nil
	}
	return k
}
