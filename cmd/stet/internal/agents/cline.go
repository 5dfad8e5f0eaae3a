package agents

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/stet-dev/stet/llm"
)

// clineAPIs has the API of each of Cline's providers.
var clineAPIs = map[string]string{"anthropic": llm.Messages, "openai-native": llm.Responses, "openai-compatible": llm.Chat}

// clineFile returns Cline's file of providers, from the environment and the arguments; empty if there is no home.
func (m Machine) clineFile(args []string) string {
	if file := m.Getenv(clineFileVariable); file != "" {
		return m.Absolute(file)
	}
	data := cmp.Or(m.Getenv("CLINE_DATA_DIR"), flagValue(args, "--data-dir"))
	if dir := cmp.Or(m.Getenv("CLINE_DIR"), flagValue(args, "--config"), m.BelowHome(".cline")); data == "" && dir != "" {
		data = filepath.Join(dir, "data")
	}
	if data == "" {
		return ""
	}
	return m.Absolute(filepath.Join(data, "settings", "providers.json"))
}

const clineFileVariable = "CLINE_PROVIDER_SETTINGS_PATH"

// redirectCline redirects Cline. Cline reads base URLs only from its file of providers, so it gets a copy of that file with other
// URLs. A background process of Cline may have read the old URLs, so the agent gets a flag to ask the model itself.
//
// Cline renews the logins in that file. A renewed login in the copy would be lost when the copy is removed. So a file with a login
// is left alone.
func (m Machine) redirectCline(r *Redirect, at int, base string) {
	args := r.Args[at+1:]
	file := m.clineFile(args)
	content := map[string]any{}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &content)
	}
	switch {
	case err != nil:
		r.Notes = append(r.Notes, "Cline is not redirected: its providers cannot be read: "+err.Error())
		return
	case bytes.Contains(text, []byte(`"refreshToken"`)):
		r.Notes = append(r.Notes, "Cline is not redirected: "+file+" has a login that Cline renews; use a key")
		return
	}
	chosen, _ := content["lastUsedProvider"].(string)
	chosen = cmp.Or(flagValue(args, "-P", "--provider"), chosen)
	found := map[string]provider{}
	settings := func(name string) map[string]any {
		return object(object(object(content, "providers"), name), "settings")
	}
	for name := range object(content, "providers") {
		now, _ := settings(name)["baseUrl"].(string)
		found[name] = provider{name, clineAPIs[name], m.Lasting.before("cline", now, "providers", name, "settings", "baseUrl")}
	}
	if _, ok := found[chosen]; !ok {
		found[chosen] = provider{name: chosen, api: clineAPIs[chosen]}
	}
	r.redirectProviders("Cline", inOrder(found, chosen), base, func(p provider, baseURL string) {
		entry := settings(p.name)
		entry["provider"], entry["baseUrl"] = p.name, baseURL
	})
	copied, err := json.Marshal(content)
	if err != nil {
		r.Notes = append(r.Notes, "Cline is not redirected: "+err.Error())
		return
	}
	if name := r.temporaryFile("Cline", "providers.json", copied); name != "" {
		r.set(clineFileVariable, name)
		r.set("CLINE_SESSION_BACKEND_MODE", "local")
	}
}
