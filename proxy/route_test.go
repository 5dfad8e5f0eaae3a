package proxy

import (
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stet-dev/stet/record"
)

func TestJoin(t *testing.T) {
	for _, test := range []struct{ base, asked, want string }{
		{"https://host", "/v1/messages", "https://host/v1/messages"},
		{"https://host/", "/v1/messages?beta=true", "https://host/v1/messages?beta=true"},
		{"https://host/v1", "/v1/chat/completions", "https://host/v1/chat/completions"},
		{"https://host/v1/", "/v1/chat/completions", "https://host/v1/chat/completions"},
		{"https://host/v1", "/chat/completions", "https://host/v1/chat/completions"},
		{"https://host", "/chat/completions", "https://host/chat/completions"},
		{"https://host/some/prefix", "/v1/messages", "https://host/some/prefix/v1/messages"},
		{"https://host/some/prefix/v1", "/v1/messages", "https://host/some/prefix/v1/messages"},
		{"https://host/api/v4", "/v1/chat/completions", "https://host/api/v4/chat/completions"},
		{"https://host/v1beta", "/v1/responses", "https://host/v1beta/responses"},
		{"https://host/v1beta/compatible", "/chat/completions", "https://host/v1beta/compatible/chat/completions"},
		{"https://host/vision", "/v1/messages", "https://host/vision/v1/messages"},
		{"https://host/v1", "/v1", "https://host/v1"},
		{"https://host/v1", "/v1beta/models", "https://host/v1/v1beta/models"},
		{"https://host:8443/a%2Fb", "/v1/models/x%2Fy", "https://host:8443/a%2Fb/v1/models/x%2Fy"},
		{"https://host?api-version=1", "/v1/messages?beta=true", "https://host/v1/messages?api-version=1&beta=true"},
		{"https://host?api-version=1", "/v1/messages", "https://host/v1/messages?api-version=1"},
		{"https://host", "/a?x=%zz;&&y", "https://host/a?x=%zz;&&y"},
		{"https://host", "/", "https://host/"},
		{"https://host/p", "//double//slash", "https://host/p//double//slash"},
	} {
		base, err := parseBase(test.base)
		if err != nil {
			t.Fatal(err)
		}
		asked, err := url.ParseRequestURI(test.asked)
		if err != nil {
			t.Fatal(err)
		}
		if got := join(base, asked).String(); got != test.want {
			t.Errorf("%s + %s = %s, want %s", test.base, test.asked, got, test.want)
		}
	}
}

func TestVersioned(t *testing.T) {
	for base, want := range map[string]bool{
		"https://host/v1": true, "https://host/v1/": true, "https://host/api/v2beta//": true, "/v1": true, "https://host/v1?version=2": true,
		"": false, "https://host": false, "https://host/v": false, "https://host/v1/x": false, "https://host/x?y=/v1": false, "https://host/dev1": false,
	} {
		if got := Versioned(base); got != want {
			t.Errorf("%q: %v", base, got)
		}
	}
}

// WIRE-6: a request goes where its provider is, or nowhere.
func TestEndpoints(t *testing.T) {
	e, err := Upstreams{Messages: "http://messages", Chat: "http://chat", Responses: "http://responses"}.endpoints()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ method, path, header, api, host string }{
		{"POST", "/v1/messages", "", record.Messages, "messages"},
		{"POST", "/messages", "", record.Messages, "messages"},
		{"POST", "/v1/messages/count_tokens", "", record.CountTokens, "messages"},
		{"POST", "/v1/chat/completions", "X-Api-Key", record.Chat, "chat"},
		{"POST", "/v1/responses", "", record.Responses, "responses"},
		{"GET", "/v1/responses", "", other, "responses"},
		{"POST", "/v1/responses/compact", "", other, "responses"},
		{"POST", "/v1/threads/t/messages", "", other, "chat"},
		{"POST", "/v1/messages/", "", other, "messages"},
		{"POST", "/v1messages", "", other, ""},
		{"GET", "/api/hello", "", other, "messages"},
		{"POST", "/api/oauth/token", "", other, "messages"},
		{"POST", "/v1/embeddings", "", other, "chat"},
		{"POST", "/v1/embeddings", "X-Goog-Api-Key", other, ""},
		{"GET", "/v1/models?key=secret", "", other, ""},
		{"POST", "/v1beta/models/gemini-3-pro:generateContent", "X-Goog-Api-Key", other, ""},
		{"POST", "/v1beta/models/gemini-3-pro:generateContent?key=secret", "", other, ""},
		{"POST", "/v1beta/models/gemini-3-pro:generateContent", "Authorization", other, ""},
		{"POST", "/model/anthropic.claude-opus-4-6-v1:0/invoke", "Authorization", other, ""},
		{"POST", "/model/anthropic.claude-opus-4-6-v1:0/invoke", "X-Api-Key", other, ""},
		{"POST", "//v1/messages", "", record.Messages, "messages"},
		{"POST", "/v1//chat/completions", "", record.Chat, "chat"},
		{"POST", "/openai/deployments/d/chat/completions", "Api-Key", other, ""},
		{"GET", "/v1/models", "", other, "chat"},
		{"GET", "/v1/models", "Anthropic-Version", other, "messages"},
		{"HEAD", "/", "", other, "messages"},
	} {
		r := httptest.NewRequest(test.method, test.path, nil)
		if test.header != "" {
			r.Header.Set(test.header, "x")
		}
		got, host := e.of(r), ""
		if got.upstream != nil {
			host = got.upstream.Host
		}
		if got.api != test.api || host != test.host || (got.codec == nil) != (test.api == other) {
			t.Errorf("%s %s: %s at %q", test.method, test.path, got.api, host)
		}
	}
	if e, err = (Upstreams{Messages: "http://one/a", Chat: "http://one/b", Responses: "http://one/b"}).endpoints(); err != nil {
		t.Fatal(err)
	}
	if got := e.of(httptest.NewRequest("POST", "/tokenize", nil)); got.upstream == nil || got.upstream.String() != "http://one/b" {
		t.Errorf("of one provider: %+v", got)
	}
}
