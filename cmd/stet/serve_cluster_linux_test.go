package main

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/test/freeport"
)

// Three servers form one gateway: an agent at the first reads a file of the host at the second, and a person at the third approves
// a write. Then the second is killed: its calls end, and the others keep working.
func TestServeCluster(t *testing.T) {
	addresses := freeport.Addresses(t, 3)
	homes, nodes := make([]*home, 3), make([]*background, 3)
	for i, args := range clusterFlags(t, addresses) {
		homes[i] = newHome(t)
		if i == 1 {
			args = append(args, "--root", homes[i].tree, "--workspace", "w")
		} else {
			args = append(args, "--no-workspace")
		}
		nodes[i] = homes[i].start(t, args...)
	}
	up := make([]*serving, 3)
	for i, b := range nodes {
		up[i] = b.serving(t)
		b.mu.Lock()
		if said := b.said.String(); strings.Contains(said, "ERROR") || !strings.Contains(said, "waiting for the servers at") {
			t.Errorf("a normal start says: %s", said)
		}
		b.mu.Unlock()
	}
	write(t, filepath.Join(homes[1].tree, "far.txt"), "from the second\n")
	call := func(tool, body string) (int, string) {
		return ask(t, http.MethodPost, up[0].base+"/v1/sessions/s/tools/"+tool, body, "Authorization", "Bearer "+up[0].agent)
	}
	waitFor(t, func() bool {
		_, text := call("read_file", `{"path":"far.txt"}`)
		return strings.Contains(text, "from the second")
	})
	mcpAtEach(t, homes, up)
	desk := login(t, up[2].base, up[2].person)
	done := apart(func() (string, error) {
		_, text := call("write_file", `{"path":"b.txt","content":"b\n"}`)
		return text, nil
	})
	q := desk.question("b.txt")
	desk.post("/api/questions/"+q.ID+"/answer", approval.Answer{Verdict: "approve", Seal: q.Seal}, nil)
	<-done
	if got, err := os.ReadFile(filepath.Join(homes[1].tree, "b.txt")); err != nil || string(got) != "b\n" {
		t.Errorf("%q, %v", got, err)
	}
	homes[1].verified(t, 1)

	lost := apart(func() (string, error) {
		_, text := call("write_file", `{"path":"c.txt","content":"c\n"}`)
		return text, nil
	})
	desk.question("c.txt")
	nodes[1].kill()
	if r := <-lost; !strings.Contains(r.text, "host_unavailable") { // it would wait 10 minutes for a person
		t.Errorf("the call that the lost server had ended so: %s, %v", r.text, r.err)
	}
	waitFor(t, func() bool {
		_, text := call("read_file", `{"path":"far.txt"}`)
		return strings.Contains(text, "host_unavailable") || strings.Contains(text, "no host is connected")
	})
	for _, i := range []int{0, 2} {
		waitFor(t, func() bool {
			status, _ := ask(t, http.MethodGet, up[i].base+"/readyz", "")
			return status == http.StatusOK
		})
	}
}

// mcpAtEach sends the requests of one MCP session to a different server each, with a token of the first one. The others have the
// same token file.
func mcpAtEach(t *testing.T, homes []*home, up []*serving) {
	t.Helper()
	token := homes[0].token(t, "moves", "agent")
	file := filepath.Join("state", "stet", "tokens.json")
	made, err := os.ReadFile(filepath.Join(homes[0].dir, file))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range homes[1:] {
		if err := os.WriteFile(filepath.Join(h.dir, file), made, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := &inTurn{token: token}
	for _, s := range up {
		u, err := url.Parse(s.base)
		if err != nil {
			t.Fatal(err)
		}
		at.hosts = append(at.hosts, u.Host)
	}
	client, err := newClient(nil).Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: up[0].base + "/mcp/w", HTTPClient: &http.Client{Transport: at}, MaxRetries: -1, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for range 6 {
		if text, err := callTool(t.Context(), client, "read_file", `{"path":"far.txt"}`); err != nil || !strings.Contains(text, "from the second") {
			t.Errorf("%s, %v", text, err)
		}
	}
}

// inTurn sends each request to the next server.
type inTurn struct {
	token string
	hosts []string
	asked atomic.Int64
}

func (b *inTurn) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Host = b.hosts[int(b.asked.Add(1))%len(b.hosts)]
	r.Host = r.URL.Host
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

// clusterFlags returns the arguments of three servers that form one gateway.
func clusterFlags(t *testing.T, addresses []string) [3][]string {
	t.Helper()
	secret := filepath.Join(t.TempDir(), "secret")
	write(t, secret, "for the test\n")
	var all [3][]string
	for i := range all {
		all[i] = []string{
			"serve", "--listen", "127.0.0.1:0", "--bus", "embed", "--bus-listen", addresses[i], "--bus-secret", secret,
			"--peers", addresses[(i+1)%3] + "," + addresses[(i+2)%3],
		}
	}
	return all
}
