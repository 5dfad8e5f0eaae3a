package e2e

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"testing"

	"github.com/stet-dev/stet/llm/llmtest"
)

// route is a way from the agent to the model: it returns the base URL that
// the agent's configuration is to name, and what stands before its command.
type route func(t *testing.T, home, model string) (base string, before []string)

func direct(_ *testing.T, _, model string) (string, []string) { return model, nil }

// wrap runs the agent, configured for the model, under "stet wrap".
func wrap(_ *testing.T, _, model string) (string, []string) {
	return model, []string{os.Getenv(envStet), "wrap", "--"}
}

// wrapWith is wrap with flags.
func wrapWith(flags ...string) route {
	return func(_ *testing.T, _, model string) (string, []string) {
		return model, append(append([]string{os.Getenv(envStet), "wrap"}, flags...), "--")
	}
}

// proxyOff configures the agent for a recorder, which stands before a
// "stet proxy --policy off".
func proxyOff(recorder **tap) route {
	return func(t *testing.T, home, model string) (string, []string) {
		*recorder = newTap(t, startProxy(t, home, "--policy", "off", "--upstream", model))
		return (*recorder).url, nil
	}
}

var listening = regexp.MustCompile(`listening on (http://\S+)`)

// startProxy runs "stet proxy" until the test ends, and returns its URL.
func startProxy(t *testing.T, home string, args ...string) string {
	t.Helper()
	cmd := exec.Command(os.Getenv(envStet), append([]string{"proxy", "--listen", "127.0.0.1:0"}, args...)...)
	cmd.Env = environment(home)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines, said := bufio.NewScanner(stderr), bytes.Buffer{}
	base := ""
	for base == "" && lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		if g := listening.FindStringSubmatch(lines.Text()); g != nil {
			base = g[1]
		}
	}
	rest := make(chan struct{})
	go func() {
		defer close(rest)
		for lines.Scan() {
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-rest
		if err := cmd.Wait(); err != nil {
			t.Errorf("stet proxy ended with %v", err)
		}
	})
	if base == "" {
		t.Fatalf("stet proxy does not say where it listens:\n%s", said.String())
	}
	return base
}

// tap is a recorder that passes every request on.
type tap struct {
	url string

	mu       sync.Mutex
	requests []llmtest.Request
}

func newTap(t *testing.T, upstream string) *tap {
	t.Helper()
	to, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	forward := &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
	}
	p := &tap{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the agent is gone
		}
		p.mu.Lock()
		p.requests = append(p.requests, llmtest.Request{
			Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Header: r.Header.Clone(), Body: body,
		})
		p.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

func (p *tap) all() []llmtest.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests
}
