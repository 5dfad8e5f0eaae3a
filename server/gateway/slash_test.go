package gateway

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
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

// A path or a method that is not served gets an error in the form of all others, which names the document of what there is.
func TestNothingThere(t *testing.T) {
	h := new(Hub)
	for _, c := range []struct {
		method, path string
		status       int
	}{{"GET", "/v1/nosuch", 404}, {"POST", "/v1/workspaces", 405}} {
		w := httptest.NewRecorder()
		h.Handler().ServeHTTP(w, httptest.NewRequest(c.method, "http://127.0.0.1"+c.path, nil))
		if w.Code != c.status || !json.Valid(w.Body.Bytes()) || !strings.Contains(w.Body.String(), "there is nothing at "+c.method+" "+c.path+"; GET /v1/openapi.json says what there is") {
			t.Errorf("%s %s: %d %s", c.method, c.path, w.Code, w.Body)
		}
	}
}
