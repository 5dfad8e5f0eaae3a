package llmtest_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm/llmtest"
)

// A provider plays its hosts alone, keeps what they are asked, and leads to loopback.
func TestProvider(t *testing.T) {
	p, err := llmtest.StartProvider(llmtest.Config{}, "api.example.com", "api.example.org")
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: p.Transport()}
	for range 2 {
		resp, err := client.Post("https://api.example.org/v1/messages", "application/json", strings.NewReader(
			`{"model":"m","max_tokens":10,"messages":[{"role":"user","content":"what is here?"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(resp.Body)
		if err != nil || !strings.Contains(string(answer), "Done.") {
			t.Fatalf("%v: %s", err, answer)
		}
		_ = resp.Body.Close()
	}
	if got := p.Model.Requests(); len(got) != 2 || got[1].Wire != "messages" {
		t.Errorf("%+v", got)
	}
	for _, address := range []string{"https://example.net/", "https://api.example.com:8443/", "http://api.example.com/v1/messages"} {
		if resp, err := client.Get(address); err == nil {
			if _ = resp.Body.Close(); resp.StatusCode != http.StatusForbidden {
				t.Errorf("%s: %s", address, resp.Status)
			}
		}
	}
	near := httptest.NewTLSServer(http.NotFoundHandler())
	defer near.Close()
	front, err := url.Parse(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	through := near.Client()
	through.Transport.(*http.Transport).Proxy = http.ProxyURL(front)
	resp, err := through.Get(near.URL)
	if err != nil {
		t.Fatal(err)
	}
	if _ = resp.Body.Close(); resp.StatusCode != http.StatusNotFound {
		t.Error(resp.Status)
	}
	client.CloseIdleConnections()
	through.CloseIdleConnections()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}
