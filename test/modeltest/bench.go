package modeltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/endpoint"
	"github.com/stet-dev/stet/llm/llmtest"
)

// BenchmarkFirstToken measures the time from the call of Stream to the first piece of the answer. The requests have 10 kB and 1
// MB, and go over an open connection on loopback. For comparison, it measures net/http alone with the same request in encoded
// form, up to the first byte of the body. The difference is the time of the client. Most of it is encoding.
func BenchmarkFirstToken(b *testing.B, a Adapter) {
	server, err := llmtest.Start(llmtest.Config{Handler: says("ok")})
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	model := endpoint.Client{API: a.API, Config: endpoint.Config{BaseURL: server.URL, Model: "scripted", HTTP: &http.Client{Transport: transport}}}
	for _, size := range []int{10_000, 1_000_000} {
		req := request()
		for range size / 5000 {
			req.Messages = append(req.Messages,
				llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Text: strings.Repeat("some words\n", 227)}}},
				llm.Message{Role: llm.User, Parts: []llm.Part{{Text: strings.Repeat("some words\n", 227)}}})
		}
		b.Run(fmt.Sprintf("client/%dkB", size/1000), func(b *testing.B) {
			var first time.Duration
			for b.Loop() {
				start, seen := time.Now(), false
				_, err := model.Stream(context.Background(), req, func(e llm.Event) {
					if e.Kind == llm.TextDelta && !seen {
						first += time.Since(start)
						seen = true
					}
				})
				if err != nil || !seen {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(first.Microseconds())/float64(b.N), "first-µs/op")
		})
		sent := server.Requests()
		last := sent[len(sent)-1]
		b.Run(fmt.Sprintf("plain/%dkB", size/1000), func(b *testing.B) {
			var first time.Duration
			for b.Loop() {
				start := time.Now()
				if err := plainPost(transport, server.URL+last.Path, last.Body, func() { first += time.Since(start) }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(first.Microseconds())/float64(b.N), "first-µs/op")
		})
	}
}

// plainPost sends body, and calls first when the first text of the answer has arrived.
func plainPost(transport http.RoundTripper, url string, body []byte, first func()) error {
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var all []byte
	buf := make([]byte, 4096)
	for {
		n, err := resp.Body.Read(buf)
		all = append(all, buf[:n]...)
		if first != nil && bytes.Contains(all, []byte(`"ok"`)) {
			first()
			first = nil
		}
		if err != nil {
			if first != nil {
				return errors.New("no answer")
			}
			return nil
		}
	}
}
