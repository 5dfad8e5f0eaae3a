package mcpserver

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stet-dev/stet/files/approval"
)

const (
	tokenA = "0123456789abcdef-a"
	tokenB = "0123456789abcdef-b"
)

func listen(t *testing.T, s *Server) string {
	t.Helper()
	h := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		s.Close()
		h.Close()
	})
	return h.URL + "/mcp"
}

// bearer adds a token to every request.
type bearer struct {
	token string
	*http.Transport
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.Transport.RoundTrip(r)
}

func httpClient(t *testing.T, url, token, revision string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	transport := &http.Transport{}
	c := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, o)
	session, err := c.Connect(context.Background(),
		&mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer{token, transport}}},
		&mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		session.Close()
		transport.CloseIdleConnections()
	})
	return session
}

// Every revision works at one address. The test checks the client session of each call.
func TestHTTP(t *testing.T) {
	n := newNotes("write_*")
	n.notes["a"] = "text"
	s := newServer(t, Config{Caller: n.handler, Await: true, HTTP: HTTP{Tokens: []string{tokenA, tokenB}}})
	url := listen(t, s)
	sessions := map[string]int{}
	for _, revision := range revisions {
		for _, token := range []string{tokenA, tokenB} {
			for range 2 {
				c := httpClient(t, url, token, revision, &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, nil
				}})
				if got := c.InitializeResult().ProtocolVersion; got != revision {
					t.Errorf("revision %s", got)
				}
				if r := call(t, c, "read_note", map[string]any{"path": "a"}); r.IsError {
					t.Errorf("%s", textOf(t, r))
				}
				if r := call(t, c, "write_note", aNote); textOf(t, r) != `{"success":true}` {
					t.Errorf("%s", textOf(t, r))
				}
				calls := n.calls()
				a, b := calls[len(calls)-2].Session, calls[len(calls)-1].Session
				if a != b {
					t.Errorf("one client, two sessions: %s and %s", a, b)
				}
				sessions[a]++
				if id := c.ID(); id != "" && strings.Contains(a, id) || strings.Contains(a, token) {
					t.Errorf("the session %s gives a secret away", a)
				}
			}
		}
	}
	// two clients of each revision with sessions have one session each; in the other revision there is one for each token
	if len(sessions) != 2*4+2 {
		t.Errorf("sessions: %v", sessions)
	}
	for name, clients := range sessions {
		if strings.HasPrefix(name, "token-") != (clients == 2) {
			t.Errorf("%d clients of the session %s", clients, name)
		}
	}
}

// Each client session has its own rate limit. Without sessions, each token has one. (FILE-10)
func TestRateOverHTTP(t *testing.T) {
	for _, revision := range revisions {
		n := newNotes()
		n.notes["a"] = "text"
		n.handler.Rate = 2
		s := newServer(t, Config{Caller: n.handler, HTTP: HTTP{Tokens: []string{tokenA, tokenB}}})
		url := listen(t, s)
		done := 0
		for _, token := range []string{tokenA, tokenA, tokenB} {
			c := httpClient(t, url, token, revision, nil)
			for range 3 {
				if r := call(t, c, "read_note", map[string]any{"path": "a"}); !r.IsError {
					done++
				} else if !strings.Contains(textOf(t, r), "rate_limited") {
					t.Errorf("%s", textOf(t, r))
				}
			}
		}
		want := 6 // two calls of each client
		if revision == v2026 {
			want = 4 // two calls with each token
		}
		if done != want {
			t.Errorf("%s: %d calls are done, not %d", revision, done, want)
		}
	}
}

func post(url, body string, change func(*http.Request)) (int, string, http.Header, error) {
	r, err := http.NewRequest("POST", url, strings.NewReader(body))
	if err != nil {
		return 0, "", nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+tokenA)
	if change != nil {
		change(r)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(r)
	if err != nil {
		return 0, "", nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), resp.Header, err
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

// Attacks by a web page of another origin, by DNS rebinding, and by another user of the machine are refused.
func TestGuard(t *testing.T) {
	s := newServer(t, Config{Caller: newNotes().handler, HTTP: HTTP{Tokens: []string{tokenA}, AllowedHosts: []string{"box.example:8080"}}})
	url := listen(t, s)
	host := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/mcp")
	port := host[strings.LastIndex(host, ":"):]
	header := func(pairs ...string) func(*http.Request) {
		return func(r *http.Request) {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == "Host" {
					r.Host = pairs[i+1]
				} else if pairs[i+1] == "" {
					r.Header.Del(pairs[i])
				} else {
					r.Header.Set(pairs[i], pairs[i+1])
				}
			}
		}
	}
	for _, c := range []struct {
		name   string
		change func(*http.Request)
		want   int
	}{
		{"as it should be", nil, 200},
		{"localhost", header("Host", "localhost"+port), 200},
		{"allowed host", header("Host", "box.example:8080"), 200},
		{"rebound", header("Host", "attacker.example"), 403},
		{"with its own origin", header("Origin", "http://"+host), 200},
		{"another origin", header("Origin", "http://attacker.example"), 403},
		{"cross-site", header("Sec-Fetch-Site", "cross-site"), 403},
		{"no token", header("Authorization", ""), 401},
		{"another token", header("Authorization", "Bearer "+tokenB), 401},
		{"part of the token", header("Authorization", "Bearer "+tokenA[:len(tokenA)-1]), 401},
		{"empty token", header("Authorization", "Bearer "), 401},
		{"two tokens", header("Authorization", "Bearer "+tokenA+" "+tokenA), 401},
		{"another scheme", header("Authorization", "Basic "+tokenA), 401},
		{"no scheme", header("Authorization", tokenA), 401},
		{"another origin and no token", header("Origin", "http://attacker.example", "Authorization", ""), 403},
	} {
		for _, era := range []string{"", v2026} {
			status, body, h, err := post(url, initialize, func(r *http.Request) {
				if era != "" {
					r.Header.Set("Mcp-Protocol-Version", era)
				}
				if c.change != nil {
					c.change(r)
				}
			})
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			if c.want == 200 && era == v2026 {
				if status == 401 || status == 403 {
					t.Errorf("%s: %d %s", c.name, status, body)
				}
				continue // that revision has no such request
			}
			if status != c.want {
				t.Errorf("%s (%q): %d, not %d: %s", c.name, era, status, c.want, body)
			}
			if status == 401 && h.Get("WWW-Authenticate") == "" {
				t.Errorf("%s: no challenge", c.name)
			}
			if strings.Contains(body, tokenA) {
				t.Errorf("%s: the answer has the token", c.name)
			}
		}
	}
	// GET opens a stream of events. It is guarded like the other methods.
	for want, change := range map[int]func(*http.Request){
		403: header("Origin", "http://attacker.example"), 401: header("Authorization", ""),
	} {
		if status, _, _, err := post(url, "", func(r *http.Request) { r.Method = "GET"; change(r) }); err != nil || status != want {
			t.Errorf("GET: %d, not %d, %v", status, want, err)
		}
	}
	// Without tokens no client is accepted.
	url = listen(t, newServer(t, Config{Caller: newNotes().handler}))
	if status, _, _, err := post(url, initialize, header("Authorization", "Bearer ")); err != nil || status != 401 {
		t.Errorf("no tokens: %d %v", status, err)
	}
	if status, _, _, err := post(strings.TrimSuffix(url, "/mcp"), initialize, nil); err != nil || status != 404 {
		t.Errorf("another path: %d %v", status, err)
	}
}

// An MCP session can be continued only with the token that began it.
func TestSessionOfOtherToken(t *testing.T) {
	n := newNotes()
	s := newServer(t, Config{Caller: n.handler, Await: true, HTTP: HTTP{Tokens: []string{tokenA, tokenB}}})
	url := listen(t, s)
	c := httpClient(t, url, tokenA, v2025b, nil)
	pendingID(t, call(t, c, "write_note", aNote))
	for _, method := range []string{"POST", "GET", "DELETE"} {
		status, body, _, err := post(url, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, func(r *http.Request) {
			r.Method = method
			r.Header.Set("Authorization", "Bearer "+tokenB)
			r.Header.Set("Mcp-Session-Id", c.ID())
		})
		if err != nil || status != 403 {
			t.Errorf("%s: %d %s %v", method, status, body, err)
		}
	}
	n.decide(t, approval.Approve, "") // the question is still open
}

// The end of an MCP session ends its pending calls. The end of the server ends all calls.
func TestSessionEnds(t *testing.T) {
	n := newNotes()
	s := newServer(t, Config{Caller: n.handler, Await: true, HTTP: HTTP{Tokens: []string{tokenA}}})
	url := listen(t, s)
	c := httpClient(t, url, tokenA, v2025b, nil)
	pendingID(t, call(t, c, "write_note", aNote))
	waiting := make(chan error, 1)
	go func() {
		_, err := c.CallTool(context.Background(), withProgress("write_note", aNote))
		waiting <- err
	}()
	for len(n.calls()) < 2 {
		time.Sleep(time.Millisecond)
	}
	status, body, _, err := post(url, "", func(r *http.Request) {
		r.Method = "DELETE"
		r.Header.Set("Mcp-Session-Id", c.ID())
	})
	if err != nil || status != 204 {
		t.Errorf("%d %s %v", status, body, err)
	}
	<-waiting
	for len(n.queue.Open()) > 0 { // the end of the other call answers no question
		time.Sleep(time.Millisecond)
	}

	other := httpClient(t, url, tokenA, v2026, nil)
	pendingID(t, call(t, other, "write_note", aNote))
	s.Close()
	if len(n.queue.Open()) > 0 {
		t.Error("a person is still asked")
	}
	if status, _, _, err := post(url, initialize, nil); err != nil || status != 503 {
		t.Errorf("after the end: %d %v", status, err)
	}
	if err := s.Serve(context.Background(), strings.NewReader(""), io.Discard); err != ErrClosed {
		t.Errorf("after the end: %v", err)
	}
}

// In the stateless revision the end of the connection cancels the call.
func TestDisconnect(t *testing.T) {
	n := newNotes()
	s := newServer(t, Config{Caller: n.handler, Await: true, Wait: time.Hour, HTTP: HTTP{Tokens: []string{tokenA}}})
	url := listen(t, s)
	c := httpClient(t, url, tokenA, v2026, nil)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		_, err := c.CallTool(ctx, withProgress("write_note", aNote))
		ended <- err
	}()
	for len(n.calls()) < 1 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("it was answered")
	}
	for s.calls.find("token-"+digest("token", tokenA), func(*activeCall) bool { return true }) != nil {
		time.Sleep(time.Millisecond)
	}
}

func TestBody(t *testing.T) {
	s := newServer(t, Config{Caller: newNotes().handler, MaxMessage: 1 << 10, HTTP: HTTP{Tokens: []string{tokenA}}})
	url := listen(t, s)
	large := strings.Replace(initialize, `"x"`, `"`+strings.Repeat("x", 1<<10)+`"`, 1)
	for _, era := range []string{"", v2026} {
		status, body, _, err := post(url, large, func(r *http.Request) {
			if era != "" {
				r.Header.Set("Mcp-Protocol-Version", era)
			}
		})
		if err != nil || status != 413 {
			t.Errorf("%q: %d %s %v", era, status, body, err)
		}
	}
	if status, _, _, err := post(url, initialize, func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }); err != nil || status != 415 {
		t.Errorf("a form of another page: %d %v", status, err)
	}
	if status, _, _, err := post(url, "{", nil); err != nil || status != 400 {
		t.Errorf("half a body: %d %v", status, err)
	}
	if status, body, _, err := post(url, " ["+initialize+"]", nil); err != nil || status != 400 || !strings.Contains(string(body), "one by one") {
		t.Errorf("a batch: %d %s %v", status, body, err)
	}
}

// A large write is accepted: the limit is above the limit of the file tools (FILE-8), also if JSON needs several bytes for each
// byte of the content.
func TestLarge(t *testing.T) {
	n := newNotes()
	s := newServer(t, Config{Caller: n.handler, Await: true, HTTP: HTTP{Tokens: []string{tokenA}}})
	if s.config.MaxMessage < 6*5<<20+1<<20 {
		t.Errorf("a write of 5 MB may not fit into %d bytes", s.config.MaxMessage)
	}
	const size = 1 << 20
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write_note","arguments":{"path":"a","text":"` +
		strings.Repeat(`\u0001`, size) + `"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	status, answer, _, err := post(listen(t, s), body, func(r *http.Request) {
		r.Header.Set("Mcp-Protocol-Version", v2026)
		r.Header.Set("Mcp-Method", "tools/call")
		r.Header.Set("Mcp-Name", "write_note")
	})
	if err != nil || status != 200 || !strings.Contains(answer, "pending") {
		t.Fatalf("%d %s %v", status, answer, err)
	}
	n.decide(t, approval.Approve, "")
	for {
		if text, ok := n.get("a"); ok {
			if len(text) != size {
				t.Errorf("%d bytes", len(text))
			}
			break
		}
		time.Sleep(time.Millisecond)
	}

	s = newServer(t, Config{Caller: n.handler})
	c, end := client(t, s, v2025b, nil)
	defer end()
	text := strings.Repeat("x\n\"\x01", 1<<16)
	go n.decide(t, approval.Approve, "")
	call(t, c, "write_note", map[string]any{"path": "b", "text": text})
	r := call(t, c, "read_note", map[string]any{"path": "b"})
	var back struct{ Content string }
	if err := json.Unmarshal([]byte(textOf(t, r)), &back); err != nil || back.Content != text {
		t.Errorf("read %d bytes, %v", len(back.Content), err)
	}
}
