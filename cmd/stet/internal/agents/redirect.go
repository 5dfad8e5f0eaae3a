package agents

import (
	"slices"
	"strings"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/server/proxy"
)

// Redirect is a command whose requests go to another address.
type Redirect struct {
	Args []string // the command line, changed if the agent is configured by arguments
	Env  []string
	// Found has the configured base URLs that the command would have used.
	Found llm.Upstreams
	// Source says where each URL was found: "OPENAI_BASE_URL", "Codex's configuration".
	Source map[string]string
	Notes  []string // what the person should know before the agent starts
	Kept   []string // names of variables in Env that keep the agent's own behaviour

	cleanup []func()
}

// Redirect makes a command send its requests to base ("http://127.0.0.1:4141").
// The caller calls Clean when the command has ended.
func (m Machine) Redirect(command []string, base string) *Redirect {
	r := &Redirect{Args: slices.Clone(command), Env: slices.Clone(m.Env), Found: llm.Upstreams{}, Source: map[string]string{}}
	name, anthropic := m.firstSet("ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE")
	r.learn(name, anthropic, llm.Messages)
	name, openai := m.firstSet("OPENAI_BASE_URL", "OPENAI_API_BASE")
	r.learn(name, openai, llm.Chat, llm.Responses)

	r.set("ANTHROPIC_BASE_URL", base)
	if m.Getenv("ANTHROPIC_API_BASE") != "" { // aider's variable, which aider reads before the other one
		r.set("ANTHROPIC_API_BASE", base)
	}
	r.set("OPENAI_BASE_URL", inPlaceOf(openai, base))
	r.set("OPENAI_API_BASE", inPlaceOf(openai, base))
	m.redirectClouds(r, base)
	r.bypassHTTPProxy(loopback)

	switch a, at := agentOf(command); {
	case a == nil: // a script or a shell may start it
		m.keepClaude(r, "claude", nil)
	case a.redirect != nil:
		a.redirect(m, r, at, base)
	}
	return r
}

// Clean removes the files of the redirection. It may be called more than once.
func (r *Redirect) Clean() {
	for _, f := range r.cleanup {
		f()
	}
	r.cleanup = nil
}

// learn records that source names base as the address for these APIs.
func (r *Redirect) learn(source, base string, apis ...string) {
	for _, api := range apis {
		r.Source[api] = source
		delete(r.Found, api)
		if base != "" {
			r.Found[api] = base
		}
	}
}

// set sets an environment variable of the command.
func (r *Redirect) set(name, value string) {
	r.Env = slices.DeleteFunc(r.Env, func(s string) bool { return strings.HasPrefix(s, name+"=") })
	r.Env = append(r.Env, name+"="+value)
}

// bypassHTTPProxy makes the command connect directly to what a list names, without the environment's HTTP proxy.
func (r *Redirect) bypassHTTPProxy(direct string) {
	m := Machine{Env: r.Env}
	for _, names := range [][]string{{"NO_PROXY", "no_proxy"}, {"no_proxy", "NO_PROXY"}} { // the one that is not set must not take the other's place
		_, list := m.firstSet(names...)
		r.set(names[0], withDirect(list, direct))
	}
}

// inPlaceOf returns the base URL that replaces was. It ends in /v1 if was ends in a version or is not set. So the paths of the
// requests do not change.
func inPlaceOf(was, base string) string {
	if was == "" || proxy.Versioned(was) {
		return base + "/v1"
	}
	return base
}
