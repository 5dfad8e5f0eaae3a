package proxy

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/test/recordtest"
	"github.com/stet-dev/stet/test/strictmodel"
)

// countingStore takes its time for each write, and counts those that say how a request was sent.
type countingStore struct {
	recordtest.Memory
	writes atomic.Int32
}

func (s *countingStore) Append(ctx context.Context, b record.Batch) error {
	time.Sleep(maxNow / 2)
	if len(b.Places) > 0 {
		s.writes.Add(1)
	}
	return s.Memory.Append(ctx, b)
}

func (s *countingStore) written() int { return int(s.writes.Load()) }

// watching is a client that looks at the store when an answer begins, and when the first byte of its body comes.
type watching struct {
	*httptest.ResponseRecorder
	store         *countingStore
	header, first int // writes by then; -1: it has not come
}

func (a *watching) WriteHeader(status int) {
	a.header = a.store.written()
	a.ResponseRecorder.WriteHeader(status)
}

func (a *watching) Write(b []byte) (int, error) {
	if a.first < 0 {
		a.first = a.store.written()
	}
	return a.ResponseRecorder.Write(b)
}

// WIRE-1: how a request was sent is stored before its answer begins, and the signature of an answer before the client has it: the process
// may be killed after that.
func TestStoredBeforeTheAnswer(t *testing.T) {
	for name, extra := range map[string]string{"whole": "", "stream": `,"stream":true`} {
		t.Run(name, func(t *testing.T) {
			strictly(t, func(s *strict) {
				store := new(countingStore)
				p, err := New(Config{Store: store, Transport: s, Upstreams: llm.Upstreams{llm.Messages: "http://model.test"}})
				if err != nil {
					t.Fatal(err)
				}
				s.proxies = append(s.proxies, p)
				a := s.session("claude-opus-5-5")
				a.rounds(4, p)
				a.extra = extra
				time.Sleep(time.Minute)
				before := store.written()
				r := httptest.NewRequest(http.MethodPost, "http://localhost/v1/messages", strings.NewReader(a.body()))
				r.Header.Set("Anthropic-Beta", strictmodel.ManagingBeta)
				w := &watching{httptest.NewRecorder(), store, -1, -1}
				p.ServeHTTP(w, r)
				if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "signature") {
					t.Fatalf("%d %s", w.Code, w.Body)
				}
				if w.header < before+1 {
					t.Errorf("the answer began after %d writes", w.header-before)
				}
				if last := store.written(); extra == "" && w.first < before+2 || last < before+2 {
					t.Errorf("the signature was passed on after %d writes; %d at the end", w.first-before, last-before)
				}
			})
		})
	}
}
