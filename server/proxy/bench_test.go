package proxy_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/server/proxy"
	"github.com/stet-dev/stet/trim"
)

// session returns a Messages body of about size bytes: files of 4 KB, each read once, and every tenth read twice.
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

// BenchmarkHop measures one hop: from the client through the proxy to the upstream, and back. It compares the proxy with a plain
// ReverseProxy.
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
	forward := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval: -1,
		Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64},
	}
	bare := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body) // otherwise an answer may break off that begins before the transport has seen the body's end
		if err != nil {
			return // the client is gone
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		forward.ServeHTTP(w, r)
	})
	stet := func(b *testing.B, c trim.Config, observe bool, memory int64) http.Handler {
		p, err := proxy.New(proxy.Config{
			Upstreams: llm.Upstreams{llm.Messages: up.URL}, History: c, Observe: observe, Memory: memory,
		})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = p.Close(b.Context()) })
		return p
	}
	for _, size := range []int{1 << 10, 100 << 10, 1 << 20} {
		hops(b, fmt.Sprintf("%dKB", size>>10), []string{session(size)}, bare, stet)
	}
	hops(b, "1024KB-grows", growing(1<<20, 50), bare, stet)
}

// growing returns n bodies of about size bytes. Each has one more read than the one before, and a cache marker on the last
// message.
func growing(size, n int) []string {
	var out []string
	whole := strings.TrimSuffix(session(size), "]}")
	for i := range n {
		text := strings.ReplaceAll(content(80), "line", fmt.Sprint("new file ", i, " line"))
		whole += fmt.Sprintf(`,{"role":"assistant","content":[{"type":"tool_use","id":"new_%d","name":"Read","input":{"file_path":"/home/me/project/new%d.go"}}]}`, i, i)
		result := fmt.Sprintf(`,{"role":"user","content":[{"type":"tool_result","tool_use_id":"new_%d","content":%q}]}`, i, text)
		marked := strings.Replace(result, `"tool_use_id"`, `"cache_control":{"type":"ephemeral"},"tool_use_id"`, 1)
		out = append(out, whole+marked+"]}")
		whole += result
	}
	return out
}

// hops sends the bodies in turn through each handler. If there are several, the first one is not timed, because it goes back to
// the beginning of the conversation.
func hops(b *testing.B, name string, bodies []string, bare http.Handler, stet func(*testing.B, trim.Config, bool, int64) http.Handler) {
	policy := func(p trim.Policy, observe bool, memory int64) func(b *testing.B) http.Handler {
		return func(b *testing.B) http.Handler { return stet(b, trim.Config{Policy: p}, observe, memory) }
	}
	for _, test := range []struct {
		name    string
		handler func(b *testing.B) http.Handler
	}{
		{"bare", func(*testing.B) http.Handler { return bare }},
		{"off", policy(trim.Off, false, 0)},
		{"observe", policy(trim.Lossless, true, 0)},
		{"lossless", policy(trim.Lossless, false, 0)},
		{"adaptive", policy(trim.Adaptive, false, 0)},
		{"keep-latest", policy(trim.KeepLatest, false, 0)},
		{"lossless-cold", policy(trim.Lossless, false, -1)},
	} {
		b.Run(name+"/"+test.name, func(b *testing.B) {
			front := httptest.NewServer(test.handler(b))
			defer front.Close()
			tr := &http.Transport{}
			defer tr.CloseIdleConnections()
			client := &http.Client{Transport: tr}
			b.SetBytes(int64(len(bodies[0])))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				back := len(bodies) > 1 && i%len(bodies) == 0
				if back {
					b.StopTimer()
				}
				resp, err := client.Post(front.URL+"/v1/messages", "application/json", strings.NewReader(bodies[i%len(bodies)]))
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != 200 {
					b.Fatal(resp.StatusCode, err)
				}
				resp.Body.Close()
				if back {
					b.StartTimer()
				}
			}
		})
	}
}

// BenchmarkConversations measures sixteen conversations at once. If they share text, they read the same files, as sub-agents do,
// and only their first messages differ.
func BenchmarkConversations(b *testing.B) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, started)
	}))
	defer up.Close()
	const many, rounds, size = 16, 20, 1 << 20
	begin := strings.TrimSuffix(session(size/4), "]}")
	for _, shared := range []bool{true, false} {
		var all [many][]string
		for i := range all {
			name := func(n int) string { return fmt.Sprintf("%02d.%04d", i, n) }
			body := strings.ReplaceAll(begin, "look around", "look around in "+name(0))
			if shared {
				name = func(n int) string { return fmt.Sprintf("00.%04d", n) }
			}
			for n := 0; len(all[i]) < rounds; n++ {
				text := strings.ReplaceAll(content(80), "line", "file "+name(n)+" line")
				body += fmt.Sprintf(`,{"role":"assistant","content":[{"type":"tool_use","id":"c%s","name":"Read","input":{"file_path":"/home/me/project/%s.go"}}]}`, name(n), name(n)) +
					fmt.Sprintf(`,{"role":"user","content":[{"type":"tool_result","tool_use_id":"c%s","content":%q}]}`, name(n), text)
				if len(body) > size {
					all[i] = append(all[i], body+"]}")
				}
			}
		}
		b.Run(fmt.Sprintf("shared=%v", shared), func(b *testing.B) {
			p, err := proxy.New(proxy.Config{Upstreams: llm.Upstreams{llm.Messages: up.URL}, History: trim.Config{Policy: trim.Adaptive}})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = p.Close(b.Context()) }()
			front := httptest.NewServer(p)
			defer front.Close()
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: many}}
			turn := func(i, n int) {
				resp, err := client.Post(front.URL+"/v1/messages", "application/json", strings.NewReader(all[i][n]))
				if err != nil {
					b.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			for n := 0; b.Loop(); n = (n + 1) % rounds {
				if n == 0 { // all conversations begin again
					b.StopTimer()
				}
				var wg sync.WaitGroup
				for i := range many {
					wg.Go(func() { turn(i, n) })
				}
				wg.Wait()
				if n == 0 {
					b.StartTimer()
				}
			}
			b.ReportMetric(float64(many*b.N)/b.Elapsed().Seconds(), "requests/s")
		})
	}
}
