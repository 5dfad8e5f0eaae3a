package e2e

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm/llmtest"
)

// envTools makes the test binary an MCP server with many tools.
const envTools = "STET_E2E_TOOLS"

const manyTools = 40

// TestClaudeKeepsItsTools runs Claude Code with an MCP server of 40 tools. At a base URL 2.1.300 sends all of them, and both versions leave
// betas out. Under "stet wrap" it sends what it sends at its provider's host, if the proxy's upstream is that host, and only then.
func TestClaudeKeepsItsTools(t *testing.T) {
	need(t)
	for _, test := range []struct {
		version                   string
		direct, elsewhere, behind int    // tools in the first request
		beta                      string // that only the provider's own host gets
		safeguards                bool   // it keeps what stands in every request of this version
	}{
		{"2.1.300", 60, 60, 12, "advanced-tool-use-", true},
		{"2.1.332", 12, 12, 12, "thinking-binding-controls-", false},
	} {
		t.Run(test.version, func(t *testing.T) {
			program := filepath.Join(os.Getenv(envClaude), "claude-"+test.version, "claude")
			if _, err := os.Stat(program); err != nil {
				t.Skip(err)
			}
			first := func(name string, before []string, more func(t *testing.T, model, home string) []string) (tools int, betas string, safeguards bool) {
				home, repo := places(t, agent{name: "claude-" + test.version, wire: name})
				model, err := llmtest.Start(llmtest.Config{Script: script(repo)})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = model.Close() })
				env := append(environment(home), "ANTHROPIC_API_KEY=sk-ant-dummy", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1")
				servers := fmt.Sprintf(`{"mcpServers":{"many":{"command":%q,"env":{%q:"1"}}}}`, os.Args[0], envTools)
				exit, said := run(t, repo, append(env, more(t, model.URL, home)...), append(before, program, "-p", "What is here?", "--mcp-config", servers))
				for _, r := range model.Requests() {
					var body struct {
						Tools      []json.RawMessage
						Safeguards json.RawMessage
					}
					if json.Unmarshal(r.Body, &body) == nil && r.Path == "/v1/messages" && len(body.Tools) > 3 {
						betas := r.Header.Get("Anthropic-Beta")
						t.Logf("%s: %d tools, %d bytes, betas %s", name, len(body.Tools), len(r.Body), betas)
						return len(body.Tools), betas, body.Safeguards != nil
					}
				}
				t.Fatalf("no request has tools; code %d: %s", exit, said)
				return 0, "", false
			}
			wrapped := []string{os.Getenv(envStet), "wrap", "--"}
			atBase := func(_ *testing.T, model, _ string) []string { return []string{"ANTHROPIC_BASE_URL=" + model} }
			direct, _, safeguards := first("direct", nil, atBase)
			elsewhere, betas, _ := first("elsewhere", wrapped, atBase)
			if strings.Contains(betas, test.beta) {
				t.Errorf("a server that is not the provider's gets %s", betas)
			}
			behind, betas, kept := first("provider", wrapped, providerFor)
			if direct != test.direct || elsewhere != test.elsewhere || behind != test.behind {
				t.Errorf("%d tools at a base URL, %d behind stet to another server, %d to the provider; want %+v", direct, elsewhere, behind, test)
			}
			if !strings.Contains(betas, test.beta) || safeguards != test.safeguards || kept != safeguards {
				t.Errorf("safeguards %t, behind stet %t; betas %s", safeguards, kept, betas)
			}
		})
	}
}

// providerFor serves the model as the provider's own host, which programs reach through an HTTP proxy, and returns the variables for that.
func providerFor(t *testing.T, model, home string) []string {
	t.Helper()
	const host = "api.anthropic.com"
	upstream, err := url.Parse(model)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	own := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{host}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, own, own, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	bundle := filepath.Join(home, "ca.pem")
	write(t, bundle, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	provider := httptest.NewUnstartedServer(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(upstream) }})
	provider.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	provider.StartTLS()
	t.Cleanup(provider.Close)
	tunnel := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Host != host+":443" {
			http.Error(w, "only the provider is here", http.StatusForbidden)
			return
		}
		to, err := net.Dial("tcp", provider.Listener.Addr().String())
		if err != nil {
			return // the test has ended
		}
		defer to.Close()
		from, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer from.Close()
		_, _ = io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n") // a client that is gone ends the copies below
		go func() { _, _ = io.Copy(to, from); _ = to.Close() }()
		_, _ = io.Copy(from, to)
	}))
	t.Cleanup(tunnel.Close)
	return []string{"HTTPS_PROXY=" + tunnel.URL, "SSL_CERT_FILE=" + bundle}
}

// serveTools is an MCP server with many tools, on standard input and output.
func serveTools(in io.Reader, out io.Writer) {
	var tools []any
	for i := range manyTools {
		tools = append(tools, map[string]any{
			"name": fmt.Sprintf("tool_%02d", i), "description": strings.Repeat("It does something in the garden. ", 15),
			"inputSchema": map[string]any{"type": "object", "properties": map[string]any{"bed": map[string]any{"type": "string"}}},
		})
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ ProtocolVersion string }
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil || m.ID == nil {
			continue // a notification
		}
		result := map[string]any{}
		switch m.Method {
		case "initialize":
			result = map[string]any{"protocolVersion": m.Params.ProtocolVersion, "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]any{"name": "many", "version": "1"}}
		case "tools/list":
			result["tools"] = tools
		}
		_ = json.NewEncoder(out).Encode(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result}) // the agent may be gone
	}
}
