package gateway

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/tool"
)

// Quota limits the use of a token. The zero value of a field is no limit, except the limits that hold for all tokens.
type Quota struct {
	PerMinute int   `json:"per_minute,omitempty"` // requests over HTTP, connections, and calls over a WebSocket
	Bytes     int64 `json:"bytes,omitempty"`      // of requests and calls that are not answered yet
}

// Check returns what is wrong with a quota.
func (q Quota) Check() error {
	if q.PerMinute < 0 || q.Bytes < 0 {
		return fmt.Errorf("a quota is a number above 0, or 0 for none")
	}
	return nil
}

// Quotas counts the use of each token. Its zero value is ready to use. It may be used concurrently.
type Quotas struct {
	Usual Quota // quota of tokens without their own; not to be changed in use

	mu sync.Mutex
	of map[string]*usage // by the token's ID
}

// usage is the current use of a token.
type usage struct {
	perMinute int
	rate      *limits.Rate
	bytes     int64 // not answered yet
}

// OverQuota is the error for a request that exceeds the quota of its token.
type OverQuota struct {
	why  string
	Wait time.Duration // how long to wait before a retry; 0: a retry does not help, the request is too large
}

func (o *OverQuota) Error() string { return o.why }

// Status returns the HTTP status of the answer.
func (o *OverQuota) Status() int {
	if o.Wait == 0 {
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusTooManyRequests
}

// Code returns the error code in the gateway's protocol.
func (o *OverQuota) Code() tool.Code {
	if o.Wait == 0 {
		return tool.FileTooLarge
	}
	return tool.RateLimited
}

// bytesWait is the suggested time before a retry of a request that exceeds the bytes. How long the other requests will take is not
// known.
const bytesWait = time.Second

// limit returns the quota of a token.
func (q *Quotas) limit(who Identity) Quota {
	l := who.Quota
	if l.PerMinute == 0 {
		l.PerMinute = q.Usual.PerMinute
	}
	if l.Bytes == 0 {
		l.Bytes = q.Usual.Bytes
	}
	return l
}

// Take counts a request of that many bytes, until release is called. The error is an *OverQuota.
func (q *Quotas) Take(who Identity, bytes int64) (release func(), err error) {
	limit := q.limit(who)
	if limit == (Quota{}) {
		return func() {}, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	u := q.of[who.ID]
	if u == nil {
		if q.of == nil {
			q.of = map[string]*usage{}
		}
		u = new(usage)
		q.of[who.ID] = u
	}
	if u.perMinute != limit.PerMinute {
		u.perMinute, u.rate = limit.PerMinute, limits.NewRate(limit.PerMinute)
	}
	if limit.Bytes > 0 && bytes > limit.Bytes {
		return nil, &OverQuota{why: fmt.Sprintf("the request has %d bytes, and this token's quota is %d bytes at once", bytes, limit.Bytes)}
	}
	if limit.Bytes > 0 && u.bytes+bytes > limit.Bytes {
		return nil, &OverQuota{Wait: bytesWait, why: fmt.Sprintf(
			"this token's quota is %d bytes at once, and %d are not answered yet: try again when they are", limit.Bytes, u.bytes)}
	}
	if wait, _ := u.rate.Take(time.Now()); wait > 0 {
		return nil, &OverQuota{Wait: wait, why: fmt.Sprintf(
			"this token's quota is %d requests a minute: try again in %.1f s", limit.PerMinute, wait.Seconds())}
	}
	u.bytes += bytes
	return sync.OnceFunc(func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		u.bytes -= bytes
	}), nil
}

// Begin counts an HTTP request, until release is called. A body of unknown length counts as all bytes of the quota, and may be that
// long. On an error, Begin sets the header that says when to retry, and the caller answers with the error's Status.
func (q *Quotas) Begin(w http.ResponseWriter, r *http.Request, who Identity) (release func(), over *OverQuota) {
	bytes := max(r.ContentLength, 0)
	if limit := q.limit(who).Bytes; r.ContentLength < 0 && limit > 0 {
		bytes = limit
		r.Body = http.MaxBytesReader(w, r.Body, limit)
	}
	release, err := q.Take(who, bytes)
	if err == nil {
		return release, nil
	}
	over = err.(*OverQuota) // Take returns no other error
	if over.Wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((over.Wait+time.Second-1)/time.Second)))
	}
	return nil, over
}
