package proxy

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/stet-dev/stet/llm/gemini"
)

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
