package httpguard_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/internal/httpguard"
)

// pipes is a listener whose connections are in memory.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

// serve runs f with a connection to a server. reads says whether its handler reads bodies; otherwise it answers with status.
func serve(t *testing.T, reads bool, status int, f func(c net.Conn)) {
	synctest.Test(t, func(t *testing.T) {
		l := &pipes{make(chan net.Conn), make(chan struct{})}
		s := &http.Server{Handler: httpguard.LimitPauses(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !reads {
				w.WriteHeader(status)
				return
			}
			b, err := io.ReadAll(r.Body)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				w.WriteHeader(http.StatusRequestTimeout)
				return
			}
			select {
			case <-time.After(time.Hour): // longer than the body may stand still
			case <-r.Context().Done():
				t.Error("the request has ended")
			}
			fmt.Fprintf(w, "%d bytes, %v", len(b), err)
		}), 30*time.Second)}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = s.Serve(l) // it is closed below
		}()
		here, there := net.Pipe()
		l.conns <- there
		f(here)
		_ = here.Close()
		_ = s.Close()
		<-ended
	})
}

const head = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n"

func TestStandsStill(t *testing.T) {
	serve(t, true, 0, func(c net.Conn) {
		began := time.Now()
		fmt.Fprint(c, head+"some")
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || res.StatusCode != http.StatusRequestTimeout || time.Since(began) != 30*time.Second {
			t.Errorf("%+v, %v after %v", res, err, time.Since(began))
		}
	})
}

func TestSlow(t *testing.T) {
	serve(t, true, 0, func(c net.Conn) {
		fmt.Fprint(c, head)
		for range 100 {
			time.Sleep(29 * time.Second)
			fmt.Fprint(c, "x")
		}
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(res.Body); err != nil || !strings.HasPrefix(string(b), "100 bytes, <nil>") {
			t.Errorf("%s, %v", b, err)
		}
	})
}

// If a handler left the rest of a body unread, the server reads it, and waits for it only for a limited time.
func TestLeft(t *testing.T) {
	serve(t, false, http.StatusOK, func(c net.Conn) {
		began := time.Now()
		fmt.Fprint(c, head+"some")
		if _, err := io.ReadAll(c); err != nil || time.Since(began) > 31*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// An error goes out at once, also if the handler has not read the body. A client that sends on does not find a broken connection, and
// one that does not send is not waited for.
func TestErrorIsAtOnce(t *testing.T) {
	for _, status := range []int{http.StatusUnauthorized, http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		serve(t, false, status, func(c net.Conn) {
			began := time.Now()
			fmt.Fprint(c, head+"some")
			res, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil || res.StatusCode != status || !res.Close || time.Since(began) != 0 {
				t.Errorf("%+v, %v after %v", res, err, time.Since(began))
			}
			time.Sleep(time.Second)
			if _, err := fmt.Fprint(c, "more"); err != nil {
				t.Error(err)
			}
			if b, err := io.ReadAll(c); err != nil || len(b) > 0 || time.Since(began) != 2*time.Second {
				t.Errorf("%q, %v after %v", b, err, time.Since(began))
			}
		})
	}
}
