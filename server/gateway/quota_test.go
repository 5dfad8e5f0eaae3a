package gateway

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// A quota counts requests in a minute and unanswered bytes, for each token. Refused requests do not count.
func TestQuotas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &Quotas{Usual: Quota{PerMinute: 2}}
		a, b := Identity{ID: "a", Quota: Quota{PerMinute: 4, Bytes: 100}}, Identity{ID: "b"}
		take := func(who Identity, n int64) func() {
			t.Helper()
			release, err := q.Take(who, n)
			if err != nil {
				t.Fatal(err)
			}
			return release
		}
		refused := func(who Identity, n int64, wait time.Duration, status int, says string) {
			t.Helper()
			_, err := q.Take(who, n)
			var over *OverQuota
			if !errors.As(err, &over) || over.Wait != wait || over.Status() != status || !strings.Contains(over.Error(), says) {
				t.Fatalf("%+v", err)
			}
		}
		first := take(a, 60)
		refused(a, 41, bytesWait, 429, "quota is 100 bytes at once, and 60 are not answered yet")
		refused(a, 101, 0, 413, "has 101 bytes, and this token's quota is 100")
		second := take(a, 40)
		first()
		first() // further calls of release do nothing
		refused(a, 61, bytesWait, 429, "40 are not answered")
		take(a, 60)()
		second()
		take(a, 100)()
		refused(a, 0, time.Minute, 429, "quota is 4 requests a minute: try again in 60.0 s")
		time.Sleep(time.Minute)
		take(a, 1)()

		take(b, 1<<40)
		take(b, 1<<40)
		refused(b, 0, time.Minute, 429, "2 requests a minute")
		if _, err := new(Quotas).Take(b, 1<<40); err != nil {
			t.Error(err)
		}
	})
}

// Over HTTP the answer says when to retry. A body of unknown length counts as all bytes of the quota, and is cut at that length.
func TestQuotaOverHTTP(t *testing.T) {
	q := &Quotas{Usual: Quota{PerMinute: 100, Bytes: 1000}}
	who := Identity{ID: "a"}
	unknown := func(n int) *http.Request {
		r := httptest.NewRequest(http.MethodPost, "/", io.NopCloser(strings.NewReader(strings.Repeat("x", n))))
		r.ContentLength = -1
		return r
	}
	w, r := httptest.NewRecorder(), unknown(1001)
	release, over := q.Begin(w, r, who)
	if over != nil {
		t.Fatal(over)
	}
	if n, err := io.Copy(io.Discard, r.Body); n != 1000 || err == nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	if _, over := q.Begin(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader("x")), who); over == nil || w.Header().Get("Retry-After") != "1" {
		t.Errorf("%v, %v", over, w.Header())
	}
	release()
	w = httptest.NewRecorder()
	if _, over := q.Begin(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat("x", 1001))), who); over == nil || over.Status() != 413 || w.Header().Get("Retry-After") != "" {
		t.Errorf("%v, %v", over, w.Header())
	}
	release, over = q.Begin(w, httptest.NewRequest(http.MethodGet, "/", nil), who)
	if over != nil {
		t.Fatal(over)
	}
	release()
}

// limited is an authority whose tokens have a quota.
type limited struct {
	testAuthority
	quota Quota
}

func (l *limited) Identify(token string) (Identity, error) {
	who, err := l.testAuthority.Identify(token)
	who.Quota = l.quota
	return who, err
}

// Plain HTTP and a new WebSocket get status 429. A call over a WebSocket has the result rate_limited. Each answer names the limit.
func TestQuotaOfAHub(t *testing.T) {
	hub, _ := newHub(t, Config{Authority: &limited{quota: Quota{PerMinute: 3}}})
	url := serveHub(t, hub)
	host := dialRaw(t, url, "host-a")
	host.hello(wire.Hello{Role: wire.Host, Workspace: "w"})
	const says = "quota is 3 requests a minute"

	r := dialRaw(t, url, "agent-a")
	r.hello(wire.Hello{Role: wire.Agent})
	for i := range 3 {
		r.send(&wire.ToolCall{CallID: fmt.Sprint(i), ToolName: "read_file", Arguments: []byte(`{}`)})
	}
	for {
		if res, ok := r.next().(*wire.ToolResult); ok && !res.NeedsConfirmation {
			if res.CallID != "2" || res.Error != string(tool.RateLimited) || !strings.Contains(string(res.Result), says) {
				t.Errorf("%+v %s", res, res.Result)
			}
			break // the connection and two calls count as three; the host does not answer
		}
	}
	if status, body := fetch(t, url, "GET", "/v1/workspaces", "", "Authorization", "Bearer agent-a"); status != 429 || !strings.Contains(body, says) {
		t.Error(status, body)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/v1/connect", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer agent-a")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if after, err := strconv.Atoi(res.Header.Get("Retry-After")); res.StatusCode != 429 || err != nil || after < 1 || after > 60 {
		t.Errorf("%s, %v", res.Status, res.Header)
	}
	if status, body := fetch(t, url, "GET", "/v1/workspaces", "", "Authorization", "Bearer agent-b"); status != 200 {
		t.Error("another token:", status, body)
	}
}

// The bytes of a call count until it has ended, even if its request was answered before.
func TestQuotaOfACallThatGoesOn(t *testing.T) {
	hub, _ := newHub(t, Config{Authority: &limited{quota: Quota{Bytes: 1000}}})
	url := serveHub(t, hub)
	host := dialRaw(t, url, "host-a")
	host.hello(wire.Hello{Role: wire.Host, Workspace: "w"})
	body := `{"path":"` + strings.Repeat("x", 700) + `"}`
	call := func(id string) (int, string) {
		return fetch(t, url, "POST", "/v1/sessions/s/tools/read_file?wait=0&call_id="+id, body, "Authorization", "Bearer agent-a")
	}
	if status, text := call("one"); status != 202 {
		t.Fatal(status, text)
	}
	if status, text := call("two"); status != 429 || !strings.Contains(text, "are not answered yet") {
		t.Error("while the first goes on:", status, text)
	}
	if status, text := fetch(t, url, "DELETE", "/v1/sessions/s", "", "Authorization", "Bearer agent-a"); status != 204 {
		t.Fatal(status, text)
	}
	for { // the call ends shortly after
		status, text := call("three")
		if status == 202 {
			return
		}
		if status != 429 {
			t.Fatal(status, text)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
