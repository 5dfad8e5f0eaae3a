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
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stet-dev/stet/llm/llmtest"
)

// route is a way from the agent to the model. It returns the base URL for the agent's configuration, and the words before the
// agent's command.
type route func(t *testing.T, home, model string) (base string, before []string)

func direct(_ *testing.T, _, model string) (string, []string) { return model, nil }

// wrap runs the agent, configured for the model, under "stet wrap".
func wrap(_ *testing.T, _, model string) (string, []string) {
	return model, []string{os.Getenv(envStet), "wrap", "--"}
}

// wrapWith is wrap with more flags.
func wrapWith(flags ...string) route {
	return func(_ *testing.T, _, model string) (string, []string) {
		return model, append(append([]string{os.Getenv(envStet), "wrap"}, flags...), "--")
	}
}

// proxyOff configures the agent for a recorder in front of "stet proxy --policy off".
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
	return startProcess(t, home, args...).url
}

// process is a running "stet proxy".
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	url  string
	read chan struct{} // closed when the whole output was read
}

func startProcess(t *testing.T, home string, args ...string) *process {
	t.Helper()
	p := &process{t: t, read: make(chan struct{})}
	p.cmd = exec.Command(os.Getenv(envStet), append([]string{"proxy", "--listen", "127.0.0.1:0"}, args...)...)
	p.cmd.Env = environment(home)
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines, said := bufio.NewScanner(stderr), bytes.Buffer{}
	for p.url == "" && lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		if g := listening.FindStringSubmatch(lines.Text()); g != nil {
			p.url = g[1]
		}
	}
	go func() {
		defer close(p.read)
		for lines.Scan() {
		}
	}()
	t.Cleanup(func() { p.end(syscall.SIGTERM) })
	if p.url == "" {
		t.Fatalf("stet proxy does not say where it listens:\n%s", said.String())
	}
	return p
}

// end sends a signal to the process, and waits for its end. A second call does nothing.
func (p *process) end(signal syscall.Signal) {
	if p.cmd.ProcessState != nil {
		return
	}
	_ = p.cmd.Process.Signal(signal) // the process may have ended already, and then Wait says so
	<-p.read
	if err := p.cmd.Wait(); err != nil && signal != syscall.SIGKILL {
		p.t.Errorf("stet proxy ended with %v", err)
	}
}

// tap records every request and passes it on.
type tap struct {
	url      string
	upstream atomic.Pointer[url.URL]

	mu       sync.Mutex
	requests []llmtest.Request
}

func newTap(t *testing.T, upstream string) *tap {
	t.Helper()
	p := &tap{}
	p.to(t, upstream)
	forward := &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(p.upstream.Load()) },
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the agent has ended
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

// to sends the next requests to another upstream.
func (p *tap) to(t *testing.T, upstream string) {
	t.Helper()
	u, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	p.upstream.Store(u)
}

func (p *tap) all() []llmtest.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests
}
