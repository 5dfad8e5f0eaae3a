package agent_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store/sqlite"
)

// storeReads stores a conversation of n messages: reads of some hundred files of 4 KB, every third of them repeated.
func storeReads(tb testing.TB, store session.Store, dir string, n int) string {
	tb.Helper()
	ses, err := session.Create(tb.Context(), store, session.Opening{Dir: dir},
		session.Message{Role: llm.User, Time: time.Now(), Parts: []llm.Part{{Text: "Read all there is."}}})
	if err != nil {
		tb.Fatal(err)
	}
	var bodies []session.Body
	for i := range n / 2 {
		file := fmt.Sprintf("src/file_%d.go", i%300-i%3)
		id := fmt.Sprintf("call_%d", i)
		bodies = append(bodies,
			session.Message{Role: llm.Assistant, Time: time.Now(), Parts: []llm.Part{{Text: "I read on."}, {Kind: llm.ToolCall, CallID: id, Name: "read_file", Args: fmt.Sprintf(`{"path":%q}`, file)}}},
			session.Message{Role: llm.Tool, Time: time.Now(), Parts: []llm.Part{{Kind: llm.ToolResult, CallID: id, Text: fmt.Sprintf(`{"success":true,"content":"%s"}`, strings.Repeat(file+` is a line of the file\n`, 100))}}})
	}
	for at := 0; at < len(bodies); at += 500 {
		if err := ses.Append(tb.Context(), bodies[at:min(at+500, len(bodies))]...); err != nil {
			tb.Fatal(err)
		}
	}
	return ses.ID()
}

// benchRig is an agent whose window is large enough for everything.
func benchRig(b *testing.B, store session.Store) *rig {
	r := newRig(b, "messages", llmtest.Script{End: "Fine."}, nil, func(a *agent.Agent) {
		a.Limits = agent.Limits{Window: 100_000_000}
		a.Tools, a.Files = nil, nil
	})
	if store != nil {
		r.store, r.agent.Store = store, store
	}
	return r
}

// BenchmarkFirstPiece measures what the loop adds to the time until the first piece of an answer: storing the prompt on disk and
// building the request. "bare" is the client alone.
func BenchmarkFirstPiece(b *testing.B) {
	for _, n := range []int{0, 100, 1000} {
		b.Run(fmt.Sprintf("bare/%d", n), func(b *testing.B) {
			r := benchRig(b, nil)
			c := r.resume(storeReads(b, r.store, r.dir, n))
			req := &llm.Request{Model: "scripted", MaxTokens: 8192, Messages: append(c.State().Messages, llm.Message{Role: llm.User, Parts: []llm.Part{{Text: "On."}}}), Cache: &llm.Cache{}}
			firstPiece(b, func(each func(llm.Event)) error {
				_, err := r.agent.Model.Stream(context.Background(), req, each)
				return err
			})
		})
		b.Run(fmt.Sprintf("agent/%d", n), func(b *testing.B) {
			store, err := sqlite.OpenSessions(b.Context(), filepath.Join(b.TempDir(), "stet.db"))
			if err != nil {
				b.Fatal(err)
			}
			defer store.Close()
			r := benchRig(b, store)
			c := r.resume(storeReads(b, store, r.dir, n))
			firstPiece(b, func(each func(llm.Event)) error {
				_, err := c.Run(context.Background(), []llm.Part{{Text: "On."}}, func(e agent.Event) {
					if e.Kind == agent.Piece {
						each(e.Piece)
					}
				})
				return err
			})
		})
	}
}

// firstPiece reports the time from a call to its first text event.
func firstPiece(b *testing.B, ask func(func(llm.Event)) error) {
	var sum time.Duration
	for b.Loop() {
		began := time.Now()
		first := time.Duration(0)
		if err := ask(func(e llm.Event) {
			if first == 0 && e.Kind == llm.TextDelta {
				first = time.Since(began)
			}
		}); err != nil {
			b.Fatal(err)
		}
		sum += first
	}
	b.ReportMetric(float64(sum.Microseconds())/float64(b.N), "µs/first")
}

// A request made of 10,000 stored messages: normalised, planned, counted.
func BenchmarkRequest(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := benchRig(b, nil)
			c := r.resume(storeReads(b, r.store, r.dir, n))
			b.ReportAllocs()
			for b.Loop() {
				if f := c.Fill(); f.Used == 0 {
					b.Fatal(f)
				}
			}
		})
	}
}

// A stored session is resumed: read, folded, and measured.
func BenchmarkResume(b *testing.B) {
	store, err := sqlite.OpenSessions(b.Context(), filepath.Join(b.TempDir(), "stet.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	r := benchRig(b, store)
	id := storeReads(b, store, r.dir, 10_000)
	for b.Loop() {
		r.resume(id)
	}
}
