package proxy

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
)

// WIRE-6: a key that says whose it is goes to no other provider's default server, on any path. A server that a person chose gets it.
func TestKeysStayWithTheirProvider(t *testing.T) {
	paths := []string{
		"POST /v1/messages", "POST /messages", "POST /v1/messages/count_tokens", "GET /v1/messages/batches", "POST /v1/chat/completions", "POST //v1//chat/completions", "GET /v1/chat/completions/x",
		"POST /v1/responses", "GET /v1/responses", "POST /v1/responses/compact", "GET /v1/models", "POST /v1/embeddings", "POST /v1/files", "GET /v1/realtime", "HEAD /", "GET /api/hello", "POST /tokenize",
		"POST /v1beta/models/m:generateContent", "POST /v1/models/m:countTokens", "GET /v1beta/models", "POST /v1internal:generateContent", "POST /upload/v1beta/files",
		"POST /v1/projects/p/locations/eu/publishers/anthropic/models/m:rawPredict", "POST /v1/publishers/google/models/m:generateContent", "GET /v1/projects/p/locations/us/x",
		"POST /anthropic/v1/messages", "POST /openai/v1/responses", "POST /model/m/invoke",
	}
	hosts := map[string]string{
		"api.anthropic.com": anthropicOwner, "api.openai.com": openaiOwner, "generativelanguage.googleapis.com": googleOwner, "cloudcode-pa.googleapis.com": googleOwner,
		"aiplatform.googleapis.com": googleOwner, "us-aiplatform.googleapis.com": googleOwner, "aiplatform.eu.rep.googleapis.com": googleOwner, "aiplatform.us.rep.googleapis.com": googleOwner,
	}
	ownAPIs := map[string]string{anthropicOwner: "POST /v1/messages", openaiOwner: "POST /v1/chat/completions", googleOwner: "POST /v1beta/models/m:generateContent"}
	for _, test := range []struct{ header, owner string }{
		{"Authorization: Bearer sk-ant-api03-x", anthropicOwner}, {"X-Api-Key: sk-ant-oat01-x", anthropicOwner}, {"x-api-key: anything", anthropicOwner}, {"Authorization: bearer  sk-ant-x", anthropicOwner},
		{"Api-Key: sk-ant-x", anthropicOwner}, {"Authorization: sk-ant-x", anthropicOwner},
		{"Authorization: Bearer sk-proj-x", openaiOwner}, {"Authorization: Bearer sk-svcacct-x", openaiOwner}, {"Authorization: Bearer sk-abcT3BlbkFJdef", openaiOwner}, {"X-Api-Key: sk-proj-x", openaiOwner},
		{"Sec-WebSocket-Protocol: realtime, openai-insecure-api-key.ek_x", openaiOwner},
		{"X-Goog-Api-Key: anything", googleOwner}, {"Authorization: Bearer AIzaSyx", googleOwner}, {"Authorization: Bearer ya29.x", googleOwner}, {"?key=anything", googleOwner},
		{"Authorization: Bearer sk-or-v1-x", "OpenRouter"}, {"Authorization: Bearer gsk_x", "Groq"}, {"Authorization: Bearer xai-x", "xAI"}, {"Authorization: Bearer gho_x", "GitHub"},
		{"Api-Key: anything", "Azure"}, {"Authorization: AWS4-HMAC-SHA256 Credential=x", "Amazon"}, {"Authorization: Bearer ABSKx", "Amazon"},
		{"Authorization: Bearer sk-anything", ""}, {"Authorization: Bearer eyJx", ""}, {"", ""},
	} {
		request := func(path string) *http.Request {
			method, path, _ := strings.Cut(path, " ")
			name, value, isHeader := strings.Cut(test.header, ": ")
			if !isHeader {
				path += name
			}
			r := httptest.NewRequest(method, path, nil)
			if isHeader {
				r.Header.Set(name, value)
			}
			return r
		}
		e, err := endpointsOf(llm.Upstreams{})
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			to := e.of(request(path))
			if to.upstream == nil {
				if path == ownAPIs[test.owner] || test.owner == "" && path == "POST /v1/messages" {
					t.Errorf("%s with %s goes nowhere", path, test.header)
				}
				continue
			}
			if goes, known := hosts[to.upstream.Host]; !known || test.owner != "" && goes != test.owner {
				t.Errorf("%s with %s goes to %s", path, test.header, to.upstream.Host)
			}
		}
		const own = "https://gateway.test"
		if e, err = endpointsOf(llm.Upstreams{llm.Messages: own, llm.Chat: own, llm.Responses: own, llm.Gemini: own, llm.Vertex: own, llm.Azure: own, llm.Bedrock: own}); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"POST /v1/messages", "POST /v1/chat/completions", "POST /v1/responses", "GET /v1/responses", "POST /v1beta/models/m:generateContent", "POST /openai/v1/responses"} {
			if to := e.of(request(path)); to.upstream == nil || to.upstream.Host != "gateway.test" {
				t.Errorf("%s with %s does not go to the gateway", path, test.header)
			}
		}
	}
}

// The refusal names the providers, and not the key.
func TestStrangeKeyIsRefused(t *testing.T) {
	p, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(t.Context())
	r := httptest.NewRequest(http.MethodPost, "http://localhost/v1/chat/completions", strings.NewReader("{}"))
	r.Header.Set("Authorization", "Bearer sk-ant-secret")
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	if body := w.Body.String(); w.Code != http.StatusNotFound || !strings.Contains(body, "a key of Anthropic") || !strings.Contains(body, "--upstream-chat") || strings.Contains(body, "secret") {
		t.Errorf("%d %s", w.Code, body)
	}
}
