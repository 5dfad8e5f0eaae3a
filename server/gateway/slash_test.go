package gateway

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// Escaped slashes that are part of a name stay.
func TestOneSlash(t *testing.T) {
	mux := http.NewServeMux()
	var name string
	mux.HandleFunc("GET /v1/sessions/{session}/tools", func(_ http.ResponseWriter, r *http.Request) {
		name = r.PathValue("session")
	})
	for path, want := range map[string]string{
		"/v1/sessions/s/tools":                "s",
		"//v1///sessions/s//tools":            "s",
		"/v1/sessions/a%2F%2Fb/tools":         "a//b",
		"/v1/sessions/%2Fa/tools":             "/a",
		"//v1/sessions/%2F%2F/tools?to=x//y":  "//",
		"/v1//sessions/%e2%9c%93%20%27/tools": "✓ '",
	} {
		name = ""
		w := httptest.NewRecorder()
		OneSlash(mux).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != http.StatusOK || name != want {
			t.Errorf("%s: %d, session %q, want %q", path, w.Code, name, want)
		}
	}
}
