package site

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// A request's address comes from the headers of trusted proxies. Headers of other clients are removed.
func TestForwarded(t *testing.T) {
	trusted, err := ParseProxies([]string{"10.0.0.0/8", "127.0.0.1", "2001:db8::1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what, peer, forwarded, from string
	}{
		{"no proxy", "192.0.2.1:5", "", "192.0.2.1:5"},
		{"a client's own words", "192.0.2.1:5", "198.51.100.7", "192.0.2.1:5"},
		{"a proxy of ours", "127.0.0.1:5", "198.51.100.7", "198.51.100.7:0"},
		{"two of ours", "127.0.0.1:5", "198.51.100.7, 10.1.2.3", "198.51.100.7:0"},
		{"what a client put before", "10.9.9.9:5", "203.0.113.1, 198.51.100.7, 10.1.2.3", "198.51.100.7:0"},
		{"a client that says it is ours", "10.9.9.9:5", "10.1.1.1, 198.51.100.7", "198.51.100.7:0"},
		{"ours alone", "10.9.9.9:5", "10.1.1.1, 10.1.2.3", "10.1.1.1:0"},
		{"IPv6", "[2001:db8::1]:5", "2001:db8::7", "[2001:db8::7]:0"},
		{"IPv6 in brackets", "[::ffff:127.0.0.1]:5", "[2001:db8::7]", "[2001:db8::7]:0"},
		{"another of its network", "[2001:db8::2]:5", "2001:db8::7", "[2001:db8::2]:5"},
		{"no usable address", "10.9.9.9:5", "unknown", "10.9.9.9:5"},
		{"no usable address at its end", "10.9.9.9:5", "198.51.100.7, _hidden", "10.9.9.9:5"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = c.peer
		for name, value := range map[string]string{
			"X-Forwarded-For": c.forwarded, "X-Forwarded-Proto": "https", "Forwarded": "for=198.51.100.7;proto=https", "X-Real-IP": "198.51.100.7",
			"X-Forwarded-Host": "evil.example",
		} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		trusted.after(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.RemoteAddr != c.from {
				t.Errorf("%s: from %s", c.what, r.RemoteAddr)
			}
			for _, name := range []string{"X-Forwarded-For", "Forwarded", "X-Real-Ip", "X-Forwarded-Host", "X-Forwarded-Proto"} {
				if v := r.Header.Get(name); v != "" {
					t.Errorf("%s: %s: %s", c.what, name, v)
				}
			}
		})).ServeHTTP(httptest.NewRecorder(), r)
		if r.RemoteAddr != c.peer {
			t.Errorf("%s: the request was changed", c.what)
		}
	}
	for _, bad := range []string{"", "here", "10.0.0.0/33", "10.0.0.1:80", "fe80::1%lo"} {
		if _, err := ParseProxies([]string{bad}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
