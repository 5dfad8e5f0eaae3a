package proxy

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/gemini"
)

// Clouds that serve the models of other providers: Google's Vertex AI, Azure (with Foundry) and Amazon Bedrock.
// They use the same APIs under different paths.

var (
	vertexPath = regexp.MustCompile(`^/projects/[^/]+/locations/([a-z0-9-]+)/(.+)$`)
	// vertexMessages matches the path after the location. Vertex names the counting of tokens as if it were a model.
	vertexMessages  = regexp.MustCompile(`^publishers/anthropic/models/([^/:]+):(rawPredict|streamRawPredict)$`)
	azureDeployment = regexp.MustCompile(`^/openai/deployments/([^/]+)(/.*)$`)
)

// cloud returns the endpoint for a path of a cloud. path has no leading version. The result is false if no cloud has this path.
func (e *endpoints) cloud(method, path string) (endpoint, bool) {
	switch top, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/"); top {
	case "projects":
		return e.onVertex(method, path)
	case "publishers": // a request with an API key names no project
		return e.onVertex(method, "/projects/-/locations/global"+path)
	case "anthropic", "openai":
		return e.onAzure(method, path), true
	case "model", "async-invoke", "inference-profiles":
		return endpoint{api: other, upstream: e.bedrock, bedrock: true, unset: "upstream-bedrock"}, true
	}
	return endpoint{}, false
}

func (e *endpoints) onVertex(method, path string) (to endpoint, ok bool) {
	at := vertexPath.FindStringSubmatch(path)
	if at == nil {
		return endpoint{}, false
	}
	to = endpoint{api: other, speaks: llm.Gemini, upstream: e.vertex, regional: at[1] != "global"}
	if to.upstream == nil {
		to.upstream, to.owner, to.unset = vertexHost(at[1]), googleOwner, "upstream-vertex"
	}
	if method != http.MethodPost {
		return to, true
	}
	if rest, ok := strings.CutPrefix(at[2], "publishers/google/"); ok {
		if model, asked, ok := gemini.Address("/" + rest); ok {
			return to.with(e.asked(asked, model), model), true
		}
	}
	switch model := vertexMessages.FindStringSubmatch(at[2]); {
	case model == nil:
		return to, true
	case model[1] == "count-tokens":
		return to.with(e.count, ""), true
	default:
		return to.with(e.messages, model[1]), true
	}
}

// with returns the endpoint with another API. model is the model that the path names; empty: the path names none.
func (e endpoint) with(api endpoint, model string) endpoint {
	e.api, e.speaks, e.codec, e.compacts, e.model = api.api, api.speaks, api.codec, api.compacts, model
	return e
}

// vertexHost returns the base URL at which Google serves a location.
func vertexHost(location string) *url.URL {
	host := location + "-aiplatform.googleapis.com"
	switch location {
	case "global":
		host = "aiplatform.googleapis.com"
	case "us", "eu":
		host = "aiplatform." + location + ".rep.googleapis.com"
	}
	return &url.URL{Scheme: "https", Host: host, Path: "/v1"}
}

func (e *endpoints) onAzure(method, path string) endpoint {
	to := endpoint{api: other, upstream: e.azure, unset: "upstream-azure"}
	if strings.HasPrefix(path, "/anthropic/") {
		to.speaks = llm.Messages
	}
	if method != http.MethodPost {
		return to
	}
	if at := azureDeployment.FindStringSubmatch(path); at != nil && at[2] == "/chat/completions" {
		return to.with(e.chat, at[1])
	}
	switch path {
	case "/anthropic/v1/messages":
		return to.with(e.messages, "")
	case "/anthropic/v1/messages/count_tokens":
		return to.with(e.count, "")
	case "/openai/v1/chat/completions":
		return to.with(e.chat, "")
	case "/openai/v1/responses", "/openai/responses":
		return to.with(e.responses, "")
	case "/openai/v1/responses/compact", "/openai/responses/compact":
		return to.with(e.compact, "")
	}
	return to
}

// azureResource returns the base URL of an Azure resource. Azure shows the URL with the path of one API at its end; that is cut off.
func azureResource(base string) string {
	base, query, _ := strings.Cut(base, "?")
	base = strings.TrimRight(base, "/")
	for _, api := range []string{"/openai/v1", "/openai", "/anthropic/v1", "/anthropic"} {
		if rest, ok := strings.CutSuffix(base, api); ok {
			base = rest
			break
		}
	}
	if query != "" {
		base += "?" + query
	}
	return base
}

// signed reports whether the signature of a request covers its body and its Host.
func signed(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-")
}

// Paths of the Gemini API, on Google's own host and on Vertex AI. Their versions are v1 and its previews.

var preview = regexp.MustCompile(`^/v1(?:alpha|beta)[0-9]*(/.*)$`)

// google returns the endpoint for a path of Google. A leading /v1 may be missing. The result is false if the path is not one of Google's.
func (e *endpoints) google(method, path string) (endpoint, bool) {
	below := preview.FindStringSubmatch(path)
	if below != nil && onGoogleCloud(below[1]) {
		return e.cloud(method, below[1])
	}
	if model, asked, ok := gemini.Address(path); ok && method == http.MethodPost {
		return e.asked(asked, model), true
	}
	switch {
	case below != nil, strings.HasPrefix(path, "/upload/v1"):
		return pass(e.gemini), true
	case strings.HasPrefix(path, "/v1internal:"):
		return pass(e.codeAssist), true
	}
	return endpoint{}, false
}

func onGoogleCloud(path string) bool {
	return strings.HasPrefix(path, "/projects/") || strings.HasPrefix(path, "/publishers/")
}

// asked returns the endpoint for a method of a model.
func (e *endpoints) asked(method gemini.Method, model string) endpoint {
	to := e.gemini
	if method == gemini.CountTokens {
		to = e.geminiCount
	}
	to.model = model
	return to
}

// googleKey reports whether a request carries a key for Google, in a header or in the query.
func googleKey(r *http.Request) bool {
	return r.Header.Get("X-Goog-Api-Key") != "" || r.URL.Query().Has("key")
}
