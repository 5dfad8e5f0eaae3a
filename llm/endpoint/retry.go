package endpoint

import (
	"context"
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/stet-dev/stet/llm"
)

// Pauses between attempts, if the endpoint asks for none.
const (
	firstPause  = 500 * time.Millisecond
	longestStep = 16 * time.Second
)

// longestPause is the longest pause that an endpoint may ask for before the next attempt.
const longestPause = time.Minute

// pause returns how long to wait after attempt n, which failed with err, and whether to try again. n counts from 0.
func (c Config) pause(err error, n int) (time.Duration, bool) {
	if n >= c.retries() || !isTemporary(err) {
		return 0, false
	}
	var e *llm.Error
	if errors.As(err, &e) && e.RetryAfter > 0 {
		if e.RetryAfter > longestPause {
			return 0, false
		}
		return e.RetryAfter + rand.N(e.RetryAfter/10+1), true // never earlier than asked
	}
	step := min(firstPause<<min(n, 10), longestStep)
	return step/2 + rand.N(step/2+1), true
}

// isTemporary reports whether err is temporary. err came before any answer. A refused connection, an unknown host and an
// invalid certificate are permanent.
func isTemporary(err error) bool {
	var api *llm.Error
	if errors.As(err, &api) {
		return api.Temporary
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return dns.IsTemporary || dns.IsTimeout
	}
	var cert *tls.CertificateVerificationError
	var plain tls.RecordHeaderError
	if errors.As(err, &cert) || errors.As(err, &plain) || errors.Is(err, syscall.ECONNREFUSED) {
		return false
	}
	return errors.Is(err, errUnsent) || errors.Is(err, errSilent) || errors.Is(err, llm.ErrBroken)
}

// retryAfter returns how long a response asks to wait; 0: it does not say.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return seconds(ms / 1000)
	}
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		return seconds(s)
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// seconds converts s to a Duration with an upper limit. A value that is not a positive number gives 0.
func seconds(s float64) time.Duration {
	const most = 365 * 24 * 3600
	if !(s > 0) {
		return 0
	}
	return time.Duration(min(s, most) * float64(time.Second))
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
