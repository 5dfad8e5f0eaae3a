package web

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stet-dev/stet/record"
)

// A request is accepted only with its own proof, once. No cookie is set. (FILE-6)
func TestLogin(t *testing.T) {
	h, known := newRig(t)
	p := h.enter(t, "A")
	if me := get[Me](p, "/api/me"); me.Person != "desk" {
		t.Errorf("logged in as %q", me.Person)
	}
	other := h.enter(t, "B")
	used := p.request(t.Context(), http.MethodGet, "/api/me", nil, nil).Header.Get(proofHeader)
	proof := func(change func(parts []string)) func(*http.Request) {
		return func(r *http.Request) {
			parts := strings.Split(r.Header.Get(proofHeader), ".")
			change(parts)
			r.Header.Set(proofHeader, strings.Join(parts, "."))
		}
	}
	for name, change := range map[string]func(*http.Request){
		"no proof":            func(r *http.Request) { r.Header.Del(proofHeader) },
		"half a proof":        func(r *http.Request) { r.Header.Set(proofHeader, "x.1") },
		"of another path":     func(r *http.Request) { r.Header.Set(proofHeader, used) },
		"another number":      proof(func(p []string) { p[1] += "0" }),
		"another body's hash": proof(func(p []string) { p[2] = encode(make([]byte, 32)) }),
		"another MAC":         proof(func(p []string) { p[3] = encode(make([]byte, 32)) }),
		"another method":      func(r *http.Request) { r.Method = http.MethodHead },
		"another query":       func(r *http.Request) { r.URL.RawQuery = "x=1" },
		"a channel of no one": proof(func(p []string) { p[0] = "none" }),
		"another's channel": func(r *http.Request) {
			theirs := other.request(r.Context(), http.MethodGet, "/api/other", nil, nil).Header.Get(proofHeader)
			channel, _, _ := strings.Cut(theirs, ".")
			proof(func(p []string) { p[0] = channel })(r)
		},
		"the token as a cookie": func(r *http.Request) {
			r.Header.Del(proofHeader)
			r.AddCookie(&http.Cookie{Name: "stet", Value: "A"})
		},
	} {
		for _, path := range []string{"/api/events", "/api/questions", "/api/audit", "/api/sessions/x/export"} {
			if r := p.do(http.MethodGet, path, nil, change); r.StatusCode != http.StatusUnauthorized || len(r.Cookies()) > 0 {
				t.Errorf("%s: %s: %s", name, path, r.Status)
			}
		}
	}
	known.mu.Lock()
	delete(known.by, "A")
	known.mu.Unlock()
	if r := p.do(http.MethodGet, "/api/me", nil, nil); r.StatusCode != http.StatusUnauthorized {
		t.Errorf("a token that was revoked: %s", r.Status)
	}
	if err := p.Hello(t.Context()); err == nil || !strings.Contains(err.Error(), "the login has ended") {
		t.Errorf("a hello after that: %v", err)
	}
}

// A logout ends the login in every tab, with its streams and requests, and it opens no other channel. Other logins of the same person
// stay valid.
func TestLogout(t *testing.T) {
	h, _ := newRig(t)
	undoing := make(chan struct{}, 2)
	h.Undo = func(ctx context.Context, _ []record.Write, _, _ string) error {
		undoing <- struct{}{}
		<-ctx.Done()
		undoing <- struct{}{}
		return ctx.Err()
	}
	write := h.wrote(t, "s", "a.txt", "", "x")
	p, other := h.enter(t, "A"), h.enter(t, "A")
	before := p.request(t.Context(), http.MethodGet, "/api/me", nil, nil)
	get[Me](other, "/api/me")
	stream, err := http.DefaultClient.Do(p.request(t.Context(), http.MethodGet, "/api/events", nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	late := p.request(t.Context(), http.MethodPost, "/api/undo", Undo{Writes: []uint64{write}}, nil)
	go func() {
		if res, err := http.DefaultClient.Do(late); err == nil {
			_ = res.Body.Close()
		}
	}()
	<-undoing
	if err := p.Hello(t.Context()); err != nil { // another tab of the login
		t.Fatal(err)
	}
	p.post("/api/logout", struct{}{}, http.StatusOK)
	<-undoing
	if _, err := io.ReadAll(stream.Body); err != nil {
		t.Error(err)
	}
	if err := p.Hello(t.Context()); err == nil || !strings.Contains(err.Error(), "the login has ended") {
		t.Errorf("a hello after the logout: %v", err)
	}
	res, err := http.DefaultClient.Do(before)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusUnauthorized {
		t.Errorf("a channel of the login: %s", res.Status)
	}
	get[Me](other, "/api/me")
}

// A stream sends nothing more after the token was revoked.
func TestRevokedStream(t *testing.T) {
	h, known := newRig(t)
	p := h.enter(t, "A")
	res, err := http.DefaultClient.Do(p.request(t.Context(), http.MethodGet, "/api/events", nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	for line := ""; !strings.HasPrefix(line, "data: "); { // the open questions: none
		if line, err = lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	known.mu.Lock()
	delete(known.by, "A")
	known.mu.Unlock()
	h.ask(t, "s", "a.txt", "", "x\n")
	rest, err := io.ReadAll(lines)
	if err != nil || strings.Contains(string(rest), "a.txt") {
		t.Errorf("%q, %v", rest, err)
	}
}

// Every route but the login and the hello needs a person.
func TestNobody(t *testing.T) {
	h, _ := newRig(t)
	for path, body := range map[string]string{
		"/api/questions/x/answer": "{}", "/api/sessions/x/rewind": "{}", "/api/sessions/x/fork": "{}", "/api/sessions/x/compact": "{}", "/api/undo": "{}",
		"/api/audit/verify": "{}", "/api/suspended/lift": "{}", "/api/logout": "{}",
		"/api/login": `{"token":"C"}`, "/api/hello": `{"login":"x","nonce":"n","mac":"m"}`,
	} {
		r, err := http.Post(h.server.URL+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		if r.StatusCode != http.StatusUnauthorized || len(r.Cookies()) > 0 || r.Header.Get(proofHeader) != "" {
			t.Errorf("%s: %s", path, r.Status)
		}
	}
}

// Unknown hosts and other origins are refused.
func TestGuard(t *testing.T) {
	h, _ := newRig(t)
	port := h.server.URL[strings.LastIndexByte(h.server.URL, ':'):]
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	for name, c := range map[string]struct {
		change func(*http.Request)
		want   int
	}{
		"loopback":         {host("127.0.0.1" + port), 200},
		"localhost":        {host("LOCALHOST" + port), 200},
		"IPv6":             {host("[::1]" + port), 200},
		"a name of ours":   {host("box.example:99"), 200},
		"a rebound name":   {host("evil.example" + port), 403},
		"one that begins":  {host("localhost.evil.example"), 403},
		"one that ends":    {host("evil-box.example"), 403},
		"an empty one":     {host(":80"), 403},
		"another origin":   {func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }, 403},
		"another port":     {func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:1") }, 403},
		"a page elsewhere": {func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403},
		"a sibling":        {func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") }, 403},
	} {
		p := h.enter(t, "A")
		r := p.do(http.MethodPost, "/api/logout", struct{}{}, c.change)
		if r.StatusCode != c.want {
			t.Errorf("%s: %s, want %d", name, r.Status, c.want)
		}
		for head, says := range map[string][]string{
			"Content-Security-Policy": {
				"default-src 'none'", "script-src 'self';", "style-src 'self';", "connect-src 'self';", "base-uri 'none'", "form-action 'none'",
				"frame-ancestors 'none'", "require-trusted-types-for 'script'",
			},
			"X-Content-Type-Options": {"nosniff"}, "X-Frame-Options": {"DENY"}, "Referrer-Policy": {"no-referrer"},
			"Cross-Origin-Opener-Policy": {"same-origin"}, "Cross-Origin-Resource-Policy": {"same-origin"},
		} {
			for _, want := range says {
				if !strings.Contains(r.Header.Get(head), want) {
					t.Errorf("%s: %s is %q, without %q", name, head, r.Header.Get(head), want)
				}
			}
		}
	}
}
