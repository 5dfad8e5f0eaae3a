package proxy

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/internal/httpguard"
	"github.com/stet-dev/stet/record"
)

// The proxy holds bodies as long as they fit into the limit of their client and into the limit for all clients together. A larger
// body is refused, and the client may send it again. The room of a body is free again after its request.
func TestRoom(t *testing.T) { synctest.Test(t, testRoom) }

func testRoom(t *testing.T) {
	p := newProxy(t, func(c *Config) {
		c.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
			_, err := io.Copy(io.Discard, r.Body)
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}")), Request: r}, err
		})
	})
	ask := func(key string, size int, chunked bool) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/v1/messages", strings.NewReader(`{"messages":[]}`+strings.Repeat(" ", size-15)))
		r.Header.Set("X-Api-Key", key)
		if chunked {
			r.ContentLength = -1
		}
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		synctest.Wait() // a goroutine gives the room back
		return w
	}
	hold := func(key string, n int64) func() {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/v1/messages", nil)
		r.Header.Set("X-Api-Key", key)
		release, err := p.budget.take(senderOf(r), n)
		if err != nil {
			t.Fatal(err)
		}
		return release
	}
	releaseA := hold("a", uploadsOfClient-1<<20)
	for _, chunked := range []bool{false, true} {
		w := ask("a", 2<<20, chunked)
		if w.Code != 429 || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), `"type":"rate_limit_error"`) {
			t.Errorf("a's own room, chunked %v: %d %s", chunked, w.Code, w.Body)
		}
		if w := ask("b", 2<<20, chunked); w.Code != 200 {
			t.Errorf("another's room, chunked %v: %d %s", chunked, w.Code, w.Body)
		}
	}
	releaseB := hold("b", uploadsOfAll-uploadsOfClient)
	if w := ask("c", 2<<20, false); w.Code != 503 || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), `"type":"api_error"`) {
		t.Errorf("all room: %d %s", w.Code, w.Body)
	}
	releaseA()
	releaseB()
	for range 2 { // refused bodies hold no room
		for _, chunked := range []bool{false, true} {
			if w := ask("a", 40<<20, chunked); w.Code != 200 {
				t.Errorf("with room again, chunked %v: %d %s", chunked, w.Code, w.Body)
			}
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// slowBody is the body of a connection on which a read deadline can be set.
type slowBody struct {
	pause    time.Duration // before each byte
	left     int
	deadline time.Time
	http.ResponseWriter
}

func (s *slowBody) SetReadDeadline(t time.Time) error {
	s.deadline = t
	return nil
}

func (s *slowBody) Read(b []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	time.Sleep(s.pause)
	if !s.deadline.IsZero() && time.Now().After(s.deadline) {
		return 0, os.ErrDeadlineExceeded
	}
	s.left--
	b[0] = 'x'
	return 1, nil
}

func (*slowBody) Close() error { return nil }

// A body that stands still is ended. A slow body is not ended, however long it takes, and after it no deadline is set.
func TestStandstill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for pause, ends := range map[time.Duration]bool{standstill - time.Second: false, standstill + time.Second: true} {
			s := &slowBody{pause: pause, left: 100}
			_, err := io.ReadAll(httpguard.NewBody(context.Background(), s, &http.Request{Body: s}, standstill))
			if errors.Is(err, os.ErrDeadlineExceeded) != ends || !ends && !s.deadline.IsZero() {
				t.Errorf("a byte each %v: %v", pause, err)
			}
			if ends {
				if f := unread(err); f.status != http.StatusRequestTimeout {
					t.Errorf("answered with %d", f.status)
				}
			}
		}
	})
}

// A failure of the store that lasts is logged once in ten minutes. Its end is logged too.
func TestOneFailureIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		store := &badStore{err: errors.New("disk full")}
		p := newProxy(t, func(c *Config) { c.Store, c.Logger = store, slog.New(slog.NewTextHandler(&log, nil)) })
		write := func(times int) {
			for range times {
				p.writer.add(record.Batch{Requests: []record.Request{{ID: "x"}}})
				time.Sleep(time.Second)
			}
			synctest.Wait()
		}
		write(300)
		if n := strings.Count(log.String(), "requests are not recorded"); n != 1 {
			t.Errorf("logged %d times in five minutes", n)
		}
		write(400)
		if n := strings.Count(log.String(), "requests are not recorded"); n != 2 {
			t.Errorf("logged %d times in twelve minutes", n)
		}
		store.err = nil
		write(3)
		if n := strings.Count(log.String(), "recorded again"); n != 1 {
			t.Errorf("its end is logged %d times", n)
		}
	})
}
