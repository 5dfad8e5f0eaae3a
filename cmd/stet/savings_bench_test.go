package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store"
)

// BenchmarkSavings runs stet savings on sessions that all differ. STET_SESSION_MB is how many MB of them; without it 32.
// "MB-of-memory" is the most that the process has had.
func BenchmarkSavings(b *testing.B) {
	size, err := strconv.Atoi(os.Getenv("STET_SESSION_MB"))
	if err != nil {
		size = 32
	}
	dir := b.TempDir()
	written := 0
	for n := 0; written < size<<20; n++ {
		written += writeSession(b, filepath.Join(dir, fmt.Sprintf("s%05d.jsonl", n)), uint64(n))
	}
	b.SetBytes(int64(written))
	for b.Loop() {
		p := &program{in: strings.NewReader(""), out: io.Discard, err: io.Discard, env: []string{"HOME=" + b.TempDir()}, dir: dir}
		if code := p.run(b.Context(), []string{"savings", dir}); code != 0 {
			b.Fatal(code)
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.Sys>>20), "MB-of-memory")
}

// BenchmarkLive runs stet savings --live, or --habits, on a record of STET_REQUESTS requests; without it 20,000. Each conversation has 20 of them.
func BenchmarkLive(b *testing.B) {
	n, err := strconv.Atoi(os.Getenv("STET_REQUESTS"))
	if err != nil {
		n = 20_000
	}
	home := b.TempDir()
	s, err := store.Open(b.Context(), filepath.Join(home, ".local/state/stet/stet.db"))
	if err != nil {
		b.Fatal(err)
	}
	groups := [...]string{record.Treated, record.Treated, record.Treated, record.Treated, record.HeldOut}
	for i := 0; i < n; {
		var batch record.Batch
		for range min(5000, n-i) {
			c := i/400*20 + i%20 // twenty conversations at once
			batch.Requests = append(batch.Requests, record.Request{
				ID: fmt.Sprintf("%032d", i), Time: time.Date(2026, 1, 1, 0, 0, i*10, 0, time.UTC), Conversation: fmt.Sprintf("5b9bd0a6-7f7c-4d5c-%016d", c),
				Holdout: groups[c%5], Client: "claude-code", API: llm.Messages, Model: "claude-opus-4-6", Upstream: "api.anthropic.com", Project: "/home/me/p",
				Status: 200, Policy: "lossless", TokensOff: 60_000, Tokens: 50_000, Usage: record.Usage{CacheRead: 40_000, CacheWrite: 5_000 + i%1000, Output: 300},
				Cache: record.Cache{Gap: time.Minute, Lifetime: 5 * time.Minute},
			})
			i++
		}
		if err := s.Append(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	for _, flag := range []string{"--live", "--habits"} {
		b.Run(flag, func(b *testing.B) {
			for b.Loop() {
				p := &program{in: strings.NewReader(""), out: io.Discard, err: os.Stderr, env: []string{"HOME=" + home}, dir: home}
				if code := p.run(b.Context(), []string{"savings", flag}); code != 0 {
					b.Fatal(code)
				}
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.Sys>>20), "MB-of-memory")
		})
	}
}

// writeSession writes a session of Claude Code in which files are read and edited, and returns its size.
func writeSession(tb testing.TB, path string, seed uint64) (size int) {
	r := rand.New(rand.NewPCG(seed, 1))
	words := strings.Fields("func return value error nil string for range if the request file line cache token session part answer index 0 1 := == { } ( )")
	text := func(lines int) string {
		var b strings.Builder
		for i := range lines {
			fmt.Fprintf(&b, "%d\t", i+1)
			for range 3 + r.IntN(9) {
				b.WriteString(words[r.IntN(len(words))] + " ")
			}
			fmt.Fprintf(&b, "x%d\n", r.IntN(1e6))
		}
		return b.String()
	}
	f, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	w := bufio.NewWriter(f)
	clock, parent, prompt := time.Date(2026, 3, 1+int(seed%28), 9, 0, 0, 0, time.UTC), any(nil), 20_000
	put := func(kind, id string, message map[string]any) {
		clock = clock.Add(time.Duration(2+r.IntN(40)) * time.Second)
		line, err := json.Marshal(map[string]any{
			"type": kind, "uuid": id, "parentUuid": parent, "sessionId": fmt.Sprint("s", seed), "cwd": fmt.Sprint("/home/me/p", seed%17),
			"version": "2.1.0", "timestamp": clock, "requestId": "req_" + id, "message": message,
		})
		if err != nil {
			tb.Fatal(err)
		}
		n, _ := w.Write(append(line, '\n'))
		size, parent = size+n, id
	}
	put("user", fmt.Sprint("u", seed), map[string]any{"role": "user", "content": text(5)})
	for turn := range 40 + r.IntN(80) {
		id := fmt.Sprintf("%d.%d", seed, turn)
		lines := 20 + r.IntN(400)
		put("assistant", "a"+id, map[string]any{
			"id": "msg_" + id, "role": "assistant", "model": "claude-opus-4-6",
			"content": []any{
				map[string]any{"type": "text", "text": text(3)},
				map[string]any{"type": "tool_use", "id": "t" + id, "name": "Read", "input": map[string]any{"file_path": fmt.Sprintf("/home/me/f%d.go", r.IntN(30))}},
			},
			"usage": map[string]any{"input_tokens": 3, "cache_read_input_tokens": prompt, "cache_creation_input_tokens": lines * 12, "output_tokens": 60 + r.IntN(900)},
		})
		prompt += lines * 12
		put("user", "r"+id, map[string]any{"role": "user", "content": []any{map[string]any{"type": "tool_result", "tool_use_id": "t" + id, "content": text(lines)}}})
	}
	if err := w.Flush(); err != nil {
		tb.Fatal(err)
	}
	if err := f.Close(); err != nil {
		tb.Fatal(err)
	}
	return size
}
