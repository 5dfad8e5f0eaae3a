package proxy_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/server/proxy"
	"github.com/stet-dev/stet/store/sqlite"
)

// BenchmarkHard is what limits cost a request, on 16 connections with a conversation each and a record in SQLite. With hard each request is stored
// before the next one begins, and what was stored is read.
func BenchmarkHard(b *testing.B) {
	for _, c := range []struct {
		name string
		caps proxy.Caps
	}{{"none", proxy.Caps{}}, {"soft", proxy.Caps{Tree: proxy.Amount{Tokens: 1 << 40}}}, {"hard", proxy.Caps{Tree: proxy.Amount{Tokens: 1 << 40}, Hard: true}}} {
		b.Run(c.name, func(b *testing.B) {
			back := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, `{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"Done."}],"stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":5}}`)
			}))
			defer back.Close()
			store, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "stet.db"))
			if err != nil {
				b.Fatal(err)
			}
			p, err := proxy.New(proxy.Config{Upstreams: llm.Upstreams{llm.Messages: back.URL}, Store: store, Caps: c.caps})
			if err != nil {
				b.Fatal(err)
			}
			front := httptest.NewServer(p)
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
			var connections atomic.Int64
			b.SetParallelism(8) // of two processors
			b.RunParallel(func(each *testing.PB) {
				session := fmt.Sprint("conversation-", connections.Add(1))
				for each.Next() {
					r, _ := http.NewRequest("POST", front.URL+"/v1/messages", bytes.NewReader([]byte(`{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"Water the beds."}]}`)))
					r.Header.Set("X-Claude-Code-Session-Id", session)
					res, err := client.Do(r)
					if err != nil || res.StatusCode != 200 {
						b.Error(err, res)
						return
					}
					_, _ = io.Copy(io.Discard, res.Body)
					_ = res.Body.Close()
				}
			})
			b.StopTimer()
			client.CloseIdleConnections()
			front.Close()
			if err := p.Close(b.Context()); err != nil {
				b.Error(err)
			}
			if err := store.Close(); err != nil {
				b.Error(err)
			}
		})
	}
}
