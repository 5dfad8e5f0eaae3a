package proxy_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stet-dev/stet/server/proxy"
	"github.com/stet-dev/stet/trim"
)

// The bodies of different requests never mix, however the upstream ends a request: it reads the body whole or not at all, it
// answers early, or it breaks off.
func TestBodiesApart(t *testing.T) {
	up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("X-Way") {
		case "early":
			w.WriteHeader(http.StatusTooManyRequests)
			return
		case "half":
			_, _ = io.CopyN(io.Discard, r.Body, 5000)
			panic(http.ErrAbortHandler)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("read: %v", err)
		}
		sum := sha256.Sum256(body)
		if got := hex.EncodeToString(sum[:]); got != r.Header.Get("X-Sum") {
			t.Errorf("the body arrived as another: %.200s", body)
		}
		_, _ = io.WriteString(w, "{}")
	})
	r := newRig(t, up, func(c *proxy.Config) { c.History = trim.Config{Policy: trim.Lossless} })
	var wg sync.WaitGroup
	for worker := range 6 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(worker), 1))
			for i := range 25 {
				way := []string{"", "", "early", "half"}[rnd.IntN(4)]
				body := fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"%d %d %s"}]}`,
					worker, i, strings.Repeat(string(rune('a'+worker)), rnd.IntN(300_000)))
				sum := sha256.Sum256([]byte(body))
				req, err := http.NewRequest("POST", r.url+"/v1/messages", strings.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				req.Header.Set("X-Way", way)
				req.Header.Set("X-Sum", hex.EncodeToString(sum[:]))
				resp, err := r.client.Do(req)
				if err != nil {
					if way == "" {
						t.Error(err)
					}
					continue
				}
				_, err = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if way == "" && (resp.StatusCode != 200 || err != nil) {
					t.Errorf("%d, %v", resp.StatusCode, err)
				}
			}
		})
	}
	wg.Wait()
}
