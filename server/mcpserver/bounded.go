package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/stet-dev/stet/internal/httpguard"
	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/internal/rpclines"
)

// maxEnvelope is the limit of a message without the arguments of a call, in bytes. Bodies up to this size take nothing of the memory
// budget.
const maxEnvelope = 64 << 10

// bodyPatience is how long a body waits for capacity in the memory budget.
const bodyPatience = 5 * time.Second

// bounded reads the bodies of requests, and passes them on if what the client chose in them has the size that oversize allows.
// Otherwise the SDK would keep it.
func (s *Server) bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{sessionHeader, "Mcp-Protocol-Version", "Last-Event-ID"} {
			if n := len(r.Header.Get(name)); n > limits.Name {
				http.Error(w, fmt.Sprintf("%s has %d bytes, at most %d", name, n, limits.Name), http.StatusBadRequest)
				return
			}
		}
		if r.Method != http.MethodPost || r.Body == nil {
			next.ServeHTTP(w, r)
			return
		}
		size := r.ContentLength
		if most := int64(s.config.MaxMessage); size < 0 || size > most {
			size = most
		}
		release := func() {}
		if size > maxEnvelope {
			ctx, cancel := context.WithTimeout(r.Context(), bodyPatience)
			var err error
			release, err = limits.Acquire(ctx, size, s.memory.Of(auth.TokenInfoFromContext(r.Context()).UserID), s.config.Memory)
			cancel()
			if err != nil {
				w.Header().Set("Retry-After", "5")
				http.Error(w, "stet holds too many bytes for other calls: try again in 5 s", http.StatusServiceUnavailable)
				return
			}
		}
		release = sync.OnceFunc(release)
		defer release()
		body, status, why := s.body(w, r)
		if why != "" {
			http.Error(w, why, status)
			return
		}
		own := r.WithContext(r.Context())
		own.Body, own.ContentLength = &heldBody{Reader: bytes.NewReader(body), release: release}, int64(len(body))
		next.ServeHTTP(w, own)
	})
}

// body returns the body of a request, or what is wrong with it.
func (s *Server) body(w http.ResponseWriter, r *http.Request) (body []byte, status int, why string) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(s.config.MaxMessage)))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, http.StatusRequestEntityTooLarge, fmt.Sprintf("request body exceeds %d bytes", large.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, http.StatusRequestTimeout, fmt.Sprintf("no byte of the body arrived for %v", httpguard.Pause)
	case err != nil:
		return nil, http.StatusBadRequest, "the body was not read"
	case bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")):
		return nil, http.StatusBadRequest, "this is a batch: send its messages one by one"
	}
	return body, http.StatusRequestEntityTooLarge, oversize(body)
}

// heldBody is a body in memory. At its end it is dropped, and its capacity is given back, because the SDK has a copy then.
type heldBody struct {
	*bytes.Reader
	release func()
}

// Read implements io.Reader.
func (b *heldBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil {
		b.Reader = bytes.NewReader(nil)
		b.release()
	}
	return n, err
}

// Close implements io.Closer.
func (b *heldBody) Close() error { return nil }

// oversize says what in a message is too long; "": nothing. The arguments of a call have no limit but that of the message.
func oversize(body []byte) string {
	return rpclines.Oversize(body, maxEnvelope, map[string]string{callMethod: "arguments"})
}
