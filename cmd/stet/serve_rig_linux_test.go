package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/web"
	"github.com/stet-dev/stet/test/webtest"
)

// background is a running stet with its output.
type background struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when the process has ended

	mu   sync.Mutex
	said strings.Builder
}

// start starts stet. The end of the test kills it if it still runs.
func (h *home) start(t *testing.T, args ...string) *background {
	t.Helper()
	b := &background{cmd: h.stet(args...), ended: make(chan struct{})}
	out, err := b.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(b.ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			b.mu.Lock()
			b.said.WriteString(lines.Text() + "\n")
			b.mu.Unlock()
		}
		_ = b.cmd.Wait() // its state has the exit code
	}()
	t.Cleanup(b.kill)
	return b
}

// kill sends SIGKILL, and waits until the process has ended.
func (b *background) kill() {
	_ = b.cmd.Process.Kill() // it may have ended
	<-b.ended
}

func (b *background) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.said.String()
}

// tells waits until the output matches, and returns the first group.
func (b *background) tells(t *testing.T, what string) string {
	t.Helper()
	re := regexp.MustCompile(what)
	var found []string
	waitFor(t, func() bool {
		found = re.FindStringSubmatch(b.text())
		select {
		case <-b.ended:
			return true
		default:
			return found != nil
		}
	})
	if found == nil {
		t.Fatalf("it has ended without the output %q: %s", what, b.text())
	}
	return found[len(found)-1]
}

// serving is stet serve.
type serving struct {
	*background
	base, person, agent string // its address, and the tokens that it printed
}

func (h *home) serve(t *testing.T, args ...string) *serving {
	t.Helper()
	return h.start(t, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...).serving(t)
}

// serving waits until stet serve is ready.
func (b *background) serving(t *testing.T) *serving {
	t.Helper()
	s := &serving{background: b}
	s.tells(t, `"stet token" makes`)
	s.base = s.tells(t, `listening on (https?://\S+);`)
	var err error
	if s.person, err = url.QueryUnescape(s.tells(t, `#token=(\S+)`)); err != nil {
		t.Fatal(err)
	}
	s.agent = s.tells(t, `Bearer (\S+)`)
	return s
}

// token makes a token without expiry.
func (h *home) token(t *testing.T, name, scope string) string {
	t.Helper()
	out, err := h.stet("token", "create", name, "--scope", scope).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// verified checks that the chain is valid and has this number of writes.
func (h *home) verified(t *testing.T, writes int) {
	t.Helper()
	out := h.run(t, "audit", "--verify")
	if !strings.Contains(out, "together") || strings.Contains(out, "has no outcome") {
		t.Errorf("the trail: %s", out)
	}
	done := 0
	all := h.run(t, "audit", "--json", "--last", "0")
	for line := range strings.Lines(all) {
		var e record.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.Kind == "outcome" && e.Outcome == "ok" {
			done++
		}
	}
	if done != writes {
		t.Errorf("%d writes were done, want %d: %s", done, writes, all)
	}
}

// page uses the UI's HTTP interface without a browser.
type page struct {
	*webtest.Page
	t *testing.T
}

// login logs in with a token, as the link does.
func login(t *testing.T, base, token string) *page {
	t.Helper()
	p, err := webtest.Enter(t.Context(), nil, base, token)
	if err != nil {
		t.Fatal(err)
	}
	return &page{p, t}
}

// do makes a request, and decodes the answer into into if it is not nil.
func (p *page) do(method, path string, body, into any) *http.Response {
	p.t.Helper()
	res, err := p.try(method, path, body, into)
	if err != nil {
		p.t.Fatal(err)
	}
	return res
}

// try is do for goroutines other than the test's.
func (p *page) try(method, path string, body, into any) (*http.Response, error) {
	res, err := p.Do(p.t.Context(), method, path, body)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err == nil && into != nil && res.StatusCode == http.StatusOK {
		err = json.Unmarshal(data, into)
	}
	res.Body = io.NopCloser(bytes.NewReader(data))
	return res, err
}

// undo requests the undo of writes in the background; a person must answer a question first. The result begins with the status.
func (p *page) undo(ctx context.Context, u web.Undo) <-chan result {
	return apart(func() (string, error) {
		res, err := p.Do(ctx, http.MethodPost, "/api/undo", u)
		if err != nil {
			return "", err
		}
		text, err := io.ReadAll(res.Body)
		return res.Status + " " + string(text), err
	})
}

func (p *page) get(path string, into any) {
	p.t.Helper()
	p.must(p.do(http.MethodGet, path, nil, into))
}

func (p *page) post(path string, body, into any) {
	p.t.Helper()
	p.must(p.do(http.MethodPost, path, body, into))
}

func (p *page) must(res *http.Response) {
	p.t.Helper()
	if res.StatusCode != http.StatusOK {
		data, _ := io.ReadAll(res.Body)
		p.t.Fatalf("%s: %s", res.Status, data)
	}
}

// question waits for the question about a path, and returns its details.
func (p *page) question(path string) approval.Question {
	p.t.Helper()
	var d approval.Question
	waitFor(p.t, func() bool {
		var now web.QueueEvent
		p.get("/api/questions", &now)
		for _, q := range now.Open {
			if q.Path == path {
				p.get("/api/questions/"+q.ID, &d)
				return true
			}
		}
		return false
	})
	return d
}

func (p *page) approve(d approval.Question) {
	p.t.Helper()
	p.post("/api/questions/"+d.ID+"/answer", approval.Answer{Verdict: "approve", Seal: d.Seal}, nil)
}

// plus returns the lines that a question would add.
func plus(d approval.Question) string {
	var s strings.Builder
	for _, f := range d.Diff.Files {
		for _, hunk := range f.Hunks {
			for _, l := range hunk.Lines {
				if l.Kind == '+' {
					s.WriteString(l.Text)
				}
			}
		}
	}
	return s.String()
}

// stablePort is a port that stays the same while the serve behind it changes.
type stablePort struct {
	url    string
	behind atomic.Pointer[string] // HOST:PORT
}

func newStablePort(t *testing.T) *stablePort {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	j := &stablePort{url: "http://" + l.Addr().String()}
	var lines sync.WaitGroup
	lines.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			lines.Go(func() { j.carry(c) })
		}
	})
	t.Cleanup(func() { // connections end with their ends, which were killed before
		_ = l.Close()
		lines.Wait()
	})
	return j
}

func (j *stablePort) lead(s *serving) {
	address := strings.TrimPrefix(s.base, "http://")
	j.behind.Store(&address)
}

// carry connects a connection with the current target, until either end closes.
func (j *stablePort) carry(c net.Conn) {
	defer c.Close()
	on, err := net.Dial("tcp", *j.behind.Load())
	if err != nil {
		return
	}
	defer on.Close()
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(on, c); _ = on.Close() })
	both.Go(func() { _, _ = io.Copy(c, on); _ = c.Close() })
	both.Wait()
}

// hosting starts stet host on the directory of h, and waits until it is connected.
func (h *home) hosting(t *testing.T, url, token string) *background {
	t.Helper()
	file := filepath.Join(h.dir, "token")
	write(t, file, token+"\n")
	b := h.start(t, "host", "--root", h.tree, "--workspace", "there", "--token-file", file, url)
	b.tells(t, fmt.Sprintf("connected to %s as workspace there", regexp.QuoteMeta(url)))
	return b
}
