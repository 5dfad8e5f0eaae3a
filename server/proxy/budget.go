package proxy

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/stet-dev/stet/internal/limits"
)

const (
	uploadsOfAll    = 160 << 20 // bytes of bodies held at once, for all clients together
	uploadsOfClient = 112 << 20 // the same for one client
	uploadStep      = 1 << 20   // bytes reserved at a time for a body of unknown length
	retryAfter      = "2"       // seconds
	standstill      = time.Minute
)

// bodyBudget limits the bytes of the bodies that are held at once.
type bodyBudget struct {
	all     *limits.Budget
	clients *limits.Family
}

// newBodyBudget returns the budget. body is the largest size of one body in bytes.
func newBodyBudget(body int64) bodyBudget {
	return bodyBudget{limits.NewBudget(limits.Process, max(uploadsOfAll, 2*body)), limits.NewFamily(limits.Token, max(uploadsOfClient, body))}
}

var (
	errClientFull = errors.New("this client's requests that are under way are as large together as is allowed")
	errAllFull    = errors.New("the requests that are under way are as large together as is allowed")
)

// take reserves n bytes for a client. release returns them.
func (m *bodyBudget) take(client string, n int64) (release func(), err error) {
	if m.all == nil {
		return func() {}, nil
	}
	ofClient, err := limits.TryAcquire(n, m.clients.Of(client))
	if err != nil {
		return nil, errClientFull
	}
	ofAll, err := limits.TryAcquire(n, m.all)
	if err != nil {
		ofClient()
		return nil, errAllFull
	}
	return func() { ofAll(); ofClient() }, nil
}

// senderOf identifies a client by its IP address and its provider key. Only a hash of the key is kept.
func senderOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	key := sha256.Sum256([]byte(keyOf(r.Header)))
	return fmt.Sprintf("%s %x", host, key[:8])
}

// keyOf returns the provider key that a client sends, in whichever header.
func keyOf(h http.Header) string {
	var keys []string
	for _, name := range []string{"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key"} {
		keys = append(keys, strings.Join(h.Values(name), ","))
	}
	return strings.Join(keys, "\x00")
}

// unread returns the answer for a request whose body could not be read.
func unread(err error) failure {
	switch {
	case errors.Is(err, errClientFull):
		return failure{status: http.StatusTooManyRequests, kind: "rate_limit_error", code: "too_large_together", retry: retryAfter,
			message: "stet: " + err.Error() + ": wait for some of them, then try again"}
	case errors.Is(err, errAllFull):
		return failure{status: http.StatusServiceUnavailable, kind: "api_error", code: "too_large_together", retry: retryAfter,
			message: "stet: " + err.Error() + ": try again soon"}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return failure{status: http.StatusRequestTimeout, kind: "timeout_error", code: "request_timeout",
			message: "stet: the request's body stood still for " + standstill.String() + ": send it again"}
	}
	return badRequest("the request's body cannot be read: " + err.Error())
}
