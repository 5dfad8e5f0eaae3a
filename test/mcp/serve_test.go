package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stet-dev/stet/test/gatewaytest"
	"github.com/stet-dev/stet/test/webtest"
)

// process is a stet command that serves, and its output.
type process struct {
	cmd *exec.Cmd

	mu   sync.Mutex
	said strings.Builder
	more chan struct{} // closed when there is new output
}

// tells waits until the output matches what, and returns the groups of the match.
func (p *process) tells(t *testing.T, what string) []string {
	t.Helper()
	re, late := regexp.MustCompile(what), time.After(time.Minute)
	for {
		p.mu.Lock()
		found, more, all := re.FindStringSubmatch(p.said.String()), p.more, p.said.String()
		p.mu.Unlock()
		if found != nil {
			return found
		}
		select {
		case <-more:
		case <-late:
			t.Fatalf("it never said %q: %s", what, all)
		}
	}
}

// place is a directory with a state of its own for stet processes.
type place struct {
	t          *testing.T
	stet, tree string
	env        []string
}

func newPlace(t *testing.T, stet string) *place {
	dir := t.TempDir()
	p := &place{t, stet, filepath.Join(dir, "tree"), append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME="+filepath.Join(dir, "s"), "XDG_CONFIG_HOME="+filepath.Join(dir, "c"))}
	if err := os.Mkdir(p.tree, 0o700); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *place) command(args ...string) *exec.Cmd {
	cmd := exec.Command(p.stet, args...)
	cmd.Env, cmd.Dir = p.env, p.tree
	return cmd
}

// start starts a command. The end of the test kills it.
func (p *place) start(args ...string) *process {
	p.t.Helper()
	s := &process{cmd: p.command(args...), more: make(chan struct{})}
	out, err := s.cmd.StderrPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			s.mu.Lock()
			s.said.WriteString(lines.Text() + "\n")
			close(s.more)
			s.more = make(chan struct{})
			s.mu.Unlock()
		}
		_ = s.cmd.Wait() // it was killed
	}()
	p.t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		<-ended
	})
	return s
}

// build builds stet.
func build(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "stet")
	if out, err := exec.Command("go", "build", "-o", file, "../../cmd/stet").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return file
}

// decider is a person at the UI, without a browser.
type decider struct{ *webtest.Page }

func newDecider(t *testing.T, base, token string) *decider {
	t.Helper()
	p, err := webtest.Enter(t.Context(), nil, base, token)
	if err != nil {
		t.Fatal(err)
	}
	return &decider{p}
}

func (d *decider) do(method, path string, body, into any) (*http.Response, error) {
	res, err := d.Do(context.Background(), method, path, body)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(res.Body)
		return nil, fmt.Errorf("%s %s: %s: %s", method, path, res.Status, text)
	}
	return res, json.NewDecoder(res.Body).Decode(into)
}

type asked struct{ ID, Path, Seal string }

func (d *decider) open() ([]asked, error) {
	var q struct{ Open []asked }
	_, err := d.do(http.MethodGet, "/api/questions", nil, &q)
	return q.Open, err
}

// waited is what a client saw that waited for a person.
type waited struct {
	Tools             []string
	Text              string
	Requests, Longest int // the number of requests, and the longest one in seconds
	Progress          int
}

// waiter makes a client write a file.
type waiter struct {
	name string
	run  func(ctx context.Context, path string) (waited, error)
}

// A write over MCP, HTTP and the WebSocket waits for a person, on this server and in a workspace of another machine. No client
// ends the call before, including the SDKs with their default timeouts. STET_SOAK=1 waits for almost ten minutes, after which the
// question itself expires. (FILE-4)
func TestLongApproval(t *testing.T) {
	file := build(t)
	pause := 1500 * time.Millisecond
	if os.Getenv("STET_SOAK") != "" {
		pause = 590 * time.Second
	}
	here, there := newPlace(t, file), newPlace(t, file)
	serve := here.start("serve", "--listen", "127.0.0.1:0", "--root", here.tree, "--workspace", "here")
	serve.tells(t, `"stet token" makes`)
	base := serve.tells(t, `listening on (http://\S+);`)[1]
	person, err := url.QueryUnescape(serve.tells(t, `#token=(\S+)`)[1])
	if err != nil {
		t.Fatal(err)
	}
	agent := serve.tells(t, `Bearer (\S+)`)[1]
	token, err := here.command("token", "create", "laptop", "--scope", "host").Output()
	if err != nil {
		t.Fatal(err)
	}
	there.env = append(there.env, "STET_TOKEN="+strings.TrimSpace(string(token)))
	there.start("host", "--root", there.tree, "--workspace", "there", base).tells(t, "connected to")

	waiters := []waiter{
		{"Go SDK, progress", byGo(base+"/mcp", agent, true)},
		{"Go SDK", byGo(base+"/mcp", agent, false)},
		{"Go SDK elsewhere, progress", byGo(base+"/mcp/there", agent, true)},
		{"Go SDK elsewhere", byGo(base+"/mcp/there", agent, false)},
		{"HTTP", byHTTP(base, agent)},
		{"WebSocket", bySocket(base, agent)},
	}
	for _, c := range [][]string{{"sdk", "legacy", "progress", "/mcp"}, {"sdk", "legacy", "silent", "/mcp/there"}, {"client", "2026-07-28", "progress", "/mcp/there"}} {
		waiters = append(waiters, waiter{"npm " + strings.Join(c, " "), byNode(t, base+c[3], agent, c[:3])})
	}
	results := make([]chan error, len(waiters))
	saw := make([]waited, len(waiters))
	for i, w := range waiters {
		results[i] = make(chan error, 1)
		go func() {
			var err error
			saw[i], err = w.run(t.Context(), fmt.Sprintf("f%d.txt", i))
			results[i] <- err
		}()
	}
	d := newDecider(t, base, person)
	var open []asked
	for late := time.Now().Add(time.Minute); len(open) < len(waiters); time.Sleep(20 * time.Millisecond) {
		if open, err = d.open(); err != nil || time.Now().After(late) {
			t.Fatalf("%d questions are open: %v", len(open), err)
		}
	}
	time.Sleep(pause) // the time that a person takes; the test checks that nothing happens in it
	for _, q := range open {
		if _, err := d.do(http.MethodPost, "/api/questions/"+q.ID+"/answer", map[string]string{"verdict": "approve", "seal": q.Seal}, new(any)); err != nil {
			t.Error(err)
		}
	}
	for i, w := range waiters {
		if err := <-results[i]; err != nil || !strings.Contains(saw[i].Text, `"success":true`) {
			t.Errorf("%s: %v: %s", w.name, err, saw[i].Text)
		}
		if strings.Contains(w.name, "SDK") && !slices.Contains(saw[i].Tools, "write_file") {
			t.Errorf("%s: tools %v", w.name, saw[i].Tools)
		}
		at := here.tree
		if strings.Contains(w.name, "there") || strings.Contains(w.name, "elsewhere") {
			at = there.tree
		}
		if b, err := os.ReadFile(filepath.Join(at, fmt.Sprintf("f%d.txt", i))); string(b) != "new\n" {
			t.Errorf("%s: wrote %q, %v", w.name, b, err)
		}
		t.Logf("%-32s %2d requests, the longest %d s, %d times progress", w.name, saw[i].Requests, saw[i].Longest, saw[i].Progress)
	}
}

// byNode waits with an npm SDK.
func byNode(t *testing.T, url, token string, how []string) func(context.Context, string) (waited, error) {
	modules := packages.Need(t)
	script, err := filepath.Abs("wait.mjs")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	return func(ctx context.Context, path string) (saw waited, err error) {
		cmd := exec.CommandContext(ctx, filepath.Join(modules, "node", "bin", "node"), append(append([]string{script, modules}, how...), url, token, path)...)
		cmd.Dir, cmd.Stderr = dir, os.Stderr
		out, err := cmd.Output()
		if err == nil {
			err = json.Unmarshal(out, &saw)
		}
		return saw, err
	}
}

// authorised sends HTTP requests with a token.
type authorised string

func (a authorised) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(a))
	return http.DefaultTransport.RoundTrip(r)
}

// byGo waits with the Go SDK. None of its requests may take longer than a minute.
func byGo(url, token string, hears bool) func(context.Context, string) (waited, error) {
	return func(ctx context.Context, path string) (saw waited, err error) {
		var mu sync.Mutex
		heard := 0
		c := mcp.NewClient(&mcp.Implementation{Name: "waiter", Version: "1"}, &mcp.ClientOptions{
			ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {
				mu.Lock()
				heard++
				mu.Unlock()
			},
		})
		s, err := c.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url, MaxRetries: -1, HTTPClient: &http.Client{Transport: authorised(token)}}, nil)
		if err != nil {
			return saw, err
		}
		defer s.Close()
		all, err := s.ListTools(ctx, nil)
		if err != nil {
			return saw, err
		}
		for _, spec := range all.Tools {
			saw.Tools = append(saw.Tools, spec.Name)
		}
		name, args := "write_file", map[string]string{"path": path, "content": "new\n"}
		for name != "" {
			p := &mcp.CallToolParams{Name: name, Arguments: args}
			if hears {
				p.SetProgressToken(fmt.Sprint(path, saw.Requests))
			}
			begun := time.Now()
			short, cancel := context.WithTimeout(ctx, time.Minute)
			res, err := s.CallTool(short, p)
			cancel()
			if err != nil {
				return saw, err
			}
			saw.Requests++
			saw.Longest = max(saw.Longest, int(time.Since(begun).Seconds()))
			saw.Text = res.Content[0].(*mcp.TextContent).Text
			var r struct{ Pending string }
			if err := json.Unmarshal([]byte(saw.Text), &r); err != nil {
				return saw, err
			}
			if name = ""; r.Pending != "" {
				name, args = "await_result", map[string]string{"pending": r.Pending}
			}
		}
		mu.Lock()
		saw.Progress = heard
		mu.Unlock()
		return saw, nil
	}
}

// byHTTP waits with plain requests, each shorter than a minute.
func byHTTP(base, token string) func(context.Context, string) (waited, error) {
	client := &http.Client{Transport: authorised(token), Timeout: time.Minute}
	return func(ctx context.Context, path string) (saw waited, err error) {
		method, at, body := http.MethodPost, "/v1/sessions/s/tools/write_file?call_id=1&workspace=here", `{"path":"`+path+`","content":"new\n"}`
		for {
			r, err := http.NewRequestWithContext(ctx, method, base+at, strings.NewReader(body))
			if err != nil {
				return saw, err
			}
			begun := time.Now()
			res, err := client.Do(r)
			if err != nil {
				return saw, err
			}
			b, err := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if err != nil {
				return saw, err
			}
			saw.Requests++
			saw.Longest = max(saw.Longest, int(time.Since(begun).Seconds()))
			saw.Text = string(b)
			if res.StatusCode != http.StatusAccepted {
				return saw, nil
			}
			method, at, body = http.MethodGet, "/v1/sessions/s/calls/1", ""
		}
	}
}

// bySocket waits on the WebSocket.
func bySocket(base, token string) func(context.Context, string) (waited, error) {
	return func(ctx context.Context, path string) (saw waited, err error) {
		a, err := gatewaytest.Connect(ctx, base, token, "here", nil)
		if err != nil {
			return saw, err
		}
		defer a.Close()
		if err := a.AwaitHost(ctx); err != nil {
			return saw, err
		}
		begun := time.Now()
		r, err := a.Call(ctx, "write_file", `{"path":"`+path+`","content":"new\n"}`)
		if err != nil {
			return saw, err
		}
		return waited{Text: string(r.Result), Requests: 1, Longest: int(time.Since(begun).Seconds())}, err
	}
}
