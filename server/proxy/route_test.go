package proxy

import (
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stet-dev/stet/llm"
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
		{"https://host/backend-api/codex", "/v1/responses", "https://host/backend-api/codex/responses"},
		{"https://host/backend-api/codex/", "/v1/responses/compact", "https://host/backend-api/codex/responses/compact"},
		{"https://host/v1", "/v1-x/models", "https://host/v1/v1-x/models"},
		{"https://host/v1", "/v1beta/models", "https://host/v1beta/models"},
		{"https://host/v1", "/v1beta1/projects/p", "https://host/v1beta1/projects/p"},
		{"https://host/v1beta", "/v1beta/models/m:countTokens?key=k", "https://host/v1beta/models/m:countTokens?key=k"},
		{"https://host/v1alpha", "/v1/models/m:countTokens", "https://host/v1alpha/models/m:countTokens"},
		{"https://host", "/v1beta/models/m:generateContent", "https://host/v1beta/models/m:generateContent"},
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

// WIRE-6: a request goes to the provider of its API, or nowhere.
func TestEndpoints(t *testing.T) {
	e, err := endpointsOf(llm.Upstreams{llm.Messages: "http://messages", llm.Chat: "http://chat", llm.Responses: "http://responses", llm.Gemini: "http://gemini"})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ method, path, header, api, host string }{
		{"POST", "/v1/messages", "", llm.Messages, "messages"},
		{"POST", "/messages", "", llm.Messages, "messages"},
		{"POST", "/v1/messages/count_tokens", "", record.CountTokens, "messages"},
		{"POST", "/v1/chat/completions", "X-Api-Key", llm.Chat, "chat"},
		{"POST", "/v1/responses", "", llm.Responses, "responses"},
		{"GET", "/v1/responses", "", other, "responses"},
		{"POST", "/v1/responses/compact", "", llm.Responses, "responses"},
		{"GET", "/v1/responses/compact", "", other, "responses"},
		{"POST", "/v1/threads/t/messages", "", other, "chat"},
		{"POST", "/v1/messages/", "", other, "messages"},
		{"POST", "/v1messages", "", other, ""},
		{"GET", "/api/hello", "", other, "messages"},
		{"POST", "/api/oauth/token", "", other, "messages"},
		{"POST", "/v1/embeddings", "", other, "chat"},
		{"POST", "/v1/embeddings", "X-Goog-Api-Key", other, "gemini"},
		{"POST", "/v1/embeddings", "Api-Key", other, ""},
		{"GET", "/v1/models?key=secret", "", other, "gemini"},
		{"POST", "/v1beta/models/gemini-3-pro:generateContent", "X-Goog-Api-Key", llm.Gemini, "gemini"},
		{"POST", "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse&key=secret", "", llm.Gemini, "gemini"},
		{"POST", "/v1/models/gemini-3-pro:generateContent", "Authorization", llm.Gemini, "gemini"},
		{"POST", "/v1beta/models/gemini-3-pro:countTokens", "", record.CountTokens, "gemini"},
		{"GET", "/v1beta/models/gemini-3-pro:generateContent", "", other, "gemini"},
		{"POST", "/v1beta/models/gemini-embedding:embedContent", "", other, "gemini"},
		{"GET", "/v1beta/models", "", other, "gemini"},
		{"POST", "/v1beta/openai/chat/completions", "", other, "gemini"},
		{"POST", "/v1beta/cachedContents", "", other, "gemini"},
		{"POST", "/upload/v1beta/files", "", other, "gemini"},
		{"POST", "/v1internal:streamGenerateContent?alt=sse", "Authorization", other, "gemini"},
		{"POST", "/v1beta1/projects/p/locations/global/publishers/google/models/gemini-3-pro:generateContent", "Authorization", llm.Gemini, "aiplatform.googleapis.com"},
		{"POST", "/v1/projects/p/locations/us-east5/publishers/google/models/gemini-3-pro:countTokens", "", record.CountTokens, "us-east5-aiplatform.googleapis.com"},
		{"POST", "/v1/publishers/google/models/gemini-3-pro:streamGenerateContent", "X-Goog-Api-Key", llm.Gemini, "aiplatform.googleapis.com"},
		{"POST", "/v1beta1/projects/p/locations/evil.example/publishers/google/models/m:generateContent", "", other, ""},
		{"POST", "/model/anthropic.claude-opus-4-6-v1:0/invoke", "Authorization", other, ""},
		{"POST", "/model/anthropic.claude-opus-4-6-v1:0/invoke", "X-Api-Key", other, ""},
		{"GET", "/inference-profiles?type=SYSTEM_DEFINED", "Authorization", other, ""},
		{"POST", "/v1/projects/p/locations/us-east5/publishers/anthropic/models/claude-opus-5-5:rawPredict", "Authorization", llm.Messages, "us-east5-aiplatform.googleapis.com"},
		{"POST", "/projects/p/locations/global/publishers/anthropic/models/claude-opus-4-5@20251101:streamRawPredict", "", llm.Messages, "aiplatform.googleapis.com"},
		{"POST", "/v1/projects/p/locations/eu/publishers/anthropic/models/count-tokens:rawPredict", "", record.CountTokens, "aiplatform.eu.rep.googleapis.com"},
		{"GET", "/v1/projects/p/locations/eu/publishers/anthropic/models/claude-opus-5-5", "", other, "aiplatform.eu.rep.googleapis.com"},
		{"POST", "/v1/projects/p/locations/us/publishers/google/models/gemini-3-pro:generateContent", "X-Goog-Api-Key", llm.Gemini, "aiplatform.us.rep.googleapis.com"},
		{"POST", "/v1/projects/p/locations/evil.example/publishers/anthropic/models/m:rawPredict", "", other, ""},
		{"POST", "/v1/projects/p/locations/evil.example%2F/publishers/anthropic/models/m:rawPredict", "", other, ""},
		{"POST", "/v1/projects/p", "", other, ""},
		{"POST", "/anthropic/v1/messages?beta=true", "X-Api-Key", llm.Messages, ""},
		{"POST", "//v1/messages", "", llm.Messages, "messages"},
		{"POST", "/v1//chat/completions", "", llm.Chat, "chat"},
		{"POST", "/openai/deployments/d/chat/completions", "Api-Key", llm.Chat, ""},
		{"GET", "/v1/models", "", other, "chat"},
		{"GET", "/v1/models", "Anthropic-Version", other, "messages"},
		{"GET", "/v1/models", "X-Api-Key", other, "messages"},
		{"POST", "/v1/files", "X-Api-Key", other, "messages"},
		{"GET", "/v1/models", "Authorization", other, "chat"},
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
	if e, err = endpointsOf(llm.Upstreams{
		llm.Messages: "http://messages", llm.Chat: "http://chat", llm.Responses: "http://responses",
		llm.Vertex: "http://vertex/v1", llm.Azure: "http://azure/openai/v1/", llm.Bedrock: "http://bedrock",
	}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ method, path, api, model, goes string }{
		{
			"POST", "/v1/projects/p/locations/us-east5/publishers/anthropic/models/claude-opus-4-5@20251101:streamRawPredict", llm.Messages, "claude-opus-4-5@20251101",
			"http://vertex/v1/projects/p/locations/us-east5/publishers/anthropic/models/claude-opus-4-5@20251101:streamRawPredict",
		},
		{
			"POST", "/projects/p/locations/eu/publishers/anthropic/models/count-tokens:rawPredict", record.CountTokens, "",
			"http://vertex/v1/projects/p/locations/eu/publishers/anthropic/models/count-tokens:rawPredict",
		},
		{"POST", "/anthropic/v1/messages?beta=true", llm.Messages, "", "http://azure/anthropic/v1/messages?beta=true"},
		{"POST", "/anthropic/v1/messages/count_tokens", record.CountTokens, "", "http://azure/anthropic/v1/messages/count_tokens"},
		{"GET", "/anthropic/v1/models", other, "", "http://azure/anthropic/v1/models"},
		{"POST", "/openai/deployments/d/chat/completions?api-version=2024-10-21", llm.Chat, "d", "http://azure/openai/deployments/d/chat/completions?api-version=2024-10-21"},
		{"POST", "/openai/deployments/d/embeddings?api-version=2024-10-21", other, "", "http://azure/openai/deployments/d/embeddings?api-version=2024-10-21"},
		{"POST", "/openai/v1/chat/completions", llm.Chat, "", "http://azure/openai/v1/chat/completions"},
		{"POST", "/openai/v1/responses?api-version=preview", llm.Responses, "", "http://azure/openai/v1/responses?api-version=preview"},
		{"POST", "/openai/responses?api-version=2025-04-01-preview", llm.Responses, "", "http://azure/openai/responses?api-version=2025-04-01-preview"},
		{"GET", "/openai/v1/responses/r", other, "", "http://azure/openai/v1/responses/r"},
		{"POST", "/model/anthropic.claude-opus-4-6-v1%3A0/invoke-with-response-stream", other, "", "http://bedrock/model/anthropic.claude-opus-4-6-v1%3A0/invoke-with-response-stream"},
	} {
		r := httptest.NewRequest(test.method, test.path, nil)
		r.Header.Set("Api-Key", "x")
		got := e.of(r)
		if got.upstream == nil {
			t.Errorf("%s goes nowhere", test.path)
			continue
		}
		asked := []string{got.api, got.model, join(got.upstream, r.URL).String()}
		if diff := cmp.Diff([]string{test.api, test.model, test.goes}, asked); diff != "" {
			t.Errorf("%s %s: %s", test.method, test.path, diff)
		}
	}
	for path, want := range map[string]string{
		"/v1/messages": llm.Messages, "/v1/messages/batches": llm.Messages, "/": llm.Messages, "/v1/": other, "/v1": other, "/v1/chat/completions": llm.Chat,
		"/v1/responses/r": llm.Responses, "/v1beta/models": llm.Gemini, "/anthropic/v1/models": llm.Messages, "/openai/v1/models": other,
		"/v1/projects/p/locations/eu/publishers/anthropic/models/m": llm.Gemini,
	} {
		if got := e.of(httptest.NewRequest("GET", path, nil)); got.api != other || got.format() != want {
			t.Errorf("GET %s: %s in the format of %s, want %s", path, got.api, got.format(), want)
		}
	}
	for base, want := range map[string]string{
		"https://r.azure.test/": "https://r.azure.test", "https://r.azure.test/openai/v1/?api-version=1": "https://r.azure.test?api-version=1", "https://r.azure.test/anthropic?a=b": "https://r.azure.test?a=b",
	} {
		if got := azureResource(base); got != want {
			t.Errorf("%s: %s", base, got)
		}
	}
	if e, err = endpointsOf(llm.Upstreams{llm.Messages: "http://one/a", llm.Chat: "http://one/b", llm.Responses: "http://one/b"}); err != nil {
		t.Fatal(err)
	}
	if got := e.of(httptest.NewRequest("POST", "/tokenize", nil)); got.upstream == nil || got.upstream.String() != "http://one/b" {
		t.Errorf("of one provider: %+v", got)
	}
}
