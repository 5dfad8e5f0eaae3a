package main

import (
	"bufio"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stet-dev/stet/test/freeport"
)

// printed runs stet to its end, and returns all that it printed.
func printed(t *testing.T, env []string, args ...string) string {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	_ = stetCommand(t, out, env, args...).Run() // what it printed says more
	b, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The authorities that a person gives an agent count for the requests that stet sends on: a company's proxy may open TLS.
func TestAuthorityOfACompany(t *testing.T) {
	t.Parallel()
	model := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	defer model.Close()
	model.Config.ErrorLog = nil
	file := filepath.Join(t.TempDir(), "company.pem")
	write(t, file, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: model.Certificate().Raw})))
	for _, way := range ways {
		for _, env := range []string{"NODE_EXTRA_CA_CERTS=" + file, "CODEX_CA_CERTIFICATE=" + file, "OTHER=" + file} {
			said := printed(t, []string{env}, "wrap", way, "--upstream", model.URL, "--", "stubborn", "1")
			if trusted := strings.Contains(said, "answers 1"); trusted != !strings.HasPrefix(env, "OTHER") {
				t.Errorf("%s %s: %s", way, env, said)
			}
		}
	}
}

var listeningAt = regexp.MustCompile(`listening on http://(\S+)`)

// stet proxy is a forward proxy too, unless a setting says otherwise or other machines can reach it. It does not ask itself where an agent's
// shell names it as the HTTP proxy. (SAME-3)
func TestProxyForwards(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		flags  []string
		status int
		why    string
	}{
		"auto":     {nil, http.StatusForbidden, "10.1.2.3 is a private address: if you want to reach it, add 10.1.2.3 to NO_PROXY"},
		"connect":  {[]string{"--via", "connect"}, http.StatusForbidden, "10.1.2.3 is a private address"},
		"base URL": {[]string{"--via", "base-url"}, http.StatusForbidden, ""},
		"beyond":   {[]string{"--insecure-listen-beyond-loopback"}, http.StatusForbidden, ""},
	} {
		t.Run(name, func(t *testing.T) {
			read, out, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer read.Close()
			at := freeport.Addresses(t, 1)[0]
			named := strings.Replace(at, "127.0.0.1", "http://localhost", 1)
			cmd := stetCommand(t, out, []string{"HTTPS_PROXY=" + named, "https_proxy=" + named}, append([]string{"proxy", "--listen", at}, tt.flags...)...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			_ = out.Close()
			line, err := bufio.NewReader(read).ReadString('\n')
			if !listeningAt.MatchString(line) {
				t.Fatal(err, line)
			}
			go func() { _, _ = io.Copy(io.Discard, read) }()
			conn, err := net.Dial("tcp", at)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprint(conn, "CONNECT 10.1.2.3:443 HTTP/1.1\r\nHost: 10.1.2.3:443\r\n\r\n")
			resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: http.MethodConnect})
			if err != nil {
				t.Fatal(err)
			}
			b, _ := io.ReadAll(resp.Body)
			if forwards := strings.Contains(string(b), "no tunnel to"); resp.StatusCode != tt.status || !strings.Contains(string(b), tt.why) || forwards != (tt.why != "") {
				t.Errorf("%s %s", resp.Status, b)
			}
		})
	}
	if said := printed(t, nil, "proxy", "--via", "connect", "--insecure-listen-beyond-loopback"); !strings.Contains(said, "other machines would reach everything that this one reaches") {
		t.Error(said)
	}
}

// A request of Codex with an account of ChatGPT goes from chatgpt.com through the proxy: one that a program of the agent sends, over HTTP/2
// and HTTP/1.1. What chatgpt.com is asked otherwise passes. (SAME-3)
func TestChatGPTHost(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip(err)
	}
	asked := make(chan string, 2)
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		fmt.Fprint(w, `{"output":[]}`)
	}))
	defer model.Close()
	if said := printed(t, nil, "wrap", "--via=connect", "--", "sh", "-c", `curl -s -w '%{http_connect}' --proxy "http://${HTTPS_PROXY#*@}" https://chatgpt.com/ || true`); !strings.Contains(said, "407") {
		t.Errorf("a program without the password: %s", said)
	}
	for _, version := range []string{"--http2", "--http1.1"} {
		said := printed(t, nil, "wrap", "--via=connect", "--upstream", model.URL, "--", "sh", "-c",
			`curl -sS `+version+` --cacert "$CODEX_CA_CERTIFICATE" -H 'Content-Type: application/json' -d '{"model":"m","input":[]}' -w ' %{http_connect} %{http_version}' https://chatgpt.com/backend-api/codex/responses`)
		select {
		case path := <-asked:
			if path != "/v1/responses" || !strings.Contains(said, `{"output":[]} 200`) {
				t.Errorf("%s: %s", path, said)
			}
		default:
			t.Error(said)
		}
	}
}
