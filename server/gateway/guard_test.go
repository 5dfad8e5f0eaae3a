package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// fetch makes an HTTP request and returns the status and the body.
func fetch(t *testing.T, url, method, path, body string, header ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequest(method, url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		} else {
			r.Header.Set(header[i], header[i+1])
		}
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil && resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

var upgrade = []string{
	"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA==",
}

// The gateway refuses, over HTTP and WebSockets: requests of other sites' pages, rebound names, and requests without a token or
// with a token for another role. (hazards)
func TestRefused(t *testing.T) {
	authority := &testAuthority{}
	authority.revoke("agent-revoked")
	hub, log := newHub(t, Config{Authority: authority, AllowedHosts: []string{"gateway.example.org"}})
	url := serveHub(t, hub)
	defer http.DefaultClient.CloseIdleConnections()
	good := []string{"Authorization", "Bearer agent-a"}
	for _, c := range []struct {
		what   string
		header []string
		status int
		body   string
	}{
		{"nothing", nil, 401, "a token is needed"},
		{"another scheme", []string{"Authorization", "Basic agent-a"}, 401, "a token is needed"},
		{"unknown token", []string{"Authorization", "Bearer nobody"}, 401, "not known"},
		{"revoked token", []string{"Authorization", "Bearer agent-revoked"}, 401, "not known"},
		{"rebound name", append(good, "Host", "evil.example:80"), 403, "host name"},
		{"another origin", append(good, "Origin", "https://evil.example"), 403, "another origin"},
		{"cross-site", append(good, "Sec-Fetch-Site", "cross-site"), 403, "another site"},
		{"own origin", append(good, "Origin", url), 200, ""},
		{"allowed name", append(good, "Host", "GATEWAY.example.org"), 200, ""},
	} {
		status, body := fetch(t, url, "GET", "/v1/workspaces", "", c.header...)
		if status != c.status || !strings.Contains(body, c.body) {
			t.Errorf("%s: %d %s", c.what, status, body)
		}
		if c.status == 200 {
			continue
		}
		status, body = fetch(t, url, "GET", path, "", append(c.header, upgrade...)...)
		if status != c.status || !strings.Contains(body, c.body) {
			t.Errorf("WebSocket, %s: %d %s", c.what, status, body)
		}
	}
	if n := strings.Count(log.String(), "msg=refused"); n < 12 {
		t.Errorf("%d are logged", n)
	}
	if status, _ := fetch(t, url, "GET", "/v1/openapi.json", ""); status != 200 {
		t.Error(status)
	}
	if status, body := fetch(t, url, "GET", "/v1/workspaces", "", "Authorization", "Bearer host-a"); status != 403 || !strings.Contains(body, "not for the role agent") {
		t.Error(status, body)
	}
}

// The first frame must be a hello with a known version and a role that the token is for. Otherwise the answer says what is wrong.
// (FILE-3)
func TestBadHello(t *testing.T) {
	hub, _ := newHub(t, Config{})
	url := serveHub(t, hub)
	for _, c := range []struct{ token, frame, code, message string }{
		{"agent-a", `{"type":"hello","version":2,"role":"agent"}`, wire.Unsupported, "version 2"},
		{"agent-a", `{"type":"hello","version":1,"role":"boss"}`, wire.Unsupported, "unknown role"},
		{"agent-a", `{"type":"hello","version":1,"role":"host","workspace":"w"}`, wire.Forbidden, "not for the role host"},
		{"host-a", `{"type":"hello","version":1,"role":"host"}`, wire.Malformed, "names its workspace"},
		{"host-a", `{"type":"hello","version":1,"role":"host","workspace":"../w"}`, wire.Malformed, "names its workspace"},
		{"agent-a", `{"type":"hello","version":1,"role":"agent","session":"a/b"}`, wire.Malformed, "a session is named"},
		{"agent-a", `{"type":"cancel","call_id":"1"}`, wire.Malformed, "must be hello, not cancel"},
		{"agent-a", `{"type":"hullo"}`, wire.Malformed, "unknown type"},
		{"agent-a", `hello`, wire.Malformed, "another kind"},
	} {
		r := dialRaw(t, url, c.token)
		if err := r.c.write(wire.Encoded{Head: []byte(c.frame)}); err != nil {
			t.Fatal(err)
		}
		if e := want[*wire.Error](r); e.Code != c.code || !strings.Contains(e.Message, c.message) {
			t.Errorf("%s: %+v", c.frame, e)
		}
		if _, err := r.c.read(); websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
			t.Errorf("%s: %v", c.frame, err)
		}
	}
}

// A malformed frame is answered and the connection stays. A frame that is too large ends the connection with the reason. (FILE-3)
func TestBadFrames(t *testing.T) {
	hub, _ := newHub(t, Config{Limits: Limits{Frame: 10_000}})
	url := serveHub(t, hub)
	r := dialRaw(t, url, "agent-a")
	if h := r.hello(wire.Hello{Role: wire.Agent}); h.Limits.FrameBytes != 10_000 || h.Session == "" {
		t.Errorf("%+v", h)
	}
	for _, c := range []struct{ frame, message string }{
		{`{`, "unexpected end"},
		{`{"type":"tool_call","call_id":"7"}`, "tool_name is missing"},
		{`{"type":"tool_result","call_id":"7","error":"x"}`, "not for an agent to send"},
		{`{"type":"cancel","call_id":"7"}`, "no such call"},
	} {
		if err := r.c.write(wire.Encoded{Head: []byte(c.frame)}); err != nil {
			t.Fatal(err)
		}
		if e := want[*wire.Error](r); !strings.Contains(e.Message, c.message) || len(c.frame) > 1 && e.CallID != "7" {
			t.Errorf("%s: %+v", c.frame, e)
		}
	}
	r.send(&wire.ToolCall{CallID: "8", ToolName: "x", Arguments: json.RawMessage(`{"a":"` + strings.Repeat("x", 10_000) + `"}`)})
	if _, err := r.c.read(); websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
		t.Error(err)
	}
	r = dialRaw(t, url, "agent-a")
	r.hello(wire.Hello{Role: wire.Agent})
	for range maxMalformed + 1 {
		_ = r.c.write(wire.Encoded{Head: []byte(`{}`)}) // this frame exceeds the limit and ends the connection
	}
	for {
		if _, err := r.c.read(); err != nil {
			if websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
				t.Error(err)
			}
			break
		}
	}
}

// A client that is disconnected receives the code. It connects again unless the code is final.
func TestReasonOfTheEnd(t *testing.T) {
	for _, c := range []struct {
		reason, code, words string
		final               bool
	}{
		{codeTaken + ": another: one", codeTaken, "another: one", true},
		{"host_unavailable: it ends", "host_unavailable", "it ends", false},
		{"in words", wire.Forbidden, "in words", true},
	} {
		err := fmt.Errorf("read: %w", websocket.CloseError{Code: websocket.StatusPolicyViolation, Reason: c.reason})
		if e := saidAtEnd(err); e == nil || e.Code != c.code || e.Message != c.words || isFinal(err) != c.final {
			t.Errorf("%s: %+v %v", c.reason, e, isFinal(err))
		}
	}
	if err := (websocket.CloseError{Code: websocket.StatusGoingAway, Reason: codeTaken + ": x"}); saidAtEnd(err) != nil || isFinal(err) {
		t.Error("going away is for good")
	}
}

// Revoking a token ends the connections made with it. The client does not connect again.
func TestRevoked(t *testing.T) {
	authority := &testAuthority{}
	hub, _ := newHub(t, Config{Authority: authority})
	url := serveHub(t, hub)
	h := &Host{Dial: Dial{URL: url, Token: "host-a"}, Workspace: "w", Caller: echo("{}")}
	ended := make(chan error, 1)
	go func() { ended <- h.Run(context.Background()) }()
	dialAgent(t, url, "w")
	authority.revoke("host-a")
	if err := <-ended; err == nil {
		t.Error("it ended without an error")
	}
}

// Two hosts of one workspace, at one hub and at two hubs of one bus: with the same token the newer host gets the workspace, with
// different tokens the older host keeps it.
func TestTwoHosts(t *testing.T) {
	t.Run("one hub", func(t *testing.T) {
		hub, _ := newHub(t, Config{Limits: Limits{Rate: -1}})
		url := serveHub(t, hub)
		testTwoHosts(t, url, url)
	})
	t.Run("two hubs", func(t *testing.T) {
		bus := new(Local)
		one, _ := newHub(t, Config{Limits: Limits{Rate: -1}, Bus: bus})
		two, _ := newHub(t, Config{Limits: Limits{Rate: -1}, Bus: bus})
		testTwoHosts(t, serveHub(t, one), serveHub(t, two))
	})
}

func testTwoHosts(t *testing.T, url, there string) {
	first := &Host{Dial: Dial{URL: url, Token: "host-a"}, Workspace: "w", Caller: echo(`{"host":1}`)}
	ended := make(chan error, 1)
	go func() { ended <- first.Run(context.Background()) }()
	agent := dialAgent(t, url, "w")
	other := &Host{Dial: Dial{URL: there, Token: "host-b"}, Workspace: "w", Caller: echo("{}")}
	var refused *wire.Error
	if err := other.Run(context.Background()); !errors.As(err, &refused) || refused.Code != codeTaken {
		t.Error(err)
	}
	if r := mustCall(t, agent, "read_file", "{}"); r.Text != `{"host":1}` {
		t.Error(r)
	}
	runHost(t, there, "w", echo(`{"host":2}`))
	if err := <-ended; !errors.As(err, &refused) || refused.Code != codeTaken || err.Error() != "the gateway refuses: another host with the same token has taken the workspace over" {
		t.Error(err)
	}
	for { // wait until the workspace has its host
		r, err := agent.Call(t.Context(), tool.Call{Name: "read_file", Arguments: []byte("{}")})
		if err == nil && r.Text == `{"host":2}` {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// The number of connections and the time until the first frame are limited.
func TestConnectionLimits(t *testing.T) {
	hub, _ := newHub(t, Config{Limits: Limits{Connections: 2}})
	url := serveHub(t, hub)
	a, b := dialRaw(t, url, "agent-a"), dialRaw(t, url, "agent-a")
	if _, err := (Dial{URL: url, Token: "agent-a"}).dial(context.Background()); err == nil || isFinal(err) {
		t.Error(err)
	}
	a.c.abort()
	b.c.abort()
	bubble(t, Config{}, func(t *testing.T, h *Hub, _ *logged) {
		r := join(t, h, "agent-a")
		began := time.Now()
		if _, err := r.c.read(); err == nil || time.Since(began) != helloTime {
			t.Error(err, time.Since(began))
		}
	})
}

// A browser sends its token as a subprotocol.
func TestTokenAsSubprotocol(t *testing.T) {
	hub, _ := newHub(t, Config{})
	url := serveHub(t, hub)
	ws, _, err := websocket.Dial(context.Background(), url+path, &websocket.DialOptions{Subprotocols: []string{subprotocol, tokenPrefix + "agent-a"}})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	if ws.Subprotocol() != subprotocol {
		t.Errorf("%q", ws.Subprotocol())
	}
	if err := ws.Write(ctx, websocket.MessageText, []byte(`{"type":"hello","version":1,"role":"agent"}`)); err != nil {
		t.Fatal(err)
	}
	if _, b, err := ws.Read(ctx); err != nil || !strings.HasPrefix(string(b), `{"type":"hello",`) {
		t.Errorf("%s %v", b, err)
	}
}

// A session is resumed only with its own token.
func TestResumeNeedsTheSameToken(t *testing.T) {
	hub, _ := newHub(t, Config{})
	url := serveHub(t, hub)
	r := dialRaw(t, url, "agent-a")
	first := r.hello(wire.Hello{Role: wire.Agent, Capabilities: []string{wire.CanResume}})
	if first.Resume == "" {
		t.Fatal("it cannot be resumed")
	}
	if h := dialRaw(t, url, "agent-b").hello(wire.Hello{Role: wire.Agent, Resume: first.Resume}); h.Resumed {
		t.Error("somebody else resumed it")
	}
	again := dialRaw(t, url, "agent-a") // while the first connection is open
	if h := again.hello(wire.Hello{Role: wire.Agent, Capabilities: []string{wire.CanResume}, Resume: first.Resume}); !h.Resumed || h.Session != first.Session {
		t.Errorf("%+v", h)
	}
	if h := dialRaw(t, url, "agent-a").hello(wire.Hello{Role: wire.Agent, Resume: first.Resume, Received: 99}); h.Resumed {
		t.Error("it was resumed although the client acknowledged frames that were not sent")
	}
}

// A connection that sends other bytes than a WebSocket ends without a panic.
func TestNoise(t *testing.T) {
	hub, _ := newHub(t, Config{})
	url := serveHub(t, hub)
	for _, noise := range []string{"\x00\xff", "GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer agent-a\r\n\r\n", "\r\n\r\n"} {
		c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(c, noise)
		_ = c.(*net.TCPConn).CloseWrite()
		_, _ = bufio.NewReader(c).ReadString('\n')
		_ = c.Close()
	}
}
