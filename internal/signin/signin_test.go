package signin

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stet-dev/stet/gateway"
)

// An issuer whose answer does not end takes no more memory than an answer may have.
func TestEndlessAnswer(t *testing.T) {
	var read int // bytes; it may be looked at when the server is closed
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for piece := make([]byte, 64<<10); ; read += len(piece) {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	}))
	_, err := Open(t.Context(), Config{
		Issuer: s.URL, ClientID: "stet", Secret: "secret", URL: "http://localhost:4141", Roles: map[string]string{"a": gateway.Approvers},
	})
	s.Close()
	const buffered = 32 << 20 // on its way, in both systems
	if err == nil || !strings.Contains(err.Error(), "too large") || read > mostAnswer+buffered {
		t.Errorf("after %d bytes: %v", read, err)
	}
}
