package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/anthropic"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/test/recordtest"
	"github.com/stet-dev/stet/trim"
)

const twoReads = `{"model":"m","messages":[{"role":"user","content":"go"},` +
	`{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"Read","input":{"file_path":"a.go"}}]},` +
	`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"     1\tpackage a // and a long line of words, longer than the line that takes its place: it goes on and on, with more words, and yet more of them, until it is long\n     2\tfunc F() {}"}]},` +
	`{"role":"assistant","content":[{"type":"tool_use","id":"c2","name":"Read","input":{"file_path":"a.go"}}]},` +
	`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c2","content":"     1\tpackage a // and a long line of words, longer than the line that takes its place: it goes on and on, with more words, and yet more of them, until it is long\n     2\tfunc F() {}"}]}]}`

// faulty is the codec of Messages with one fault.
type faulty struct {
	anthropic.Messages
	fault string
}

func (f faulty) Decode(body []byte) (*llm.Request, error) {
	if f.fault == "decode panics" {
		panic("broken")
	}
	return f.Messages.Decode(body)
}

func (f faulty) Session(h func(string) string, r *llm.Request) (string, string) {
	if f.fault == "session panics" {
		panic("broken")
	}
	return f.Messages.Session(h, r)
}

func (f faulty) Patch(dst, body []byte, r *llm.Request, edits []llm.Edit) ([]byte, error) {
	out, err := f.Messages.Patch(dst, body, r, edits)
	switch f.fault {
	case "patch panics":
		panic("broken")
	case "patch fails":
		return dst, errors.New("broken")
	case "patch is not JSON":
		return bytes.Replace(out, []byte(`[stet`), []byte(`["stet`), 1), err
	case "patch has another text":
		return bytes.Replace(out, []byte(`[stet`), []byte(`(stet`), 1), err
	case "patch is cut":
		return out[:len(out)-1], err
	case "patch has more":
		return append(out, ' '), err
	case "patch changes what stands before":
		return bytes.Replace(out, []byte(`"go"`), []byte(`"no"`), 1), err
	case "patch changes what stands behind":
		return bytes.Replace(out, []byte(`"c2"`), []byte(`"c1"`), 2), err
	}
	return out, err
}

func (f faulty) NewMeter(kind string) llm.Meter {
	if f.fault == "meter panics" {
		return brokenMeter{}
	}
	return f.Messages.NewMeter(kind)
}

type brokenMeter struct{ llm.Meter }

func (brokenMeter) Write([]byte) (int, error) { panic("broken") }

// If stet's own code fails, the request goes out as it came.
func TestDoubt(t *testing.T) {
	for _, fault := range []string{
		"", "decode panics", "session panics", "patch panics", "patch fails", "patch is not JSON", "patch has another text",
		"patch is cut", "patch has more", "patch changes what stands before", "patch changes what stands behind", "meter panics",
	} {
		t.Run(fault, func(t *testing.T) {
			var got atomic.Pointer[string]
			up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				s := string(body)
				got.Store(&s)
				_, _ = io.WriteString(w, "{}")
			}))
			defer up.Close()
			store := new(recordtest.Memory)
			var log bytes.Buffer
			p, err := New(Config{
				Upstreams: llm.Upstreams{llm.Messages: up.URL}, History: trim.Config{Policy: trim.KeepLatest, KeepReads: 1},
				Store: store, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			})
			if err != nil {
				t.Fatal(err)
			}
			p.endpoints.messages.codec = faulty{fault: fault}
			for range 2 {
				w := httptest.NewRecorder()
				p.ServeHTTP(w, httptest.NewRequest("POST", "http://localhost/v1/messages", strings.NewReader(twoReads)))
				if w.Code != 200 || w.Body.String() != "{}" {
					t.Errorf("%d %s", w.Code, w.Body)
				}
			}
			closeNow(t, p)
			rows, err := store.Requests(t.Context(), record.Query{})
			if err != nil || len(rows) != 2 {
				t.Fatalf("rows %+v, %v", rows, err)
			}
			if fault == "" || fault == "meter panics" {
				if *got.Load() == twoReads || rows[0].Trimmed != 1 || rows[0].Passed != "" {
					t.Errorf("nothing was trimmed: %+v", rows[0])
				}
				return
			}
			if *got.Load() != twoReads || rows[0].Passed == "" || rows[0].Trimmed != 0 {
				t.Errorf("row %+v, upstream got %s", rows[0], *got.Load())
			}
			if n := strings.Count(log.String(), "level=WARN"); strings.HasPrefix(fault, "patch") && n != 1 {
				t.Errorf("%d warnings for one conversation: %s", n, log.String())
			}
			if strings.Contains(log.String(), "package a") {
				t.Errorf("content in the log: %s", log.String())
			}
		})
	}
}

// badStore fails with err, if that is set.
type badStore struct {
	recordtest.Memory
	err  error
	hold chan struct{}
}

func (s *badStore) Append(ctx context.Context, b record.Batch) error {
	if s.hold != nil {
		<-s.hold
	}
	if s.err != nil {
		return s.err
	}
	return s.Memory.Append(ctx, b)
}

func closeNow(t *testing.T, p *Proxy) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := p.Close(ctx); err != nil {
		t.Error(err)
	}
}

func ask(p *Proxy) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequest("POST", "http://localhost/v1/messages", strings.NewReader(twoReads)))
	return w
}

// If the store fails, the record is lost, and the request is answered.
func TestStoreFails(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
	defer up.Close()
	p, err := New(Config{Upstreams: llm.Upstreams{llm.Messages: up.URL}, Store: &badStore{err: errors.New("disk full")}})
	if err != nil {
		t.Fatal(err)
	}
	if w := ask(p); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	closeNow(t, p)
	if err := p.writer.trouble(); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("trouble: %v", err)
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/metrics", nil))
	if !strings.Contains(w.Body.String(), "stet_records_lost_total 3") { // the request, its turn, and the calls of its tool
		t.Error(w.Body.String())
	}
}

// Turns that wait to be written are counted and bounded like other rows.
func TestQueueBounded(t *testing.T) {
	p := newProxy(t)
	w := &writer{metrics: p.metrics, more: make(chan struct{}, 1)} // it has no goroutine that writes
	w.add(record.Batch{Turns: make([]record.Turn, maxQueued)})
	w.add(record.Batch{Turns: make([]record.Turn, 3)})
	if len(w.queue.Turns) != maxQueued {
		t.Errorf("%d turns wait", len(w.queue.Turns))
	}
	rec := httptest.NewRecorder()
	p.ServeHTTP(rec, httptest.NewRequest("GET", "http://localhost/metrics", nil))
	if !strings.Contains(rec.Body.String(), "stet_records_lost_total 3") {
		t.Error(rec.Body.String())
	}
}

// A store that does not return delays Close, and no request.
func TestStoreHangs(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
	defer up.Close()
	s := &badStore{hold: make(chan struct{})}
	p, err := New(Config{Upstreams: llm.Upstreams{llm.Messages: up.URL}, Store: s})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if w := ask(p); w.Code != 200 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("close: %v", err)
	}
	close(s.hold)
	closeNow(t, p)
	closeNow(t, p)
	if rows, err := s.Requests(t.Context(), record.Query{}); err != nil || len(rows) != 3 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

// Close waits for requests in flight, cuts them off when its time is over, and serves nothing after that.
func TestClose(t *testing.T) {
	begun := make(chan struct{})
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(begun)
		<-r.Context().Done()
	}))
	defer up.Close()
	p, err := New(Config{Upstreams: llm.Upstreams{llm.Messages: up.URL}})
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan *httptest.ResponseRecorder, 1)
	go func() { answered <- ask(p) }()
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Close(ctx); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "in flight") {
		t.Errorf("close: %v", err)
	}
	if w := <-answered; w.Code != http.StatusServiceUnavailable && w.Code != http.StatusBadGateway {
		t.Errorf("cut off with %d %s", w.Code, w.Body)
	}
	closeNow(t, p)
	if w := ask(p); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "closing") {
		t.Errorf("after Close: %d %s", w.Code, w.Body)
	}
	if totals := p.Totals(); totals.Requests != 1 || totals.Errors != 1 {
		t.Errorf("totals %+v", totals)
	}
}
