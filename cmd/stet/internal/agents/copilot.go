package agents

import "github.com/stet-dev/stet/llm"

// copilotServersFile is the person's list of MCP servers. A project's lists are read only where the person trusts the directory.
func (m Machine) copilotServersFile() string {
	return m.inHome("COPILOT_HOME", ".copilot", "mcp-config.json")
}

var copilotServer = entryWith(map[string]any{"type": "local", "tools": []string{"*"}})

// redirectCopilot redirects Copilot CLI if it asks a provider with the person's own key. How it asks GitHub's own models is not
// known here.
func (m Machine) redirectCopilot(r *Redirect, _ int, base string) {
	const variable = "COPILOT_PROVIDER_BASE_URL"
	was := m.Getenv(variable)
	if was == "" {
		r.Notes = append(r.Notes, "Copilot CLI is not redirected where it asks GitHub's models; name a provider with "+variable)
		return
	}
	switch m.Getenv("COPILOT_PROVIDER_TYPE") {
	case "anthropic":
		r.learn(variable, was, llm.Messages)
	case "azure":
		r.learn(variable, was, llm.Azure)
	default:
		r.learn(variable, was, llm.Chat, llm.Responses)
		base = inPlaceOf(was, base)
	}
	r.set(variable, base)
}
