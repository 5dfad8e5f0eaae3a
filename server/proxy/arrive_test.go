package proxy

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/llmtest"
)

// overHTTP runs a test with a proxy behind a server of net/http, in front of an upstream that reads whole bodies, in a synctest bubble. ask
// sends the beginning of a request, and returns the answer and when it came.
func overHTTP(t *testing.T, test func(t *testing.T, p *Proxy, ask func(text string) (*http.Response, time.Duration))) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		serve := func(h http.Handler) *llmtest.Memory {
			l := new(llmtest.Memory)
			s, ended := &http.Server{Handler: h}, make(chan struct{})
			go func() {
				defer close(ended)
				_ = s.Serve(l) // it is closed below
			}()
			t.Cleanup(func() { _ = s.Close(); <-ended })
			return l
		}
		upstream := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); err == nil {
				_, _ = io.WriteString(w, "{}") // the proxy may be gone
			}
		}))
		p := newProxy(t, func(c *Config) {
			transport := &http.Transport{DialContext: upstream.DialContext}
			t.Cleanup(transport.CloseIdleConnections)
			c.Transport, c.Upstreams, c.MaxBody = transport, llm.Upstreams{llm.Messages: "http://m", llm.Chat: "http://m", llm.Responses: "http://m"}, 1000
		})
		front := serve(p)
		test(t, p, func(text string) (*http.Response, time.Duration) {
			began := time.Now()
			conn, err := front.DialContext(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close() })
			sent := make(chan struct{})
			go func() {
				defer close(sent)
				_, _ = io.WriteString(conn, text) // the server may close the connection
			}()
			defer func() { <-sent }()
			defer func() { _ = conn.Close() }()
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Errorf("no answer after %v: %v", time.Since(began), err)
				return nil, time.Since(began)
			}
			body, err := io.ReadAll(answer.Body)
			if err != nil && !errors.Is(err, net.ErrClosed) {
				t.Error(err)
			}
			answer.Body = io.NopCloser(strings.NewReader(string(body)))
			return answer, time.Since(began)
		})
		time.Sleep(time.Second) // a server waits half a second before it closes a connection
	})
}

// lengths are the headers for a body that never comes whole, and its beginning.
func lengths(head string) map[string]string {
	return map[string]string{
		"short": head + "Content-Length: 900\r\n\r\n{", "long": head + "Content-Length: 1000000\r\n\r\n{",
		"unknown": head + "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", "not begun": head + "Content-Length: 900\r\n\r\n",
	}
}

// A body that stands still is answered with 408 after a minute, also if it is one that passes untouched.
func TestStandstillIsAnswered(t *testing.T) {
	overHTTP(t, func(t *testing.T, _ *Proxy, ask func(string) (*http.Response, time.Duration)) {
		for name, line := range map[string]string{
			"planned": "POST /v1/messages HTTP/1.1\r\n", "of no API": "POST /v1/files HTTP/1.1\r\n", "encoded": "POST /v1/messages HTTP/1.1\r\nContent-Encoding: x\r\n",
		} {
			for size, text := range lengths(line + "Host: localhost\r\n") {
				answer, after := ask(text)
				if answer == nil {
					t.Errorf("%s, %s", name, size)
					continue
				}
				if body, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusRequestTimeout || after != standstill || !strings.Contains(string(body), "stood still") {
					t.Errorf("%s, %s: %d after %v: %s", name, size, answer.StatusCode, after, body)
				}
			}
		}
	})
}

// A refusal does not wait for the body, and the connection ends.
func TestRefusalIsAtOnce(t *testing.T) {
	overHTTP(t, func(t *testing.T, p *Proxy, ask func(string) (*http.Response, time.Duration)) {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.RemoteAddr = "pipe"
		release, err := p.budget.take(senderOf(r), p.budget.clients.Of("x").Limit()-100)
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		for status, line := range map[int]string{
			http.StatusTooManyRequests: "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\n", http.StatusForbidden: "POST /v1/messages HTTP/1.1\r\nHost: evil.test\r\n",
			http.StatusNotFound: "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nApi-Key: x\r\n",
		} {
			for size, text := range lengths(line) {
				if status == http.StatusTooManyRequests && size == "long" {
					continue // it is larger than what is held, and passes
				}
				answer, after := ask(text)
				if answer == nil || answer.StatusCode != status || after != 0 || !answer.Close {
					t.Errorf("%d, %s: %+v after %v", status, size, answer, after)
				}
			}
		}
	})
}
