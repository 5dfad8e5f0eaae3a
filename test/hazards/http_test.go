package hazards

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const token = "a-token-of-more-than-sixteen-letters"

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"b","version":"1"}}}`

// listen starts "stet mcp --http", and returns its URL.
func (w *world) listen() string {
	w.t.Helper()
	w.flags = append(w.flags, "--http", "127.0.0.1:0")
	cmd := w.mcp()
	cmd.Env = append(cmd.Env, "STET_TOKEN="+token)
	out, err := cmd.StderrPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		stuck := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		if err := cmd.Wait(); err != nil {
			w.t.Errorf("stet mcp --http: %v", err)
		}
		stuck.Stop()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	_, url, ok := strings.Cut(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		w.t.Fatalf("%q, %v", line, err)
	}
	return url
}

type bearer struct{}

func (bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return http.DefaultTransport.RoundTrip(r)
}

// Row: a web page of another origin, DNS rebinding, or a request without a token: refused.
func TestWebPages(t *testing.T) {
	w := newWorld(t)
	w.put("f", "inside\n")
	url := w.listen()
	host := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/mcp")
	for i, c := range []struct {
		method string
		header map[string]string
		status int
	}{
		{"POST", nil, 200},
		{"POST", map[string]string{"Origin": "http://" + host}, 200},
		{"POST", map[string]string{"Origin": "https://evil.example"}, 403},
		{"POST", map[string]string{"Origin": "null"}, 403},
		{"POST", map[string]string{"Origin": "http://localhost.evil.example"}, 403},
		{"POST", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		{"GET", map[string]string{"Origin": "https://evil.example"}, 403},
		{"OPTIONS", map[string]string{"Origin": "https://evil.example"}, 403},
		{"POST", map[string]string{"Host": "evil.example"}, 403},
		{"POST", map[string]string{"Host": "127.0.0.1.evil.example:4142"}, 403},
		{"POST", map[string]string{"Authorization": ""}, 401},
		{"POST", map[string]string{"Authorization": "Bearer wrong"}, 401},
		{"POST", map[string]string{"Authorization": "Bearer " + token[:10]}, 401},
		{"DELETE", map[string]string{"Authorization": ""}, 401},
		{"POST", map[string]string{"Content-Type": "text/plain", "Origin": "https://evil.example"}, 403},
	} {
		r, err := http.NewRequest(c.method, url, strings.NewReader(hello))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Authorization", "Bearer "+token)
		for k, v := range c.header {
			r.Header.Set(k, v)
			if k == "Host" {
				r.Host = v
			}
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body) // only the status matters
		resp.Body.Close()
		if resp.StatusCode != c.status {
			t.Errorf("%d: %s %v: %d, want %d", i, c.method, c.header, resp.StatusCode, c.status)
		}
		if resp.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%d: allows other origins", i)
		}
	}
	s, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer{}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := &agent{ClientSession: s, t: t}
	if r := a.works("read_file", args{"path": "f"}); r.Content != "inside\n" {
		t.Errorf("%s", r.raw)
	}
	_ = s.Close() // the test is about the server
}

// Row: the server listens on the loopback, unless a flag says otherwise.
func TestLoopbackOnly(t *testing.T) {
	w := newWorld(t)
	for _, at := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0"} {
		out, err := w.command("mcp", "--root", w.dir, "--http", at).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "not a loopback address") {
			t.Errorf("%s: %v %s", at, err, out)
		}
	}
	cmd := w.command("mcp", "--root", w.dir, "--http", "127.0.0.1:0")
	cmd.Env = append(cmd.Env, "STET_TOKEN=short")
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Errorf("a short token: %s", out)
	}
}

// Row: another user of the machine: only this user can use the socket for answers and stet's state.
func TestOtherUsersOfTheMachine(t *testing.T) {
	w := newWorld(t)
	w.attended = true
	w.agent()
	w.person()
	dir := w.home + "/state/stet"
	for _, name := range []string{dir, dir + "/approve", dir + "/stet.db"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v", strings.TrimPrefix(name, w.home), info.Mode())
		}
	}
	entries, err := os.ReadDir(dir + "/approve")
	if err != nil || len(entries) == 0 {
		t.Fatal(entries, err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
	}
}

// Row: frames that are too large or are not JSON: the server answers with an error or ends, and never uses much memory.
func TestFrames(t *testing.T) {
	w := newWorld(t)
	cmd := w.mcp()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(2*patience, func() { _ = cmd.Process.Kill() })
	lines := bufio.NewReaderSize(out, 1<<20)
	say := func(line string) string {
		t.Helper()
		if _, err := io.WriteString(in, line+"\n"); err != nil {
			t.Fatal(err)
		}
		answer, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("%.80s: %v", line, err)
		}
		return answer
	}
	say(hello)
	for _, line := range []string{"{", "no json", "[]x", "\"\xff", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":` + strings.Repeat("[", 20_000)} {
		if a := say(line); !strings.Contains(a, `"error"`) {
			t.Errorf("%.40q: %.200s", line, a)
		}
	}
	if a := say(`{"jsonrpc":"2.0","id":3,"method":"ping"}`); !strings.Contains(a, `"result"`) {
		t.Errorf("%s", a)
	}
	before, ok := peak(cmd.Process.Pid)
	sent, after := 0, before
	for chunk := bytes.Repeat([]byte("x"), 1<<20); sent < 256<<20; sent += len(chunk) {
		if _, err := in.Write(chunk); err != nil {
			break // the server accepts no more input
		}
		if kb, ok := peak(cmd.Process.Pid); ok {
			after = max(after, kb)
		}
	}
	if sent >= 256<<20 { // everything was accepted, and little of it was kept
		if a := say(""); !strings.Contains(a, `"error"`) {
			t.Errorf("%.200s", a)
		}
		if a := say(`{"jsonrpc":"2.0","id":4,"method":"ping"}`); !strings.Contains(a, `"result"`) {
			t.Errorf("%s", a)
		}
	}
	_ = in.Close() // the server may have ended
	_ = cmd.Wait() // an error is allowed here
	stuck.Stop()
	if ok && after > before+(200<<10) {
		t.Errorf("%d KB of memory, %d before", after, before)
	}
	t.Logf("%d MB were taken, %d KB of memory", sent>>20, after)
}

// Row: the same over HTTP.
func TestLargeBodies(t *testing.T) {
	w := newWorld(t)
	url := w.listen()
	r, err := http.NewRequest("POST", url, io.LimitReader(zeros{}, 256<<20))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err == nil {
		resp.Body.Close()
		if resp.StatusCode < 400 {
			t.Errorf("%d", resp.StatusCode)
		}
	}
	// A client that sends nothing does not delay other clients.
	conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/mcp"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\n")
	r, err = http.NewRequest("POST", url, strings.NewReader(hello))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err = http.DefaultClient.Do(r)
	if err != nil || resp.StatusCode != 200 {
		t.Fatal(resp, err)
	}
	resp.Body.Close()
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
