package proxy_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/server/proxy"
	"github.com/stet-dev/stet/trim"
)

func TestHosts(t *testing.T) {
	up := &recorder{}
	r := newRig(t, up, func(c *proxy.Config) { c.AllowedHosts = []string{"stet.example", "10.0.0.5:8080"} })
	for host, want := range map[string]int{
		"127.0.0.1": 200, "127.0.0.1:99": 200, "localhost": 200, "LOCALHOST:7": 200, "[::1]": 200, "[::1]:7": 200,
		"127.0.0.2:8080": 200, "127.255.1.9": 200, "[::ffff:127.0.0.1]:7": 200, // loopback addresses that a server can listen on
		"128.0.0.1": 403, "127.0.0.1.": 403, "[::2]": 403, "127.1": 403,
		"stet.example": 200, "Stet.Example:443": 200, "10.0.0.5:8080": 200,
		"10.0.0.5": 403, "evil.example": 403, "127.0.0.1.evil.example": 403, "localhost.evil.example:80": 403,
		"0.0.0.0": 403, "evil.example:127.0.0.1": 403, "stet.example.evil": 403,
	} {
		for _, path := range []string{"/v1/models", "/metrics", "/healthz"} {
			status, _, answer := r.do("GET", path, nil, "Host", host)
			if status != want || want == 403 && !strings.Contains(answer, "not allowed") {
				t.Errorf("%s at %q: %d %s", path, host, status, answer)
			}
		}
	}
}

func TestOrigins(t *testing.T) {
	up := &recorder{}
	r := newRig(t, up)
	own := strings.TrimPrefix(r.url, "http://")
	for _, test := range []struct {
		header, value string
		want          int
	}{
		{"Origin", "http://" + own, 200},
		{"Origin", "http://localhost:1", 403},
		{"Origin", "https://evil.example", 403},
		{"Origin", "null", 403},
		{"Origin", "://", 403},
		{"Sec-Fetch-Site", "cross-site", 403},
		{"Sec-Fetch-Site", "same-site", 403},
		{"Sec-Fetch-Site", "same-origin", 200},
		{"Sec-Fetch-Mode", "cors", 200}, // Node's fetch sends it
	} {
		before := up.count()
		status, _, answer := r.do("POST", apis[0].path, strings.NewReader(apis[0].body), test.header, test.value)
		if status != test.want || (up.count() > before) != (test.want == 200) {
			t.Errorf("%s: %s: %d %s", test.header, test.value, status, answer)
		}
		if status == 403 && !strings.Contains(answer, `"permission_error"`) {
			t.Errorf("shape: %s", answer)
		}
	}
}

func TestOwnEndpoints(t *testing.T) {
	up := &recorder{}
	r := newRig(t, up)
	for _, path := range []string{"/healthz", "/readyz"} {
		if status, _, answer := r.do("GET", path, nil); status != 200 || answer != "ok\n" {
			t.Errorf("%s: %d %s", path, status, answer)
		}
	}
	if up.count() != 0 {
		t.Error("the upstream was asked")
	}
	if status, answer := r.post("/healthz", "x"); status != 200 || answer != "{}" {
		t.Errorf("a POST goes upstream: %d %s", status, answer)
	}
	r.close()
	if status, _, answer := r.do("GET", "/readyz", nil); status != http.StatusServiceUnavailable || answer != "closing\n" {
		t.Errorf("after Close: %d %s", status, answer)
	}
	if status, _, _ := r.do("GET", "/healthz", nil); status != 200 {
		t.Errorf("after Close: healthz %d", status)
	}
}

func TestBadConfig(t *testing.T) {
	for says, c := range map[string]proxy.Config{
		"unknown policy":    {History: trim.Config{Policy: "all"}},
		"unknown placehold": {History: trim.Config{Language: "xx"}},
		"upstream for chat": {Upstreams: llm.Upstreams{llm.Chat: "host/v1"}},
		"is not a URL":      {Upstreams: llm.Upstreams{llm.Messages: "http://me:secret@ho st%zz"}},
		"http:// or https":  {Upstreams: llm.Upstreams{llm.Responses: "ftp://me:secret@host"}},
		"user name in it":   {Upstreams: llm.Upstreams{llm.Messages: "https://me:secret@host"}},
	} {
		p, err := proxy.New(c)
		if err == nil || p != nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("want %q, got %v", says, err)
		}
	}
}
