package agents

import (
	"cmp"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stet-dev/stet/llm"
)

// Forward makes a command send its HTTPS requests through a forward proxy at base ("http://127.0.0.1:4141"), which opens the TLS of a
// few hosts. trusting returns the name of a file with the certificate that signs for these, after certificates that the person has. No base
// URL changes, so the agent behaves as at its provider's own host.
func (m Machine) Forward(command []string, base string, trusting func(own []byte) (string, error)) (*Redirect, error) {
	r := &Redirect{Args: slices.Clone(command), Env: slices.Clone(m.Env), Found: llm.Upstreams{}, Source: map[string]string{}}
	r.set("HTTPS_PROXY", base)
	r.set("https_proxy", base)
	r.bypassHTTPProxy()
	a, _ := agentOf(command)
	var node, codex error
	if a == nil || a.name != "codex" {
		node = m.trust(r, "NODE_EXTRA_CA_CERTS", m.Getenv("NODE_EXTRA_CA_CERTS"), trusting)
	}
	if a == nil || a.name == "codex" { // a script may start any of them
		codex = m.trust(r, "CODEX_CA_CERTIFICATE", cmp.Or(m.Getenv("CODEX_CA_CERTIFICATE"), m.Getenv("SSL_CERT_FILE")), trusting)
	}
	return r, cmp.Or(node, codex)
}

// trust names a file with the certificates of the person's file and the authority's in a variable.
func (m Machine) trust(r *Redirect, variable, own string, trusting func([]byte) (string, error)) error {
	file, err := m.trustFile(own, trusting)
	if err == nil {
		r.set(variable, file)
	}
	return err
}

// trustFile returns the name of a file with the certificates of the person's file, which may be "", and the authority's.
func (m Machine) trustFile(own string, trusting func([]byte) (string, error)) (string, error) {
	var text []byte
	if own != "" {
		text, _ = os.ReadFile(m.Absolute(own)) // what cannot be read is no certificate for the agent either
	}
	return trusting(text)
}

// withLoopback returns a NO_PROXY that also has this machine.
func withLoopback(list string) string {
	const loopback = "127.0.0.1,localhost"
	switch {
	case list == "":
		return loopback
	case strings.HasSuffix(","+list, ","+loopback):
		return list
	}
	return list + "," + loopback
}

// ForwardHost returns the host at which a command's agent asks its model, if the agent leaves out something at a base URL that it keeps
// behind a forward proxy. It returns "" for all others, and where the agent would go past a forward proxy.
func (m Machine) ForwardHost(command []string) string {
	a, at := agentOf(command)
	if a == nil || len(m.Lasting[a.name].Values) > 0 {
		return ""
	}
	return m.forwardHost(a, command[at:])
}

// forwardHost is ForwardHost of an agent; command begins with its program.
func (m Machine) forwardHost(a *agent, command []string) string {
	if a.ownHost == nil {
		return ""
	}
	if host := a.ownHost(m, command); host != "" && losesAtBaseURL(a.name, m.versionFor(command[0])) {
		return host
	}
	return ""
}

// claudeOwnHost returns the host of Claude Code's provider if its requests go there. Its settings come before the environment, so they must
// not lead past a forward proxy. What stet setup --proxy put there does not count.
func (m Machine) claudeOwnHost(command []string) string {
	_, asked := m.firstSet("ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE")
	env := m.claudeEnv(command)
	for _, v := range m.Lasting["claude"].Values {
		if name := v.Path[len(v.Path)-1]; env[name] == v.Ours {
			delete(env, name)
			if v.Was != nil {
				env[name] = *v.Was
			}
		}
	}
	for name := range env {
		switch strings.ToUpper(name) {
		case "ANTHROPIC_BASE_URL", "HTTPS_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE":
			return ""
		}
	}
	if !m.asksProvider(asked, env) {
		return ""
	}
	return claudeHost
}

// piOwnHost returns the host of Anthropic if pi is configured to ask there.
func (m Machine) piOwnHost(command []string) string {
	file := m.piModelsFile()
	p := piProviders(file)[m.piProvider(command[1:], filepath.Dir(file))]
	var settings struct{ HTTPProxy string }
	readJSON(filepath.Join(filepath.Dir(file), "settings.json"), &settings)
	if p.name != "anthropic" || p.api != llm.Messages || settings.HTTPProxy != "" || !m.goesTo(claudeHost, llm.Messages, cmp.Or(m.expand(p.baseURL), m.Getenv("ANTHROPIC_BASE_URL"))) {
		return ""
	}
	return claudeHost
}

// qwenOwnHost returns the host of OpenAI if the environment makes Qwen Code ask there, and nothing else in its settings or arguments may.
func (m Machine) qwenOwnHost(command []string) string {
	base := m.Getenv("OPENAI_BASE_URL")
	if base == "" || !m.goesTo(openaiHost, llm.Chat, base) || flagValue(command, "--openai-base-url", "--openaiBaseUrl", "--proxy") != "" {
		return ""
	}
	kind := flagValue(command, "--auth-type", "--authType")
	for _, dir := range []string{m.BelowHome(), m.Dir} {
		var s struct {
			Proxy          string
			ModelProviders map[string]any
			Security       struct {
				Auth struct{ SelectedType, BaseURL string }
			}
		}
		readJSON(filepath.Join(dir, ".qwen", "settings.json"), &s)
		if s.Proxy != "" || len(s.ModelProviders) > 0 || s.Security.Auth.BaseURL != "" {
			return ""
		}
		kind = cmp.Or(kind, s.Security.Auth.SelectedType)
	}
	if kind != "" && kind != "openai" {
		return ""
	}
	return openaiHost
}

// goesTo reports whether the requests of an agent that asks at asked end at a host; "" is the provider's own address.
func (m Machine) goesTo(host string, api string, asked string) bool {
	if m.Upstream != nil {
		asked = m.Upstream(api, asked)
	}
	u, err := url.Parse(asked)
	return asked == "" || err == nil && u.Scheme == "https" && strings.EqualFold(strings.TrimSuffix(u.Host, ":443"), host)
}
