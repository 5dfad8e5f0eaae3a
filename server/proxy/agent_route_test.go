package proxy_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/server/proxy"
)

// A request whose path names an agent goes to the upstream of that agent. It is shortened and recorded like other requests. If
// the agent is unknown or its upstream is not valid, the request goes nowhere.
func TestAgentRoute(t *testing.T) {
	var own, others recorder
	gateway := httptest.NewServer(&own)
	t.Cleanup(gateway.Close)
	r := newRig(t, &others, func(c *proxy.Config) {
		c.Agents = func(name string) (llm.Upstreams, error) {
			switch name {
			case "one":
				return llm.Upstreams{llm.Messages: gateway.URL + "/gate", llm.Chat: gateway.URL + "/gate/v1", llm.Responses: gateway.URL + "/back"}, nil
			case "odd":
				return llm.Upstreams{llm.Messages: "gateway"}, nil
			}
			return llm.Upstreams{}, errors.New("no such agent")
		}
	})
	for _, tt := range []struct {
		method, path string
		want         string // what the gateway must be asked for
		upgrade      []string
	}{
		{"POST", "/stet/one/v1/messages?beta=true", "/gate/v1/messages?beta=true", nil},
		{"POST", "/stet/one/v1/chat/completions", "/gate/v1/chat/completions", nil},
		{"POST", "/stet/one/responses", "/back/responses", nil},
		{"GET", "/stet/one/v1/models", "/gate/v1/models", nil},
		{"GET", "/stet/one/v1/files/a%2Fb", "/gate/v1/files/a%2Fb", nil},
		{
			"GET", "/stet/one/responses", "/back/responses",
			[]string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-Websocket-Version", "13", "Sec-Websocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="},
		},
	} {
		if status, _, answer := r.do(tt.method, tt.path, strings.NewReader(""), tt.upgrade...); status != http.StatusOK {
			t.Errorf("%s: %d %s", tt.path, status, answer)
		}
		if got := own.last(t); got.uri != tt.want || got.method != tt.method {
			t.Errorf("%s: the gateway is asked for %s %s, want %s", tt.path, got.method, got.uri, tt.want)
		}
	}
	for path, want := range map[string]string{
		"/stet/two/v1/messages": "no such agent", "/stet/": "no such agent", "/stet/odd/v1/messages": "upstream for messages",
	} {
		if status, _, answer := r.do("POST", path, strings.NewReader("{}")); status != http.StatusNotFound || !strings.Contains(answer, want) {
			t.Errorf("%s: %d %s", path, status, answer)
		}
	}
	if len(others.got) > 0 {
		t.Errorf("other upstreams were asked for %s", others.got[0].uri)
	}
	apis := map[string]int{}
	for _, row := range r.rows() {
		apis[row.API]++
	}
	if diff := cmp.Diff(map[string]int{"messages": 1, "chat": 1, "responses": 1}, apis); diff != "" {
		t.Error(diff)
	}
}
