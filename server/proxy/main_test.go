package proxy_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/proxy"
	"github.com/stet-dev/stet/test/recordtest"
	"github.com/stet-dev/stet/trim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a proxy between a real client and a real upstream.
type rig struct {
	t      *testing.T
	proxy  *proxy.Proxy
	url    string // of the proxy
	client *http.Client
	store  *recordtest.Memory
	log    *logBuffer
}

// newRig starts a proxy in front of upstream. The end of the test closes everything.
func newRig(t *testing.T, upstream http.Handler, change ...func(*proxy.Config)) *rig {
	t.Helper()
	back := httptest.NewServer(upstream)
	t.Cleanup(back.Close)
	r := &rig{t: t, store: new(recordtest.Memory), log: new(logBuffer)}
	c := proxy.Config{
		Upstreams: llm.Upstreams{llm.Messages: back.URL, llm.Chat: back.URL + "/v1", llm.Responses: back.URL + "/v1", llm.Gemini: back.URL},
		History:   trim.Config{Policy: trim.KeepLatest, KeepReads: 1},
		Store:     r.store,
		Logger:    slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, f := range change {
		f(&c)
	}
	var err error
	if r.proxy, err = proxy.New(c); err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(r.proxy)
	r.url = front.URL
	tr := &http.Transport{DisableCompression: true}
	r.client = &http.Client{Transport: tr}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		front.Close()
		r.close()
	})
	return r
}

// close closes the proxy, after which all rows are recorded.
func (r *rig) close() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := r.proxy.Close(ctx); err != nil {
		r.t.Errorf("close: %v", err)
	}
}

// rows closes the proxy and returns what was recorded.
func (r *rig) rows() []record.Request {
	r.t.Helper()
	r.close()
	rows, err := r.store.Requests(r.t.Context(), record.Query{})
	if err != nil {
		r.t.Fatal(err)
	}
	return rows
}

// row returns the only recorded row.
func (r *rig) row() record.Request {
	r.t.Helper()
	rows := r.rows()
	if len(rows) != 1 {
		r.t.Fatalf("%d rows: %+v", len(rows), rows)
	}
	return rows[0]
}

// post sends body, and returns status and body of the answer. In headers, names and values alternate.
func (r *rig) post(path, body string, headers ...string) (int, string) {
	r.t.Helper()
	status, _, answer := r.do(http.MethodPost, path, strings.NewReader(body), headers...)
	return status, answer
}

func (r *rig) do(method, path string, body io.Reader, headers ...string) (int, http.Header, string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, body)
	if err != nil {
		r.t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		} else {
			req.Header.Add(headers[i], headers[i+1])
		}
	}
	resp, err := r.client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(answer)
}

// recorder is an upstream that keeps the requests it gets. It answers each with answer, or with "{}" if that is nil.
type recorder struct {
	mu     sync.Mutex
	got    []received
	answer http.HandlerFunc
}

type received struct {
	method, uri, host string
	length            int64
	header            http.Header
	body              []byte
}

func (u *recorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	u.mu.Lock()
	u.got = append(u.got, received{r.Method, r.RequestURI, r.Host, r.ContentLength, r.Header.Clone(), body})
	u.mu.Unlock()
	if u.answer != nil {
		u.answer(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, "{}")
}

// last returns the last request.
func (u *recorder) last(t *testing.T) received {
	t.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.got) == 0 {
		t.Fatal("nothing came upstream")
	}
	return u.got[len(u.got)-1]
}

func (u *recorder) count() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.got)
}

// logBuffer is a log that can be read while it is written.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// apis are the APIs, with a body for each.
var apis = []struct {
	api, path, body string
}{
	{llm.Messages, "/v1/messages", `{"model":"model-a","max_tokens":9,"messages":[{"role":"user","content":"hello"}]}`},
	{llm.Chat, "/v1/chat/completions", `{"model":"model-a","messages":[{"role":"user","content":"hello"}]}`},
	{llm.Responses, "/v1/responses", `{"model":"model-a","input":[{"role":"user","content":[{"type":"input_text","text":"hello"}]}]}`},
	{llm.Gemini, "/v1beta/models/model-a:generateContent", `{"contents":[{"role":"user","parts":[{"text":"hello"}]}]}`},
}

// content returns a file of so many lines.
func content(lines int) string {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "%6d\tline %d of a file that is read more than once\n", i+1, i+1)
	}
	return b.String()
}

// rules is a system text that is long enough for a prompt cache.
var rules = strings.Repeat("Follow the rule. ", 320)

// conversation returns a Messages body in which one file is read `reads` times. Its odd spacing and an unknown field show whether
// the proxy encoded the body again.
func conversation(first string, reads int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{ "model":"model-a" ,"max_tokens":1e2,"x_unknown":{"a":[1.0,2]},"system":%q,"messages":[{"role":"user","content":%q}`, rules, first)
	for i := range reads {
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"tool_use","id":"call_%d","name":"Read","input":{"file_path":"/home/me/project/a.go"}}]}`, i)
		fmt.Fprintf(&b, `, {"role":"user","content":[{"type":"tool_result","tool_use_id":"call_%d","content":%q}]}`, i, content(20))
	}
	return b.String() + `] }`
}
