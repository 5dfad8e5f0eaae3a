package mcpclient

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Server says how to reach an MCP server: by Command or by URL.
type Server struct {
	Name string // for messages to a person

	Command string // a program: its path, or a name that is looked up in PATH
	Args    []string
	Env     []string // "NAME=value", added to Config.Environ
	Dir     string   // its working directory

	URL    string      // http or https
	Header http.Header // sent with each request to the URL's host, and to no other host
	SSE    bool        // the server uses the older transport with server-sent events
}

// endTime is how long a program may take to end after its input is closed, and again after the signal to end.
const endTime = 2 * time.Second

// transport returns the SDK's transport to the server, and the process if the server is a program.
func (s Server) transport(environ []string) (mcp.Transport, *process, error) {
	if s.Command != "" {
		p := &process{cmd: exec.Command(s.Command, s.Args...)}
		p.cmd.Dir, p.cmd.Env, p.cmd.Stderr = s.Dir, append(environ[:len(environ):len(environ)], s.Env...), &p.said
		p.cmd.WaitDelay = endTime // a child process may keep standard error open
		ownGroup(p.cmd)
		return &mcp.CommandTransport{Command: p.cmd, TerminateDuration: endTime}, p, nil
	}
	u, err := url.Parse(s.URL)
	switch {
	case err != nil:
		return nil, nil, errors.New("its URL cannot be read") // the error would contain the URL, which may have a secret
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, nil, errors.New("it has neither a command nor a URL of http or https")
	}
	client := &http.Client{Transport: &headers{to: u, add: s.Header}}
	if s.SSE {
		return &mcp.SSEClientTransport{Endpoint: s.URL, HTTPClient: client}, nil, nil
	}
	return &mcp.StreamableClientTransport{Endpoint: s.URL, HTTPClient: client}, nil, nil
}

// headers adds headers to all requests to one host.
type headers struct {
	to  *url.URL
	add http.Header
}

// RoundTrip implements http.RoundTripper.
func (h *headers) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme == h.to.Scheme && r.URL.Host == h.to.Host && len(h.add) > 0 {
		r = r.Clone(r.Context())
		for name, values := range h.add {
			r.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	return http.DefaultTransport.RoundTrip(r)
}

// process is a program that was started as a server, with the end of its output to standard error.
type process struct {
	cmd  *exec.Cmd
	said tail
}

// sweep kills the remaining child processes after the process has ended.
func (p *process) sweep() {
	if p != nil && p.cmd.Process != nil {
		endGroup(p.cmd.Process.Pid)
	}
}

// words returns the last line that a program wrote to standard error, in brackets. It returns "" if there is no line or no
// program.
func (p *process) words() string {
	if p == nil {
		return ""
	}
	if said := p.said.last(); said != "" {
		return fmt.Sprintf(" (it said: %s)", said)
	}
	return ""
}

// tail is a writer that keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

// maxTail is the number of bytes that tail keeps.
const maxTail = 2 << 10

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	t.kept = bytes.Clone(t.kept[max(0, len(t.kept)-maxTail):])
	return len(b), nil
}

// last returns the last line that is not empty.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(t.kept), "?")), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
