package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A request below /p/ reaches the proxy as it is, with its body, also where its path has
// // in it, which a mux would send elsewhere.
func TestBesideProxy(t *testing.T) {
	var got string
	h := besideProxy(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = r.PathValue("token") + " " + r.URL.Path + " " + string(body)
	}), http.NewServeMux())
	for path, want := range map[string]string{
		"/p/tok/v1/messages": "tok /p/tok/v1/messages {}", "/p/tok//v1/messages": "tok /p/tok//v1/messages {}",
		"/p/tok/v1//messages": "tok /p/tok/v1//messages {}", "/p/tok": "", "/other//path": "",
	} {
		got = ""
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader("{}")))
		if got != want {
			t.Errorf("%s: %q, want %q (%d)", path, got, want, w.Code)
		}
	}
}
