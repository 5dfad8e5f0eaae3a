package gateway

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/stet-dev/stet/internal/ratelimit"
	"github.com/stet-dev/stet/tool"
)

// Quota is how much may be asked for with a token. The zero value of each is no limit,
// besides those that hold for all tokens.
type Quota struct {
	PerMinute int   `json:"per_minute,omitempty"` // requests over HTTP, connections, and calls over a WebSocket
	Bytes     int64 `json:"bytes,omitempty"`      // of requests and calls that are not answered yet
}

// Check says what is wrong with a quota.
func (q Quota) Check() error {
	if q.PerMinute < 0 || q.Bytes < 0 {
		return fmt.Errorf("a quota is a number above 0, or 0 for none")
	}
	return nil
}

// Quotas counts what is asked for with each token. The zero Quotas is ready. It may be
// used concurrently.
type Quotas struct {
	Usual Quota // of tokens that do not say it themselves; not to be changed in use

	mu sync.Mutex
	of map[string]*usage // by the ID of the token
}

// usage is what is asked for with a token.
type usage struct {
	perMinute int
	rate      *ratelimit.Limiter
	bytes     int64 // that are not answered yet
}

// OverQuota is the error for a request over the quota of its token.
type OverQuota struct {
	why  string
	Wait time.Duration // until it may come again; 0: it is too large for ever
}

func (o *OverQuota) Error() string { return o.why }

// Status is that of the answer over HTTP.
func (o *OverQuota) Status() int {
	if o.Wait == 0 {
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusTooManyRequests
}

// Code is that of the answer in the gateway's protocol.
func (o *OverQuota) Code() tool.Code {
	if o.Wait == 0 {
		return tool.FileTooLarge
	}
	return tool.RateLimited
}

// bytesWait is after what time a request may come again for which there are too many
// bytes: how long the others will take is not known.
const bytesWait = time.Second

// limit is the quota of a token.
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

// Take counts a request of so many bytes, until release is called. The error is an
// *OverQuota.
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
		u.perMinute, u.rate = limit.PerMinute, ratelimit.New(limit.PerMinute)
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

// Begin counts a request over HTTP, until release is called. A body whose length the
// request does not say counts as all that the quota allows, and may be as long. Where
// there is an error, which the caller is to answer with its Status, the header says when
// to come again.
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
	over = err.(*OverQuota) // Take has no other
	over.inform(w)
	return nil, over
}

// maxBatch is how many bytes a batch of messages may have where they are counted.
const maxBatch = 4 << 20

// Batch counts the messages of a request over HTTP that is a JSON-RPC batch, all but the
// first, which Begin has counted: either all, or none. Of other requests the body is not
// read. The error is an *OverQuota, or that of reading the body.
func (q *Quotas) Batch(w http.ResponseWriter, r *http.Request, who Identity) error {
	limit := q.limit(who).PerMinute
	if limit == 0 || r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	in := bufio.NewReader(r.Body)
	first, err := in.ReadByte()
	for err == nil && (first == ' ' || first == '\t' || first == '\r' || first == '\n') {
		first, err = in.ReadByte()
	}
	if err == nil {
		err = in.UnreadByte()
	}
	own := struct {
		io.Reader
		io.Closer
	}{in, r.Body}
	switch {
	case errors.Is(err, io.EOF):
		r.Body = http.NoBody
		return nil
	case err != nil:
		return err
	case first != '[':
		r.Body = own
		return nil
	}
	all, err := io.ReadAll(http.MaxBytesReader(w, own, maxBatch))
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return &OverQuota{why: fmt.Sprintf("a batch has %d bytes at most where requests are counted: send its messages one by one", maxBatch)}
	}
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(all))
	var messages []json.RawMessage
	if json.Unmarshal(all, &messages) != nil || len(messages) < 2 {
		return nil // what is no JSON is refused by who reads it
	}
	if len(messages) > limit {
		return &OverQuota{why: fmt.Sprintf("the batch has %d messages, and this token's quota is %d requests a minute", len(messages), limit)}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	u := q.of[who.ID]
	if u == nil {
		return errors.New("a batch is counted after its request")
	}
	wait, _ := u.rate.TakeAll(time.Now(), len(messages)-1)
	if wait == 0 {
		return nil
	}
	over := &OverQuota{Wait: wait, why: fmt.Sprintf(
		"the batch has %d messages, and this token's quota is %d requests a minute: try again in %.1f s", len(messages), limit, wait.Seconds())}
	over.inform(w)
	return over
}

// inform says in the header of the answer when to come again.
func (o *OverQuota) inform(w http.ResponseWriter) {
	if o.Wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((o.Wait+time.Second-1)/time.Second)))
	}
}
