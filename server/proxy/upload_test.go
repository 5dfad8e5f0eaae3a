package proxy_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/server/proxy"
)

// wire is a connection to the proxy.
type wire struct {
	*net.TCPConn
	answers *bufio.Reader
}

// dial opens a connection to the proxy, and writes text.
func (r *rig) dial(text string) wire {
	r.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(conn, text); err != nil {
		r.t.Fatal(err)
	}
	return wire{conn.(*net.TCPConn), bufio.NewReader(conn)}
}

// answerOf reads an answer from conn.
func (r *rig) answerOf(conn wire) (int, string) {
	r.t.Helper()
	resp, err := http.ReadResponse(conn.answers, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// An upload that breaks off goes nowhere. Its answer and its record name the reason.
func TestCutUpload(t *testing.T) {
	for name, head := range map[string]string{
		"length": "Content-Length: 50\r\n\r\n{\"mod", "chunked": "Transfer-Encoding: chunked\r\n\r\n32\r\n{\"mod",
	} {
		t.Run(name, func(t *testing.T) {
			up := &recorder{}
			r := newRig(t, up)
			conn := r.dial("POST /v1/messages HTTP/1.1\r\nHost: localhost\r\n" + head)
			if err := conn.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			if status, text := r.answerOf(conn); status != 400 || !strings.Contains(text, "unexpected EOF") {
				t.Errorf("%d %s", status, text)
			}
			row := r.row()
			if row.Status != 400 || row.Passed != "incomplete" || row.BytesIn != 5 || row.BytesOut != 0 || row.Cut {
				t.Errorf("row %+v", row)
			}
			if got := r.proxy.Totals(); got.Errors != 1 || got.Passed["incomplete"] != 1 || got.Conversations != 0 {
				t.Errorf("totals %+v", got)
			}
			if up.count() != 0 {
				t.Error("it went upstream")
			}
		})
	}
}

// An upload that stands still does not delay the end of the proxy.
func TestCloseDuringUpload(t *testing.T) {
	r := newRig(t, &recorder{})
	conn := r.dial("POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 50\r\n\r\n")
	if status, _ := r.answerOf(conn); status != 100 { // 100 says that the proxy reads the body
		t.Fatalf("status %d", status)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.proxy.Close(ctx); err == nil {
		t.Error("closed with a request in flight")
	}
	if status, text := r.answerOf(conn); status != 503 || !strings.Contains(text, "closing") {
		t.Errorf("%d %s", status, text)
	}
	if row := r.row(); row.Status != 503 || row.Passed != "incomplete" {
		t.Errorf("row %+v", row)
	}
}

// Expect: 100-continue is answered by the proxy, and not passed on if the proxy has read the body: an upstream that does not send
// 100 would delay the request by a second.
func TestExpect(t *testing.T) {
	up := &recorder{}
	r := newRig(t, up, func(c *proxy.Config) { c.MaxBody = 1000 })
	for _, body := range []string{apis[0].body, conversation("look", 2)} {
		for _, length := range []string{
			fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body),
			fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body),
		} {
			conn := r.dial("POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n" + length)
			if status, _ := r.answerOf(conn); status != 100 {
				t.Fatalf("status %d", status)
			}
			status, text := r.answerOf(conn)
			if status == 100 { // if the upstream is slow, its own 100 comes after the one of the proxy
				status, text = r.answerOf(conn)
			}
			if status != 200 {
				t.Errorf("%d %s", status, text)
			}
			got := up.last(t)
			streamed := len(body) > 1000 && strings.HasPrefix(length, "Content") // the proxy does not read this body
			if string(got.body) != body || (got.header.Get("Expect") != "") != streamed {
				t.Errorf("upstream got %v, %d bytes", got.header, len(got.body))
			}
		}
	}
}

// Trailers of a body that the proxy read whole are dropped, as the package comment says.
func TestTrailers(t *testing.T) {
	trailer := make(chan http.Header, 1)
	r := newRig(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		trailer <- r.Trailer
	}))
	body := apis[0].body
	conn := r.dial(fmt.Sprintf("POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nTrailer: X-Sum\r\n"+
		"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\nX-Sum: 1\r\n\r\n", len(body), body))
	if status, text := r.answerOf(conn); status != 200 {
		t.Errorf("%d %s", status, text)
	}
	if got := <-trailer; len(got) != 0 {
		t.Errorf("trailers %v", got)
	}
}

// Methods that would make the proxy a tunnel, or would echo headers, are refused.
func TestMethods(t *testing.T) {
	up := &recorder{}
	r := newRig(t, up)
	for _, line := range []string{"CONNECT 127.0.0.1:443", "TRACE /", "TRACE /v1/messages"} {
		conn := r.dial(line + " HTTP/1.1\r\nHost: 127.0.0.1:443\r\nAuthorization: Bearer k\r\nContent-Length: 0\r\n\r\n")
		status, text := r.answerOf(conn)
		if status != 405 || !strings.Contains(text, "method_not_allowed") && !strings.Contains(text, "invalid_request_error") {
			t.Errorf("%s: %d %s", line, status, text)
		}
	}
	for _, method := range []string{"OPTIONS", "PUT", "DELETE", "PATCH"} {
		if status, _, text := r.do(method, "/v1/files/1", nil); status != 200 {
			t.Errorf("%s: %d %s", method, status, text)
		}
	}
	if up.count() != 4 {
		t.Errorf("%d requests went upstream", up.count())
	}
}
