package proxy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/record"
)

// refusals counts the requests to a path that the provider refused.
func (s *strict) refusals(path string) (n int) {
	for _, r := range s.model.Requests() {
		if r.Path == path && r.Status == http.StatusBadRequest {
			n++
		}
	}
	return n
}

// Where the store is lost in the middle of a session, no error reaches the agent. The provider refuses one request (WIRE-1).
func TestStoreIsLost(t *testing.T) {
	for _, policy := range append(history.Policies(), history.Finish) {
		t.Run(string(policy), func(t *testing.T) {
			strictly(t, func(s *strict) {
				s.rush = true
				s.config.History.Policy = policy
				a := s.session("claude-opus-5-5")
				a.rounds(9, s.proxy())
				before, _ := s.shortened()
				if deduplicates := policy == history.Lossless || policy == history.Adaptive || policy == history.Bold; deduplicates && before == 0 {
					t.Error("nothing was shortened")
				}
				s.store = new(record.Memory)
				a.rounds(9, s.proxy())
				if after, _ := s.shortened(); after < before {
					t.Errorf("%d results were shortened, then %d", before, after)
				}
				want := min(before, 1)
				if got := s.refusals("/v1/messages"); got != want {
					t.Errorf("%d requests were refused, not %d", got, want)
				}
			})
		})
	}
}

// Where no known form is right, thinking is dropped, once and for all of the session; and counted (WIRE-1).
func TestThinkingIsDropped(t *testing.T) {
	for _, stream := range []string{"", `,"stream":true`} {
		strictly(t, func(s *strict) {
			s.rush = true
			a := s.session("claude-opus-5-5")
			a.rounds(9, s.proxy())
			s.store, s.config.History.Policy = new(record.Memory), history.Finish // no form is known, and none is computed
			p := s.proxy()
			if stream != "" {
				a.extra = stream
				w := httptest.NewRecorder()
				p.ServeHTTP(w, httptest.NewRequestWithContext(s.t.Context(), http.MethodPost, "http://localhost/v1/messages", strings.NewReader(a.body())))
				if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "message_stop") {
					t.Errorf("%d %s", w.Code, w.Body)
				}
				a.extra = ""
			}
			a.rounds(5, p)
			if got := s.refusals("/v1/messages"); got != 1 {
				t.Errorf("%d requests were refused", got)
			}
			w := httptest.NewRecorder()
			p.ServeHTTP(w, httptest.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://localhost/metrics", nil))
			if !strings.Contains(w.Body.String(), `stet_bound_refusals_total{form="drop_block"}`) || strings.Contains(w.Body.String(), "stet_thinking_dropped_total 0\n") {
				t.Error(w.Body.String())
			}
		})
	}
}

// Where stet changes nothing, an error about thinking is the client's own, and is passed on.
func TestOwnErrorIsPassed(t *testing.T) {
	const message = "The block is bound to a different conversation."
	for name, c := range map[string]Config{"off": {History: history.Config{Policy: history.Off}}, "observe": {Observe: true}} {
		strictly(t, func(s *strict) {
			s.rush = true
			a := s.session("claude-opus-5-5")
			a.rounds(9, s.model)
			f := &refuser{message: message}
			c.Store, c.Transport, c.Upstreams = new(record.Memory), f, Upstreams{Messages: "http://model.test"}
			p, err := New(c)
			if err != nil {
				t.Fatal(err)
			}
			w := httptest.NewRecorder()
			p.ServeHTTP(w, httptest.NewRequestWithContext(s.t.Context(), http.MethodPost, "http://localhost/v1/messages", strings.NewReader(a.body())))
			if w.Code != http.StatusBadRequest || len(f.betas) != 1 {
				t.Errorf("%s: %d after %d tries", name, w.Code, len(f.betas))
			}
			if err := p.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}

// A session that stet meets in the middle goes as it came.
func TestMetInTheMiddle(t *testing.T) {
	strictly(t, func(s *strict) {
		s.rush = true
		a := s.session("claude-opus-5-5")
		a.rounds(9, s.model)
		a.rounds(9, s.proxy())
		if got := s.refusals("/v1/messages"); got != 0 {
			t.Errorf("%d requests were refused", got)
		}
	})
}

// refuser is a provider that takes no request; its n-th answer says so.
type refuser struct {
	message string
	betas   []string // of each request
}

func (f *refuser) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	f.betas = append(f.betas, r.Header.Get("Anthropic-Beta"))
	w := httptest.NewRecorder()
	w.WriteHeader(http.StatusBadRequest)
	fmt.Fprintf(w, `{"type":"error", "error":{"type":"invalid_request_error","message":"%d %s"}}`, len(f.betas), f.message)
	return w.Result(), nil
}

// What no form helps against is the provider's first error, unchanged, after three tries at most. Other errors are
// no reason to try again.
func TestFirstErrorIsPassed(t *testing.T) {
	const bound, other = "The block is bound to a different conversation.", "Invalid `signature` in `thinking` block"
	strictly(t, func(s *strict) {
		s.rush = true
		a := s.session("claude-opus-5-5")
		a.rounds(9, s.proxy())
		for message, want := range map[string][]string{
			bound: {llmtest.ManagingBeta, llmtest.ManagingBeta, llmtest.ManagingBeta + ",thinking-binding-controls-2026-08-01"},
			other: {llmtest.ManagingBeta},
		} {
			for _, path := range []string{"/v1/messages", "/v1/messages/count_tokens"} {
				f := &refuser{message: message}
				p, err := New(Config{Store: s.store, Transport: f, Upstreams: Upstreams{Messages: "http://model.test"}})
				if err != nil {
					t.Fatal(err)
				}
				w := httptest.NewRecorder()
				r := httptest.NewRequestWithContext(s.t.Context(), http.MethodPost, "http://localhost"+path, strings.NewReader(a.body()))
				r.Header.Set("Anthropic-Beta", llmtest.ManagingBeta)
				p.ServeHTTP(w, r)
				if w.Code != http.StatusBadRequest || w.Body.String() != `{"type":"error", "error":{"type":"invalid_request_error","message":"1 `+message+`"}}` {
					t.Errorf("%d %s", w.Code, w.Body)
				}
				if diff := cmp.Diff(want, f.betas); diff != "" {
					t.Error(diff)
				}
				if err := p.Close(context.Background()); err != nil {
					t.Error(err)
				}
			}
		}
	})
}
