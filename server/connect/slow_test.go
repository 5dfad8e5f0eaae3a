package connect

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Clients that do not read, and a host that does not answer, hold no more bytes than their connections do. They stop no other requests, and
// end with the proxy. (SAME-3)
func TestSlowClients(t *testing.T) {
	var poured, running atomic.Int64
	pour := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(io.Discard, q.Body) // otherwise the server does not notice that the client is gone
		switch q.URL.RawQuery {
		case "quick":
			_, _ = io.WriteString(w, "quick")
		case "stalled":
			running.Add(1)
			defer running.Add(-1)
			<-q.Context().Done()
		default:
			running.Add(1)
			defer running.Add(-1)
			for b := make([]byte, 64<<10); ; {
				n, err := w.Write(b)
				if poured.Add(int64(n)); err != nil {
					return
				}
			}
		}
	})
	r := newRig(t, pour)
	urls := []string{"https://" + modelHost + "/v1/ask", "https://" + modelHost + "/v1/other", "https://" + otherHost + "/"}
	for _, host := range []string{modelHost, otherHost} {
		r.serve(t, host, r.signer.sign(t, host, time.Now().Add(time.Hour)), pour)
	}
	const each = 4
	for _, two := range []bool{false, true} {
		for range each {
			c := r.client(t, r.trusted, two)
			for _, url := range urls {
				go func() {
					if resp, err := c.Post(url+"?stalled", "text/plain", strings.NewReader("x")); err == nil {
						_ = resp.Body.Close()
					}
				}()
				resp, err := c.Post(url, "text/plain", strings.NewReader("x"))
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
			}
		}
	}
	settled := func(n *atomic.Int64) int64 {
		for last, same := n.Load(), 0; ; time.Sleep(20 * time.Millisecond) {
			if now := n.Load(); now != last {
				last, same = now, 0
			} else if same++; same == 25 {
				return now
			}
		}
	}
	all := int64(2 * each * len(urls))
	if n := settled(&poured); n > all*(40<<20) { // they are in the buffers of the system, and of Go's own clients of HTTP/2
		t.Errorf("%d MB are on the way to %d clients that do not read", n>>20, all)
	}
	if n := settled(&running); n != 2*all {
		t.Errorf("%d of %d requests run", n, 2*all)
	}
	for _, two := range []bool{false, true} {
		c := r.client(t, r.trusted, two)
		for _, url := range urls {
			if _, said := ask(t, c, http.MethodPost, url+"?quick", http.Header{}, nil); said != "quick" {
				t.Errorf("%s: %q", url, said)
			}
		}
	}
	r.proxy.Close()
	for running.Load() > 0 {
		time.Sleep(time.Millisecond)
	}
	if r.proxy.tunnels != 0 {
		t.Errorf("%d tunnels are still counted", r.proxy.tunnels)
	}
}
