package site

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stet-dev/stet/server/gateway"
)

// An issuer's endless answer takes no more memory than the limit.
func TestEndlessAnswer(t *testing.T) {
	var read int // in bytes; valid after the server is closed
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for piece := make([]byte, 64<<10); ; read += len(piece) {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	}))
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := openSignIn(t.Context(), Accounts{
		Issuer: s.URL, ClientID: "stet", SecretFile: secret, URL: "http://localhost:4141", Roles: map[string]string{"a": gateway.Approvers},
	}, slog.New(slog.DiscardHandler), nil)
	s.Close()
	const buffered = 32 << 20 // buffered by both systems
	if err == nil || !strings.Contains(err.Error(), "too large") || read > mostAnswer+buffered {
		t.Errorf("after %d bytes: %v", read, err)
	}
}
