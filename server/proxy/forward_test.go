package proxy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/server/proxy"
	"github.com/stet-dev/stet/trim"
)

func off(c *proxy.Config) { c.History = trim.Config{Policy: trim.Off} }

// Headers, query, body and answer pass unchanged.
func TestUntouched(t *testing.T) {
	for _, api := range apis {
		t.Run(api.api, func(t *testing.T) {
			up := &recorder{answer: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.Header().Add("X-Several", "1")
				w.Header().Add("X-Several", "2")
				w.Header().Set("Request-Id", "req_1")
				w.WriteHeader(529)
				_, _ = io.WriteString(w, `{"type":"error" , "error":{"type":"overloaded_error"}}`)
			}}
			r := newRig(t, up, off)
			body := "\n " + api.body + " \n"
			status, header, answer := r.do("POST", api.path+"?beta=true&odd=%zz;b&empty", strings.NewReader(body),
				"Authorization", "Bearer key", "X-Api-Key", "key", "Anthropic-Beta", "a-1", "Anthropic-Beta", "b-2",
				"X-Forwarded-For", "192.0.2.1", "Forwarded", "for=192.0.2.1", "Content-Type", "application/json",
				"Accept-Encoding", "gzip, br", "User-Agent", "agent/1 (x)")
			if status != 529 || answer != `{"type":"error" , "error":{"type":"overloaded_error"}}` {
				t.Errorf("answer %d %s", status, answer)
			}
			header.Del("Date")
			if diff := cmp.Diff(http.Header{
				"Content-Type": {"application/json"}, "X-Several": {"1", "2"}, "Request-Id": {"req_1"}, "Content-Length": {"54"},
			}, header); diff != "" {
				t.Error("answer's headers", diff)
			}
			got := up.last(t)
			if got.uri != api.path+"?beta=true&odd=%zz;b&empty" || string(got.body) != body || got.length != int64(len(body)) {
				t.Errorf("%s, length %d, body %q", got.uri, got.length, got.body)
			}
			if got.host == strings.TrimPrefix(r.url, "http://") {
				t.Errorf("the upstream's host is %s", got.host)
			}
			if diff := cmp.Diff(http.Header{
				"Authorization": {"Bearer key"}, "X-Api-Key": {"key"}, "Anthropic-Beta": {"a-1", "b-2"},
				"X-Forwarded-For": {"192.0.2.1"}, "Forwarded": {"for=192.0.2.1"}, "Content-Type": {"application/json"},
				"Accept-Encoding": {"identity"}, "User-Agent": {"agent/1 (x)"}, "Content-Length": {fmt.Sprint(len(body))},
			}, got.header); diff != "" {
				t.Error("headers", diff)
			}
			if row := r.row(); row.Status != 529 || row.Cut || row.API != api.api || row.Model != "model-a" ||
				row.BytesIn != int64(len(body)) || row.BytesOut != row.BytesIn || row.Policy != "off" {
				t.Errorf("row %+v", row)
			}
		})
	}
}

// The proxy adds no headers to a request that has few.
func TestNothingAdded(t *testing.T) {
	up := &recorder{}
	r := newRig(t, up)
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET /v1/models HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	if _, err := io.ReadAll(conn); err != nil {
		t.Fatal(err)
	}
	if got := up.last(t); len(got.header) != 0 {
		t.Errorf("headers %v", got.header)
	}
}

func TestOtherPaths(t *testing.T) {
	up := &recorder{}
	r := newRig(t, up)
	for _, test := range []struct{ method, path string }{
		{"HEAD", "/"}, {"GET", "/v1/models"}, {"GET", "/v1/models/a%2Fb?x=1"}, {"DELETE", "/v1/responses/resp_1"},
		{"POST", "/v1/embeddings"}, {"POST", "/v1/messages/batches"}, {"GET", "/v1/messages"}, {"OPTIONS", "/v1/messages"},
		{"PUT", "/v1/anything//else"},
	} {
		body := ""
		if test.method == "POST" || test.method == "PUT" {
			body = "any \x00 bytes"
		}
		status, _, _ := r.do(test.method, test.path, strings.NewReader(body), "Accept-Encoding", "gzip")
		got := up.last(t)
		if status != 200 || got.method != test.method || got.uri != test.path || string(got.body) != body ||
			got.header.Get("Accept-Encoding") != "gzip" {
			t.Errorf("%s %s: %d, upstream got %+v", test.method, test.path, status, got)
		}
	}
	if rows := r.rows(); len(rows) != 0 {
		t.Errorf("recorded: %+v", rows)
	}
}

// A request that cannot be planned is sent unchanged, and the reason is recorded.
func TestPassed(t *testing.T) {
	long := conversation(strings.Repeat("x", 5000), 3)
	for _, test := range []struct {
		name, path string
		body       io.Reader
		headers    []string
		passed     string
		sent       string
	}{
		{"zstd", "/v1/messages", strings.NewReader("\x28\xb5"), []string{"Content-Encoding", "zstd"}, "encoded", "\x28\xb5"},
		{"large", "/v1/messages", strings.NewReader(long), nil, "large", long},
		{"large, of unknown length", "/v1/messages", struct{ io.Reader }{strings.NewReader(long)}, nil, "large", long},
		{"empty", "/v1/messages", strings.NewReader(""), nil, "malformed", ""},
		{"no JSON", "/v1/messages", strings.NewReader("{\"model\":"), nil, "malformed", "{\"model\":"},
		{"another shape", "/v1/chat/completions", strings.NewReader(`[1,2]`), nil, "malformed", `[1,2]`},
		{"chained", "/v1/responses", strings.NewReader(`{"model":"m","previous_response_id":"resp_1","input":"hi"}`), nil,
			"chained", `{"model":"m","previous_response_id":"resp_1","input":"hi"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			up := &recorder{}
			r := newRig(t, up, func(c *proxy.Config) { c.MaxBody = 4096 })
			status, _, answer := r.do("POST", test.path, test.body, test.headers...)
			if status != 200 || answer != "{}" || string(up.last(t).body) != test.sent {
				t.Errorf("%d %s, upstream got %q", status, answer, up.last(t).body)
			}
			if row := r.row(); row.Passed != test.passed || row.BytesIn != int64(len(test.sent)) ||
				row.BytesOut != row.BytesIn || row.Conversation == "" {
				t.Errorf("row %+v", row)
			}
		})
	}
}

// Each part of a stream reaches the client before the next one is sent.
func TestStreaming(t *testing.T) {
	for _, api := range apis {
		for _, kind := range []string{"text/event-stream", "application/json"} {
			t.Run(api.api+" "+kind, func(t *testing.T) {
				received := make(chan struct{})
				up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", kind)
					flush := http.NewResponseController(w).Flush
					_ = flush() // sends only the headers
					for i := range 5 {
						select {
						case <-received:
						case <-r.Context().Done():
							return
						}
						fmt.Fprintf(w, "data: %d\n\n", i)
						_ = flush()
					}
				})
				r := newRig(t, up)
				resp, err := r.client.Post(r.url+api.path, "application/json", strings.NewReader(api.body))
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				part := make([]byte, len("data: 0\n\n"))
				for i := range 5 {
					received <- struct{}{}
					if _, err := io.ReadFull(resp.Body, part); err != nil || string(part) != fmt.Sprintf("data: %d\n\n", i) {
						t.Fatalf("part %d: %q, %v", i, part, err)
					}
				}
				if rest, err := io.ReadAll(resp.Body); err != nil || len(rest) != 0 {
					t.Errorf("rest %q, %v", rest, err)
				}
			})
		}
	}
}

const started = `event: message_start
data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"model-a","content":[],` +
	`"usage":{"input_tokens":11,"cache_read_input_tokens":22,"cache_creation_input_tokens":33,"output_tokens":1}}}

`

// If the upstream breaks off in the middle of a stream, the client sees a broken stream.
func TestUpstreamGone(t *testing.T) {
	up := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, started)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	r := newRig(t, up)
	resp, err := r.client.Post(r.url+apis[0].path, "application/json", strings.NewReader(apis[0].body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if string(got) != started || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%q, %v", got, err)
	}
	row := r.row()
	if !row.Cut || row.Status != 200 || row.Usage.Input != 11 || row.Usage.CacheRead != 22 {
		t.Errorf("row %+v", row)
	}
}

// A stream that a server between ends properly before the provider's last event is cut, and what it does not say is not concluded.
func TestStreamEndsEarly(t *testing.T) {
	for _, answer := range []string{"", started} {
		r := newRig(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, answer)
		}))
		if _, _, got := r.do("POST", apis[0].path, strings.NewReader(apis[0].body)); got != answer {
			t.Errorf("%q", got)
		}
		if row := r.row(); !row.Cut || row.Status != 200 {
			t.Errorf("row %+v", row)
		}
	}
}

// If the client ends its request, the request to the upstream ends too.
func TestClientGone(t *testing.T) {
	for _, early := range []bool{true, false} {
		t.Run(fmt.Sprintf("before the answer: %v", early), func(t *testing.T) {
			begun, gone := make(chan struct{}), make(chan struct{})
			up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				if !early {
					_, _ = io.WriteString(w, started)
					_ = http.NewResponseController(w).Flush()
				}
				close(begun)
				<-r.Context().Done()
				close(gone)
			})
			r := newRig(t, up)
			ctx, cancel := context.WithCancel(t.Context())
			req, err := http.NewRequestWithContext(ctx, "POST", r.url+apis[0].path, strings.NewReader(apis[0].body))
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				<-begun
				if early {
					cancel()
				}
			}()
			resp, err := r.client.Do(req)
			if early != (err != nil) {
				t.Fatal(err)
			}
			if !early {
				if _, err := io.ReadFull(resp.Body, make([]byte, len(started))); err != nil {
					t.Fatal(err)
				}
				cancel()
				resp.Body.Close()
			}
			<-gone
			cancel()
			if row := r.row(); row.Cut == early || early && row.Status != 0 || !early && row.Status != 200 {
				t.Errorf("row %+v", row)
			}
		})
	}
}

// An upload with broken chunks is answered with 400, and goes nowhere.
func TestClientGoneInBody(t *testing.T) {
	up := &recorder{}
	r := newRig(t, up)
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n")
	answer, err := io.ReadAll(conn)
	conn.Close()
	if err != nil || !strings.Contains(string(answer), "400 Bad Request") || !strings.Contains(string(answer), "invalid_request_error") {
		t.Errorf("%s, %v", answer, err)
	}
	if row := r.row(); up.count() != 0 || row.Status != 400 || row.Cut {
		t.Errorf("%d requests upstream, row %+v", up.count(), row)
	}
}

func TestUnreachable(t *testing.T) {
	const dead = "http://127.0.0.1:1" // a port that was free a moment ago may be the rig's own
	for _, api := range apis {
		r := newRig(t, http.NotFoundHandler(), func(c *proxy.Config) {
			c.Upstreams = llm.Upstreams{llm.Messages: dead, llm.Chat: dead, llm.Responses: dead, llm.Gemini: dead}
		})
		status, header, answer := r.do("POST", api.path, strings.NewReader(api.body), "Authorization", "Bearer sk-secret")
		var body struct {
			Type  string
			Error struct {
				Type, Message, Status string
				Code                  any
			}
		}
		if err := json.Unmarshal([]byte(answer), &body); err != nil || status != 502 || header.Get("Content-Type") != "application/json" {
			t.Fatalf("%d %v %s: %v", status, header, answer, err)
		}
		for _, part := range []string{dead, "connection refused", "check the upstream"} {
			if !strings.Contains(body.Error.Message, part) {
				t.Errorf("%q does not say %q", body.Error.Message, part)
			}
		}
		if api.api == llm.Messages && (body.Type != "error" || body.Error.Type != "api_error") {
			t.Errorf("shape: %s", answer)
		}
		if api.api == llm.Gemini {
			if body.Error.Status != "UNAVAILABLE" || body.Error.Code != 502.0 {
				t.Errorf("shape: %s", answer)
			}
		} else if api.api != llm.Messages && (body.Type != "" || body.Error.Code != "upstream_unreachable") {
			t.Errorf("shape: %s", answer)
		}
		if row := r.row(); row.Status != 502 || row.Cut {
			t.Errorf("row %+v", row)
		}
	}
	// A server of another protocol listens on the port.
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		conn, err := ln.Accept()
		if err == nil {
			_, _ = io.WriteString(conn, "SSH-2.0-server\r\n")
			conn.Close()
		}
	}()
	r := newRig(t, http.NotFoundHandler(), func(c *proxy.Config) { c.Upstreams[llm.Messages] = "http://" + ln.Addr().String() })
	if status, answer := r.post(apis[0].path, apis[0].body); status != 502 || !strings.Contains(answer, ln.Addr().String()) {
		t.Errorf("%d %s", status, answer)
	}
	ln.Close()
	<-served
}

// If the client hangs up after it has the whole answer, the request is not recorded as cut.
func TestClientDone(t *testing.T) {
	const stopped = started + "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}," +
		"\"usage\":{\"output_tokens\":44}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, stopped)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	r := newRig(t, up)
	resp, err := r.client.Post(r.url+apis[0].path, "application/json", strings.NewReader(apis[0].body))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(resp.Body, make([]byte, len(stopped))); err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if row := r.row(); row.Cut || row.Status != 200 || row.Usage.Output != 44 {
		t.Errorf("row %+v", row)
	}
}
