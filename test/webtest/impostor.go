package webtest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Sent is a request that an impostor received.
type Sent struct {
	Method, URI string
	Header      http.Header
	Body        []byte
}

// Impostor is a program at the port of a server that has ended. It collects the received requests, and answers as well as it can.
type Impostor struct {
	mu   sync.Mutex
	seen []Sent
}

// ServeHTTP implements http.Handler.
func (i *Impostor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // a part of the body is fine
	i.mu.Lock()
	i.seen = append(i.seen, Sent{r.Method, r.URL.RequestURI(), r.Header.Clone(), body})
	i.mu.Unlock()
	w.Header().Set("Stet-Proof", r.Header.Get("Stet-Proof"))
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"person":"desk","channel":"mine","mac":"mine","open":[],"ended":[]}`)
}

// Seen returns the received requests.
func (i *Impostor) Seen() []Sent {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]Sent(nil), i.seen...)
}

// Replay sends the requests that the impostor collected to the API of a server. It returns those that the server answered with
// another status than 401. A hello is answered, but its answer is useful only with the key. The page itself is open to everyone.
func (i *Impostor) Replay(ctx context.Context, base string) (taken []string, err error) {
	for _, s := range i.Seen() {
		if !strings.HasPrefix(s.URI, "/api/") {
			continue
		}
		r, err := http.NewRequestWithContext(ctx, s.Method, base+s.URI, bytes.NewReader(s.Body))
		if err != nil {
			return nil, err
		}
		r.Header = s.Header
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			return nil, err
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusUnauthorized && s.URI != "/api/hello" {
			taken = append(taken, fmt.Sprintf("%s %s: %s", s.Method, s.URI, res.Status))
		}
	}
	return taken, nil
}
