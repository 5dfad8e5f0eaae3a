package agents

import (
	"cmp"
	"os"
	"slices"
	"strings"
)

// Forward makes a command send its HTTPS requests through a forward proxy at base ("http://127.0.0.1:4141"), which opens the TLS of a
// few hosts. trusting returns the name of a file with the certificate that signs for these, after certificates that the person has. No base
// URL changes, so the agent behaves as at its provider's own host.
func (m Machine) Forward(command []string, base string, trusting func(own []byte) (string, error)) (*Redirect, error) {
	r := &Redirect{Args: slices.Clone(command), Env: slices.Clone(m.Env), Found: map[API]string{}, Source: map[API]string{}}
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
	var text []byte
	if own != "" {
		text, _ = os.ReadFile(m.Absolute(own)) // what cannot be read is no certificate for the agent either
	}
	file, err := trusting(text)
	if err == nil {
		r.set(variable, file)
	}
	return err
}

// NeedsForward reports whether the agent of a command loses something at a base URL, which it keeps behind a forward proxy: Claude
// Code, if its requests go to its provider's own host.
func (m Machine) NeedsForward(command []string) bool {
	a, at := agentOf(command)
	if a == nil || a.name != "claude" || len(m.Lasting["claude"].Values) > 0 {
		return false
	}
	_, asked := m.firstSet("ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE")
	env := m.claudeEnv(command[at:])
	for name := range env {
		switch strings.ToUpper(name) {
		case "ANTHROPIC_BASE_URL", "HTTPS_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE":
			return false // its settings come before the environment, and would lead past stet
		}
	}
	return m.asksProvider(asked, env)
}
