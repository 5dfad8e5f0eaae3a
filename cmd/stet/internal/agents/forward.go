package agents

import (
	"cmp"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"io"
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
	direct := loopback
	if _, own := m.firstSet("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy"); own == "" { // otherwise that proxy may be the way to them
		direct += "," + privateNetworks
	}
	r.bypassHTTPProxy(direct)
	trust := func(name string, own ...string) error {
		variable, value := m.firstSet(own...)
		file, note, err := m.trustFile(trusting, variable, value)
		if note != "" {
			r.Notes = append(r.Notes, note)
		}
		if err == nil {
			r.set(name, file)
		}
		return err
	}
	a, at := agentOf(command)
	if a != nil && a.name == "codex" { // a process of its own, for all its later sessions too, would ask the model: with another proxy, or with this one when it has ended
		r.Args = slices.Insert(r.Args, at+1, "-c", "features.daemon_auto_start=false")
	}
	var node, codex error
	if a == nil || a.name != "codex" {
		node = trust("NODE_EXTRA_CA_CERTS", "NODE_EXTRA_CA_CERTS")
	}
	if a == nil || a.name == "codex" { // a script may start any of them
		codex = trust("CODEX_CA_CERTIFICATE", "CODEX_CA_CERTIFICATE", "SSL_CERT_FILE")
	}
	return r, cmp.Or(node, codex)
}

// maxCertificates is how many bytes of a person's file of certificates are read.
const maxCertificates = 8 << 20

// trustFile returns the name of a file with the certificates of the person's file own, which a variable names, and the authority's. What is no
// certificate is left out: programs stop reading there, or refuse the whole file. note says what is wrong with own. own may be "".
func (m Machine) trustFile(trusting func([]byte) (string, error), variable, own string) (file, note string, err error) {
	var certificates []byte
	if own != "" {
		f, err := os.Open(m.Absolute(own))
		var text []byte
		if err == nil {
			text, err = io.ReadAll(io.LimitReader(f, maxCertificates))
			_ = f.Close() // it was only read
		}
		for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
			if _, damaged := asn1.Unmarshal(block.Bytes, &asn1.RawValue{}); damaged == nil && strings.HasSuffix(block.Type, "CERTIFICATE") {
				certificates = append(certificates, pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes})...)
			}
		}
		switch {
		case err != nil:
			note = fmt.Sprintf("no certificate comes from %s: %v", variable, err)
		case certificates == nil:
			note = fmt.Sprintf("no certificate comes from %s: %s has none in the form PEM", variable, own)
		}
	}
	file, err = trusting(certificates)
	return file, note, err
}

// What an agent and the programs that it starts reach without a proxy, in the form of NO_PROXY. A proxy of stet refuses these addresses.
const (
	loopback        = "127.0.0.1,localhost,::1" // some programs refuse a list with "[::1]"
	privateNetworks = "10.0.0.0/8,172.16.0.0/12,192.168.0.0/16"
)

// withDirect returns a NO_PROXY that also has the entries of direct.
func withDirect(list, direct string) string {
	switch {
	case list == "":
		return direct
	case strings.TrimSpace(list) == "*", strings.HasSuffix(","+list, ","+direct): // some programs know no "*" in a list
		return list
	}
	return list + "," + direct
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
