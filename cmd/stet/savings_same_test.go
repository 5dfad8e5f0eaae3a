package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/proxy"
	"github.com/stet-dev/stet/server/web"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/test/recordtest"
	"github.com/stet-dev/stet/test/webtest"
	"github.com/stet-dev/stet/trim"
	"github.com/stet-dev/stet/trim/replay"
)

// BILL-1, BILL-2: for the same traffic, the end of wrap, the page and savings say the same: what was charged, and what was saved. The agents send no
// name of their session, so savings recognises them by the usage.
func TestSameForTheSameTraffic(t *testing.T) {
	const messages = `{"type":"message","role":"assistant","model":"claude-opus-4-6","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn",` +
		`"usage":{"input_tokens":%d,"cache_read_input_tokens":4000,"output_tokens":70,"speed":"fast"}}`
	const gemini = `{"candidates":[{"content":{"role":"model","parts":[{"text":"ok"}]},"finishReason":"STOP"}],` +
		`"usageMetadata":{"promptTokenCount":%d,"candidatesTokenCount":50,"thoughtsTokenCount":20}}`
	for agent, c := range map[string]struct {
		path, answer string
		body         func(reads int) string
		file         func(at time.Time, prompts []int) string
	}{
		"pi":         {"/v1/messages", messages, messagesReads, piFile},
		"Gemini CLI": {"/v1beta/models/gemini-2.5-pro:generateContent", gemini, geminiReads, geminiFile},
	} {
		t.Run(agent, func(t *testing.T) {
			prompts := []int{}
			up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				prompts = append(prompts, 3000+len(prompts))
				w.Header().Set("Content-Type", "application/json")
				_, _ = fmt.Fprintf(w, c.answer, prompts[len(prompts)-1])
			}))
			defer up.Close()
			var rows recordtest.Memory
			p, err := proxy.New(proxy.Config{
				Upstreams: llm.Upstreams{llm.Messages: up.URL, llm.Gemini: up.URL}, Store: &rows, History: trim.Config{Policy: trim.KeepLatest, KeepReads: 1},
			})
			if err != nil {
				t.Fatal(err)
			}
			for reads := range 4 {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost"+c.path, strings.NewReader(c.body(reads)))
				before := p.Totals().USD
				p.ServeHTTP(httptest.NewRecorder(), r)
				for p.Totals().USD == before { // it is counted after its answer, and the next one follows it
					time.Sleep(time.Millisecond)
				}
			}
			if err := p.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			wrapped := p.Totals()

			h := &web.Handler{
				Queue: new(approval.Queue), Records: &rows, Trail: &rows, Sessions: &session.Hub{Store: new(session.Memory)},
				Authenticate: func(string) (web.Person, bool) { return web.Person{ID: "1", Name: "desk", Admin: true}, true },
				Holds:        func(string) (web.Person, bool) { return web.Person{ID: "1", Name: "desk", Admin: true}, true },
				Cost: func(model string, u, whole record.Usage) (float64, float64, bool) {
					m, _ := prices.Lookup(model)
					return m.Bill(u, whole)
				},
			}
			server := httptest.NewServer(h)
			defer server.Close()
			page, err := webtest.Enter(t.Context(), nil, server.URL, "token")
			if err != nil {
				t.Fatal(err)
			}
			var shown web.Savings
			req, err := page.Request(t.Context(), http.MethodGet, "/api/savings?days=1", nil)
			if err != nil {
				t.Fatal(err)
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			said, _ := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if err := json.Unmarshal(said, &shown); err != nil || res.StatusCode != http.StatusOK {
				t.Fatalf("%s: %s", res.Status, said)
			}

			file := filepath.Join(t.TempDir(), "session.jsonl")
			if err := os.WriteFile(file, []byte(c.file(time.Now(), prompts)), 0o600); err != nil {
				t.Fatal(err)
			}
			through, err := passed(t.Context(), &rows)
			if err != nil {
				t.Fatal(err)
			}
			rep, err := replay.Savings(t.Context(), []string{file}, replay.Config{Through: through}, nil)
			if err != nil || len(rep.Sessions) != 1 || !rep.Sessions[0].ThroughStet || rep.Sessions[0].Agent != agent || rep.Totals.USD == nil {
				t.Fatalf("%+v, %v", rep, err)
			}
			usd := rep.Totals.USD
			if usd.With <= 0 || usd.Saved() <= 0 || wrapped.Unpriced != 0 || shown.Total.Unpriced != 0 {
				t.Errorf("savings: %+v, wrap: %+v, the page: %+v", usd, wrapped, shown.Total)
			}
			for name, got := range map[string][2]float64{"wrap": {wrapped.USD, wrapped.Saved}, "the page": {shown.Total.USD, shown.Total.Saved}} {
				if math.Abs(got[0]-usd.With) > 1e-9 || math.Abs(got[1]-usd.Saved()) > 1e-9 {
					t.Errorf("%s: charged %v, saved %v; savings: %v, %v", name, got[0], got[1], usd.With, usd.Saved())
				}
			}
		})
	}
}

// read is what a call to read a file gives.
var read = strings.Repeat("a line of a file that is read more than once\n", 200)

func messagesReads(reads int) string {
	var b strings.Builder
	b.WriteString(`{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"go on"}`)
	for i := range reads {
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"tool_use","id":"c%d","name":"read","input":{"path":"/w/a.go"}}]}`, i)
		fmt.Fprintf(&b, `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"c%d","content":%q}]}`, i, read)
	}
	return b.String() + "]}"
}

func geminiReads(reads int) string {
	var b strings.Builder
	b.WriteString(`{"contents":[{"role":"user","parts":[{"text":"go on"}]}`)
	for range reads {
		b.WriteString(`,{"role":"model","parts":[{"functionCall":{"name":"read_file","args":{"file_path":"/w/a.go"}}}]}`)
		fmt.Fprintf(&b, `,{"role":"user","parts":[{"functionResponse":{"name":"read_file","response":{"output":%q}}}]}`, read)
	}
	return b.String() + "]}"
}

func piFile(at time.Time, prompts []int) string {
	stamp := at.UTC().Format(time.RFC3339Nano)
	out := fmt.Sprintf(`{"type":"session","version":3,"id":"pi1","timestamp":%q,"cwd":"/w"}`+"\n", stamp)
	out += fmt.Sprintf(`{"type":"message","id":"u","parentId":null,"timestamp":%q,"message":{"role":"user","content":[{"type":"text","text":"go on"}]}}`+"\n", stamp)
	parent := "u"
	for i, n := range prompts {
		id := fmt.Sprint("a", i)
		out += fmt.Sprintf(`{"type":"message","id":%q,"parentId":%q,"timestamp":%q,"message":{"role":"assistant","content":[{"type":"text","text":"ok"}],`+
			`"model":"claude-opus-4-6","provider":"anthropic","usage":{"input":%d,"output":70,"cacheRead":4000,"cacheWrite":0}}}`+"\n", id, parent, stamp, n)
		parent = id
	}
	return out
}

func geminiFile(at time.Time, prompts []int) string {
	stamp := at.UTC().Format(time.RFC3339Nano)
	out := fmt.Sprintf(`{"sessionId":"g1","projectHash":"h","startTime":%q,"lastUpdated":%q,"messages":[{"id":"u","timestamp":%q,"type":"user","content":"go on"}`, stamp, stamp, stamp)
	for i, n := range prompts {
		out += fmt.Sprintf(`,{"id":"a%d","timestamp":%q,"type":"gemini","content":"ok","model":"gemini-2.5-pro",`+
			`"tokens":{"input":%d,"output":50,"cached":0,"thoughts":20,"tool":0,"total":%d}}`, i, stamp, n, n+70)
	}
	return out + "]}"
}
