package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/proxy"
	"github.com/stet-dev/stet/record"
)

// session is a Messages body of about size bytes: files of 4 KB, each read
// once, every tenth read twice.
func session(size int) string {
	var b strings.Builder
	b.WriteString(`{"model":"model-a","max_tokens":1024,"stream":true,"messages":[{"role":"user","content":"look around"}`)
	for i := 0; b.Len() < size-200; i++ {
		file := i
		if i%10 == 9 {
			file = i - 5
		}
		text := strings.ReplaceAll(content(80), "line", fmt.Sprint("file ", file, " line"))
		text = text[:min(len(text), max(0, size-b.Len()-400))]
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"tool_use","id":"call_%d","name":"Read","input":{"file_path":"/home/me/project/%d.go"}}]}`, i, file)
		fmt.Fprintf(&b, `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_%d","content":%q}]}`, i, text)
	}
	return b.String() + "]}"
}

// One hop: client, proxy, upstream, and back, against a bare ReverseProxy.
func BenchmarkHop(b *testing.B) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, started)
	}))
	defer up.Close()
	target, err := url.Parse(up.URL)
	if err != nil {
		b.Fatal(err)
	}
	bare := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval: -1,
		Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64},
	}
	stet := func(b *testing.B, c history.Config, observe bool) http.Handler {
		p, err := proxy.New(proxy.Config{
			Upstreams: proxy.Upstreams{Messages: up.URL}, History: c, Observe: observe, Store: new(record.Memory),
		})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = p.Close(b.Context()) })
		return p
	}
	for _, size := range []int{1 << 10, 100 << 10, 1 << 20} {
		body := session(size)
		for _, test := range []struct {
			name    string
			handler func(b *testing.B) http.Handler
		}{
			{"bare", func(*testing.B) http.Handler { return bare }},
			{"off", func(b *testing.B) http.Handler { return stet(b, history.Config{Policy: history.Off}, false) }},
			{"observe", func(b *testing.B) http.Handler { return stet(b, history.Config{Policy: history.Lossless}, true) }},
			{"lossless", func(b *testing.B) http.Handler { return stet(b, history.Config{Policy: history.Lossless}, false) }},
			{"keep-latest", func(b *testing.B) http.Handler { return stet(b, history.Config{Policy: history.KeepLatest}, false) }},
		} {
			b.Run(fmt.Sprintf("%dKB/%s", size>>10, test.name), func(b *testing.B) {
				front := httptest.NewServer(test.handler(b))
				defer front.Close()
				tr := &http.Transport{}
				defer tr.CloseIdleConnections()
				client := &http.Client{Transport: tr}
				b.SetBytes(int64(len(body)))
				b.ReportAllocs()
				for b.Loop() {
					resp, err := client.Post(front.URL+"/v1/messages", "application/json", strings.NewReader(body))
					if err != nil {
						b.Fatal(err)
					}
					if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != 200 {
						b.Fatal(resp.StatusCode, err)
					}
					resp.Body.Close()
				}
			})
		}
	}
}
