package web

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
)

// A login takes both halves; neither is worth anything alone.
func TestLogin(t *testing.T) {
	h, known := newHouse(t)
	p := h.enter(t, "A")
	if me := get[Me](p, "/api/me"); me.Person != "desk" {
		t.Errorf("logged in as %q", me.Person)
	}
	if c := p.cookie; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/api/" || !strings.HasPrefix(c.Name, "stet-") {
		t.Errorf("cookie %v", c)
	}
	other := h.enter(t, "B")
	for name, change := range map[string]func(*http.Request){
		"no cookie":        func(r *http.Request) { r.Header.Del("Cookie") },
		"no key":           func(r *http.Request) { r.Header.Del(keyHeader) },
		"a key that is no": func(r *http.Request) { r.Header.Set(keyHeader, "x!") },
		"a short key":      func(r *http.Request) { r.Header.Set(keyHeader, "AAAA") },
		"another's key":    func(r *http.Request) { r.Header.Set(keyHeader, other.key) },
		"another's cookie": func(r *http.Request) {
			r.Header.Del("Cookie")
			r.AddCookie(other.cookie)
		},
		"the token as the cookie": func(r *http.Request) {
			r.Header.Del("Cookie")
			r.AddCookie(&http.Cookie{Name: p.cookie.Name, Value: "A"})
		},
	} {
		for _, path := range []string{"/api/me", "/api/events", "/api/questions", "/api/audit", "/api/sessions/x/export"} {
			if r := p.do(http.MethodGet, path, nil, change); r.StatusCode != http.StatusUnauthorized {
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
}

// A stream tells nothing more to who is not let in any more.
func TestRevokedStream(t *testing.T) {
	h, known := newHouse(t)
	p := h.enter(t, "A")
	res, err := http.DefaultClient.Do(p.request(t.Context(), http.MethodGet, "/api/events", nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	for line := ""; !strings.HasPrefix(line, "data: "); { // what is open: nothing
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

// Every route but the login needs a person.
func TestNobody(t *testing.T) {
	h, _ := newHouse(t)
	p := &page{t: t, base: h.server.URL}
	for _, path := range []string{
		"/api/questions/x/answer", "/api/sessions/x/rewind", "/api/sessions/x/fork", "/api/sessions/x/compact", "/api/undo",
		"/api/audit/verify", "/api/suspended/lift",
	} {
		if r := p.do(http.MethodPost, path, struct{}{}, nil); r.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %s", path, r.Status)
		}
	}
	if r := p.do(http.MethodPost, "/api/login", Login{"C"}, nil); r.StatusCode != http.StatusUnauthorized || len(r.Cookies()) > 0 {
		t.Errorf("a token that nobody has: %s", r.Status)
	}
}

// Hosts that are not ours, and other origins, are refused.
func TestGuard(t *testing.T) {
	h, _ := newHouse(t)
	p := h.enter(t, "A")
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
