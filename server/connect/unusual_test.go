package connect

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// told answers with all that came of a request, and in trailers too. /refused answers before it reads.
var told = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/refused" {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	if r.Header.Get("Upgrade") != "" {
		w.Header().Set("Upgrade", "other/2")
		http.Error(w, "not that one", http.StatusUpgradeRequired)
		return
	}
	w.Header().Set("Trailer", "X-End")
	n, err := io.Copy(io.Discard, r.Body)
	fmt.Fprint(w, r.Proto, " ", r.TransferEncoding, " ", r.Header.Get("Expect"), " ", n, " ", err, " ", r.Trailer)
	w.Header().Set("X-End", "here")
})

// Requests of unusual forms reach a host as they would without the proxy, and so do the answers.
func TestUnusualRequests(t *testing.T) {
	r := newRig(t, nil)
	r.serve(t, modelHost, r.signer.sign(t, modelHost, time.Now().Add(time.Hour)), told)
	long := strings.Repeat("x", 1<<20)
	for _, two := range []bool{false, true} {
		straight := &http.Client{Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: r.trusted}, ForceAttemptHTTP2: two, DisableCompression: true, ExpectContinueTimeout: time.Minute,
			DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "tcp", r.hosts[addr])
			},
		}}
		through := r.client(t, r.trusted, two)
		through.Transport.(*http.Transport).ExpectContinueTimeout = time.Minute
		for name, request := range map[string]func() *http.Request{
			"a body of unknown length, with trailers": func() *http.Request {
				q, _ := http.NewRequest(http.MethodPost, "https://"+modelHost+"/", io.MultiReader(strings.NewReader(long)))
				q.Trailer = http.Header{"X-Sum": {"12"}}
				return q
			},
			"a body that waits to be asked for": func() *http.Request {
				q, _ := http.NewRequest(http.MethodPost, "https://"+modelHost+"/", strings.NewReader(long))
				q.Header.Set("Expect", "100-continue")
				return q
			},
			"a body that is not asked for": func() *http.Request {
				if two { // a Go server hides that the client waits; what it has then sent of a long body may cost it the connection
					q, _ := http.NewRequest(http.MethodPost, "https://"+modelHost+"/refused", strings.NewReader("short"))
					return q
				}
				q, _ := http.NewRequest(http.MethodPost, "https://"+modelHost+"/refused", strings.NewReader(long))
				q.Header.Set("Expect", "100-continue")
				return q
			},
			"an upgrade that is refused": func() *http.Request {
				q, _ := http.NewRequest(http.MethodGet, "https://"+modelHost+"/", nil)
				if !two {
					q.Header.Set("Connection", "Upgrade")
					q.Header.Set("Upgrade", "other/1")
				}
				return q
			},
			"no body and a method of its own": func() *http.Request {
				q, _ := http.NewRequest("PROPFIND", "https://"+modelHost+"/", nil)
				return q
			},
			"empty": func() *http.Request {
				q, _ := http.NewRequest(http.MethodPost, "https://"+modelHost+"/", strings.NewReader(""))
				return q
			},
		} {
			var said [2]string
			for i, c := range []*http.Client{straight, through} {
				q := request()
				var early []int
				trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, _ textproto.MIMEHeader) error { early = append(early, code); return nil }}
				resp, err := c.Do(q.WithContext(httptrace.WithClientTrace(t.Context(), trace)))
				if err != nil {
					said[i] = err.Error()
					continue
				}
				b, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				delete(resp.Header, "Date")
				delete(resp.Header, "Upgrade") // it concerns one connection
				delete(resp.Header, "Content-Length")
				// A proxy may ask for the body itself, and pass on that the host asks for it.
				said[i] = fmt.Sprint(slices.Compact(early), resp.Proto, resp.Status, resp.Header, string(b), err, resp.Trailer)
			}
			if said[0] != said[1] {
				t.Errorf("%s, HTTP/2 %t: without the proxy\n%s\nwith it\n%s", name, two, said[0], said[1])
			}
		}
		straight.CloseIdleConnections()
	}
}

// A request that breaks off is not completed for the host, and an answer that breaks off is not completed for the client.
func TestBrokenOff(t *testing.T) {
	began, got := make(chan bool), make(chan error, 1)
	r := newRig(t, nil)
	r.serve(t, modelHost, r.signer.sign(t, modelHost, time.Now().Add(time.Hour)), http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Method == http.MethodGet {
			_, _ = io.WriteString(w, "half")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		_, _ = io.ReadFull(q.Body, make([]byte, 100))
		began <- true
		_, err := io.Copy(io.Discard, q.Body)
		got <- err
	}))
	for _, two := range []bool{false, true} {
		c := r.client(t, r.trusted, two)
		for _, sized := range []bool{false, true} {
			body, send := io.Pipe()
			q, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+modelHost+"/", body)
			if sized {
				q.ContentLength = 1 << 20
			}
			go func() {
				_, _ = io.WriteString(send, strings.Repeat("half", 50000)) // so much that it is sent
				<-began
				_ = send.CloseWithError(errors.New("broken"))
			}()
			if _, err := c.Do(q); err == nil {
				t.Error("an answer")
			}
			if err := <-got; err == nil {
				t.Errorf("HTTP/2 %t, sized %t: the host took the half for the whole", two, sized)
			}
		}
		resp, err := c.Get("https://" + modelHost + "/")
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(resp.Body); err == nil || string(b) != "half" {
			t.Errorf("HTTP/2 %t: %q %v", two, b, err)
		}
		_ = resp.Body.Close()
	}
}

// An answer that comes before the end of a long body is whole, and the connection goes on, whether the client then sends the rest (as curl) or
// not (as Go). (SAME-2)
func TestEarlyRefusal(t *testing.T) {
	refuse := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "too long", http.StatusRequestEntityTooLarge)
	})
	behind := httptest.NewServer(refuse)
	defer behind.Close()
	to, err := url.Parse(behind.URL)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	r := newRig(t, Pass(transport, slog.New(slog.DiscardHandler), func(q *http.Request) { q.URL.Scheme, q.URL.Host = "http", to.Host }, func(_ string, err error) string { return err.Error() }))
	r.serve(t, modelHost, r.signer.sign(t, modelHost, time.Now().Add(time.Hour)), refuse)
	long := strings.Repeat("x", 4<<20)
	for _, two := range []bool{false, true} {
		for _, path := range []string{"/v1/ask", "/v1/other"} {
			c := r.client(t, r.trusted, two)
			var all sync.WaitGroup
			for i := range 4 {
				all.Go(func() {
					for range 2 {
						body := io.Reader(strings.NewReader(long[:len(long)>>i]))
						if i%2 == 1 {
							body = io.MultiReader(body) // its length is not known
						}
						resp, err := c.Post("https://"+modelHost+path, "text/plain", body)
						if err != nil {
							t.Errorf("HTTP/2 %t %s: %v", two, path, err)
							continue
						}
						text, err := io.ReadAll(resp.Body)
						_ = resp.Body.Close()
						if err != nil || resp.StatusCode != http.StatusRequestEntityTooLarge || string(text) != "too long\n" {
							t.Errorf("HTTP/2 %t %s: %s %v %q", two, path, resp.Status, err, text)
						}
					}
				})
			}
			all.Wait()
		}
	}
}

// Many requests at once on one connection are answered, each with its own answer.
func TestManyStreams(t *testing.T) {
	named := func(w http.ResponseWriter, q *http.Request) { _, _ = io.WriteString(w, q.URL.RawQuery) }
	r := newRig(t, http.HandlerFunc(named))
	r.serve(t, modelHost, r.signer.sign(t, modelHost, time.Now().Add(time.Hour)), http.HandlerFunc(named))
	c := r.client(t, r.trusted, true)
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			path := []string{"/v1/ask", "/v1/other"}[i%2]
			resp, err := c.Post(fmt.Sprintf("https://%s%s?%d", modelHost, path, i), "text/plain", strings.NewReader("x"))
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			if b, err := io.ReadAll(resp.Body); err != nil || string(b) != fmt.Sprint(i) {
				t.Errorf("%d: %q %v", i, b, err)
			}
		})
	}
	all.Wait()
}

// A listener that is given to a proxy which was closed is closed, too.
func TestServeAfterClose(t *testing.T) {
	p := New(Config{})
	p.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.Serve(l)
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	p.Close()
}
