package web

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store/sqlite"
	"github.com/stet-dev/stet/tool"
)

// BenchmarkPage makes the requests of the page to a store with 10,000 sessions, 10,000 requests
// and 10,000 entries of the trail, while 1,000 questions are open.
func BenchmarkPage(b *testing.B) {
	h, _ := newRig(b)
	file := filepath.Join(b.TempDir(), "stet.db")
	store, err := sqlite.Open(b.Context(), file)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = store.Close() })
	sessions, err := sqlite.OpenSessions(b.Context(), file)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = sessions.Close() })
	h.Sessions, h.Records, h.Trail = &session.Hub{Store: sessions}, store, store
	id := ""
	for i := range 10_000 {
		s, err := session.Create(b.Context(), sessions, session.Opening{Dir: "/home/me/project"},
			said(llm.User, fmt.Sprintf("Look at case %d. %s", i, strings.Repeat("Some words. ", 20))), said(llm.Assistant, strings.Repeat("Done with it. ", 20)))
		if err != nil {
			b.Fatal(err)
		}
		id = s.ID()
	}
	var batch record.Batch
	var entries []record.Entry
	for i := range 10_000 {
		at := time.Now().Add(-time.Duration(i) * time.Minute)
		batch.Requests = append(batch.Requests, record.Request{
			ID: fmt.Sprint("r", i), Time: at, Conversation: fmt.Sprint("c", i/20), API: llm.Messages, Model: "claude-sonnet-4-5", Policy: "adaptive", Status: 200, TokensOff: 100_000, Tokens: 80_000, Usage: record.Usage{Input: 100, CacheRead: 79_000, Output: 500},
		})
		entries = append(entries, record.Entry{Time: at, Session: fmt.Sprint("s", i%100), Tool: "read_file", Path: fmt.Sprintf("src/%d.go", i%500), Decision: "allowed", Outcome: "ok"})
	}
	if err := store.Append(b.Context(), batch); err != nil {
		b.Fatal(err)
	}
	if _, err := store.Log(b.Context(), entries...); err != nil {
		b.Fatal(err)
	}
	h.openQuestions(b, 1000)
	p := h.enter(b, "A")
	for _, path := range []string{
		"/api/questions", "/api/sessions", "/api/sessions/" + id, "/api/search?words=case+9999", "/api/search?words=words",
		"/api/conversations", "/api/requests?conversation=c1", "/api/savings", "/api/files", "/api/audit", "/api/suspended", "/api/me",
	} {
		b.Run(strings.ReplaceAll(strings.TrimPrefix(path, "/api/"), id, "one"), func(b *testing.B) {
			for b.Loop() {
				if r := p.do(http.MethodGet, path, nil, nil); r.StatusCode != http.StatusOK {
					b.Fatal(r.Status)
				}
			}
		})
	}
}

// openQuestions opens n questions until the test ends.
func (h *rig) openQuestions(t testing.TB, n int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var asking sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		asking.Wait()
	})
	for i := range n {
		asking.Go(func() {
			_, _ = h.Queue.Ask(ctx, approval.Question{ // it ends with the test
				Asked: time.Now(), Session: fmt.Sprint("s", i/10), Client: "agent", Tool: "write_file", Path: fmt.Sprintf("src/%d.go", i), Write: true, Before: "h1", After: "h2",
				Size: 4 << 10, Diff: tool.ParseDiff("-" + strings.Repeat("a line\n-", 40) + "\n+" + strings.Repeat("another line\n+", 40) + "\n"),
				Content: []byte(strings.Repeat("another line\n", 300)), Editable: true, Grantable: true, Why: "default", Seal: "seal",
			})
		})
	}
	for len(h.Queue.Open()) < n {
		time.Sleep(time.Millisecond)
	}
}
