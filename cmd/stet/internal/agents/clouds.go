package agents

import (
	"slices"
	"strings"

	"github.com/stet-dev/stet/llm"
)

// redirectClouds redirects Claude Code, and programs with the same SDKs, when the model is asked through a cloud. The cloud's
// credentials are still used: the variables that would leave them out (CLAUDE_CODE_SKIP_VERTEX_AUTH and similar) are not set.
func (m Machine) redirectClouds(r *Redirect, base string) {
	const vertexURL = "ANTHROPIC_VERTEX_BASE_URL"
	vertex := m.Getenv(vertexURL)
	r.learn(vertexURL, vertex, llm.Vertex)
	r.set(vertexURL, inPlaceOf(vertex, base)) // the agent's settings may choose Vertex AI

	m.redirectFoundry(r, base)
	if switchedOn(m.Getenv("CLAUDE_CODE_USE_BEDROCK")) {
		r.Notes = append(r.Notes, "requests to Amazon Bedrock go there as they are, and nothing is left out of them: their signature covers the body")
	}
}

// redirectFoundry does nothing if neither variable is set: the SDK refuses a base URL together with a resource, and the agent's
// settings may name a resource.
func (m Machine) redirectFoundry(r *Redirect, base string) {
	const baseURL, resource = "ANTHROPIC_FOUNDRY_BASE_URL", "ANTHROPIC_FOUNDRY_RESOURCE"
	source, now := baseURL, m.Getenv(baseURL)
	if name := m.Getenv(resource); now == "" && name != "" {
		source, now = resource, "https://"+name+".services.ai.azure.com/anthropic"
		r.Env = slices.DeleteFunc(r.Env, func(s string) bool { return strings.HasPrefix(s, resource+"=") })
	}
	switch {
	case now == "":
	case strings.HasSuffix(strings.TrimRight(now, "/"), "/anthropic"):
		r.learn(source, now, llm.Azure)
		r.set(baseURL, base+"/anthropic")
	default:
		r.Notes = append(r.Notes, "Claude Code is not redirected where it asks Foundry: "+baseURL+" does not end in /anthropic")
	}
}
