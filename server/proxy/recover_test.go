package proxy

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/test/recordtest"
	"github.com/stet-dev/stet/test/strictmodel"
	"github.com/stet-dev/stet/trim"
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

// If the store is lost in the middle of a session, the agent gets no error. The provider refuses at most one request (WIRE-1).
func TestStoreIsLost(t *testing.T) {
	for _, policy := range append(trim.Policies(), trim.Finish) {
		t.Run(string(policy), func(t *testing.T) {
			strictly(t, func(s *strict) {
				s.rush = true
				s.config.History.Policy = policy
				a := s.session("claude-opus-5-5")
				a.rounds(9, s.proxy())
				before, _ := s.shortened()
				if deduplicates := policy == trim.Lossless || policy == trim.Adaptive || policy == trim.Bold; deduplicates && before == 0 {
					t.Error("nothing was shortened")
				}
				s.store = new(recordtest.Memory)
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

// The same holds if the policy changes with that to one that shortens nothing (WIRE-1).
func TestStoreIsLostAndPolicy(t *testing.T) {
	for _, policy := range []trim.Policy{trim.Off, trim.Finish} {
		strictly(t, func(s *strict) {
			s.rush = true
			a := s.session("claude-opus-5-5")
			a.rounds(9, s.proxy())
			s.store, s.config.History.Policy = new(recordtest.Memory), policy
			a.rounds(3, s.proxy())
			synctest.Wait()
			a.rounds(3, s.proxy())
			if got := s.refusals("/v1/messages"); got != 1 {
				t.Errorf("%s: %d requests were refused", policy, got)
			}
		})
	}
}

// If no known form is right, stet asks the provider to drop thinking. It decides that once for the session, and counts it
// (WIRE-1).
func TestThinkingIsDropped(t *testing.T) {
	for _, stream := range []string{"", `,"stream":true`} {
		strictly(t, func(s *strict) {
			s.rush = true
			a := s.session("claude-opus-5-5")
			a.rounds(9, s.proxy())
			s.store, s.config.History.Policy = new(recordtest.Memory), trim.Finish // no form is known, and finish computes none
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
			synctest.Wait()
			a.rounds(3, s.proxy())
			s.config.History.Policy = trim.Adaptive
			a.fork().rounds(2, s.proxy())
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

// A refusal that comes compressed is read, although no compression was asked for.
func TestRefusalIsCompressed(t *testing.T) {
	strictly(t, func(s *strict) {
		s.rush = true
		a := s.session("claude-opus-5-5")
		a.rounds(9, s.proxy())
		s.store, s.config.History.Policy = new(recordtest.Memory), trim.Finish
		s.before = func(r *http.Request) *http.Response {
			w := httptest.NewRecorder()
			s.model.ServeHTTP(w, r)
			resp := w.Result()
			if resp.StatusCode == http.StatusBadRequest {
				var b bytes.Buffer
				z := gzip.NewWriter(&b)
				_, _ = z.Write(w.Body.Bytes()) // a write to memory does not fail
				_ = z.Close()
				resp.Header.Set("Content-Encoding", "gzip")
				resp.Body, resp.ContentLength = io.NopCloser(&b), int64(b.Len())
			}
			return resp
		}
		a.rounds(3, s.proxy())
		if got := s.refusals("/v1/messages"); got != 1 {
			t.Errorf("%d requests were refused", got)
		}
	})
}

// If stet only observes, an error about thinking is the client's own, and is passed on.
func TestOwnErrorIsPassed(t *testing.T) {
	const message = "The block is bound to a different conversation."
	for name, c := range map[string]Config{"observe": {Observe: true}, "observe, off": {Observe: true, History: trim.Config{Policy: trim.Off}}} {
		strictly(t, func(s *strict) {
			s.rush = true
			a := s.session("claude-opus-5-5")
			a.rounds(9, s.model)
			f := &refuser{message: message}
			c.Store, c.Transport, c.Upstreams = new(recordtest.Memory), f, llm.Upstreams{llm.Messages: "http://model.test"}
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

// If a session began without stet, its messages go out as they came.
func TestSessionBegunWithoutStet(t *testing.T) {
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

// The record of a refused request has the form that the provider accepted at last. Later requests are compared with that form, as
// in a session whose form was always known (WIRE-2).
func TestRecordOfAcceptedForm(t *testing.T) {
	var all [2][]record.Request
	// The recorded cold points. A new store does not know the answer before, so the first pause is none to it, and the second one is.
	// The usage after the first pause that is known shows that the cache outlived it: it is a cold point no more.
	moments := [2][]string{{"gap true", " false", " false"}, {" false", "gap true", " false"}}
	for i, refused := range []bool{false, true} {
		strictly(t, func(s *strict) {
			a := s.session("claude-opus-5-5")
			a.rounds(12, s.proxy())
			synctest.Wait()
			s.config.History.Policy, s.config.KeepResults = trim.Adaptive, true // a refused request clears no new results
			if refused {
				s.store = new(recordtest.Memory)
			}
			p := s.proxy()
			pause()
			a.rounds(1, p)
			pause()
			a.rounds(2, p)
			if s.refused() > 0 != refused {
				t.Errorf("%d requests were refused", s.refused())
			}
			if err := p.Close(s.t.Context()); err != nil {
				t.Error(err)
			}
			rows, err := s.store.Requests(s.t.Context(), record.Query{})
			if err != nil {
				t.Fatal(err)
			}
			var told []string
			for _, r := range rows[len(rows)-6:] {
				if r.API == "messages" {
					told = append(told, fmt.Sprint(r.Cache.Moment, " ", r.Cache.Alive))
				}
				r.ID, r.Added, r.Conversation = "", 0, ""
				r.Cache.Gap, r.Cache.Lifetime = 0, 0      // a new store does not know the answer before, nor how long the cache lived
				r.Cache.Moment, r.Cache.Alive = "", false // told has them
				all[i] = append(all[i], r)
			}
			if !slices.Equal(told, moments[i]) {
				t.Errorf("refused %v: cold points %q, want %q", refused, told, moments[i])
			}
			// Two requests of the same time may be recorded in any order.
			slices.SortFunc(all[i], func(a, b record.Request) int {
				if c := a.Time.Compare(b.Time); c != 0 {
					return c
				}
				return strings.Compare(string(a.API), string(b.API))
			})
		})
	}
	if diff := cmp.Diff(all[0], all[1]); diff != "" || all[0][1].Trimmed == 0 || all[0][1].TokensOff == all[0][1].Tokens {
		t.Errorf("%+v %s", all[0][1], diff)
	}
}

// refuser is a provider that refuses every request. The error of its n-th answer begins with n.
type refuser struct {
	message string
	betas   []string // of each request
	bodies  []string
}

func (f *refuser) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	f.bodies = append(f.bodies, string(body))
	f.betas = append(f.betas, r.Header.Get("Anthropic-Beta"))
	w := httptest.NewRecorder()
	w.WriteHeader(http.StatusBadRequest)
	fmt.Fprintf(w, `{"type":"error", "error":{"type":"invalid_request_error","message":"%d %s"}}`, len(f.betas), f.message)
	return w.Result(), nil
}

// If a provider refuses every form of a request, stet tries them in this order: the most likely form, then the other one, then
// the first one again with thinking dropped. It tries three at most, and no form twice (WIRE-1).
func TestOrderOfTries(t *testing.T) {
	const original, shortened, drops = "as it came", "shortened", ", thinking dropped" // the messages before the newest
	for name, test := range map[string]struct {
		before func(s *strict, a *session)
		want   []string
	}{
		"both forms are equal": {func(s *strict, a *session) { a.rounds(2, s.model) }, []string{original, original + drops}},
		"nothing is known":     {func(s *strict, a *session) { a.rounds(9, s.model) }, []string{original, shortened, original + drops}},
		"nothing is known, and nothing new is shortened": {func(s *strict, a *session) {
			a.rounds(9, s.model)
			s.config.History.Policy = trim.Finish
		}, []string{original, original + drops}},
		"the conversation is known without its form": {func(s *strict, a *session) {
			a.rounds(9, s.proxy())
			synctest.Wait()
			if _, err := s.store.Prune(s.t.Context(), record.Limits{FormBytes: 1}); err != nil {
				s.t.Fatal(err)
			}
		}, []string{shortened, original, shortened + drops}},
		"its form is known": {func(s *strict, a *session) { a.rounds(9, s.proxy()) }, []string{shortened, original, shortened + drops}},
		"its form is known, and nothing else": {func(s *strict, a *session) {
			a.rounds(9, s.proxy())
			synctest.Wait()
			if _, err := s.store.Prune(s.t.Context(), record.Limits{Turns: 1}); err != nil {
				s.t.Fatal(err)
			}
		}, []string{shortened, original, shortened + drops}},
		"it passed through unchanged": {func(s *strict, a *session) {
			s.config.History.Policy = trim.Off
			a.rounds(3, s.proxy())
			s.config.History.Policy = ""
		}, []string{original, shortened, original + drops}},
		"thinking was dropped before": {func(s *strict, a *session) {
			a.rounds(9, s.proxy())
			s.store, s.config.History.Policy = new(recordtest.Memory), trim.Finish
			a.rounds(1, s.proxy())
		}, []string{original + drops}},
	} {
		t.Run(name, func(t *testing.T) {
			strictly(t, func(s *strict) {
				s.rush = true
				a := s.session("claude-opus-5-5")
				test.before(s, a)
				synctest.Wait()
				f := &refuser{message: "The block is bound to a different conversation."}
				p, err := New(Config{Store: s.store, Transport: f, Upstreams: llm.Upstreams{llm.Messages: "http://model.test"}, History: s.config.History})
				if err != nil {
					s.t.Fatal(err)
				}
				s.proxies = append(s.proxies, p)
				p.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(s.t.Context(), http.MethodPost, "http://localhost/v1/messages", strings.NewReader(a.body())))
				var got []string
				for _, body := range f.bodies {
					form := shortened
					if strings.Contains(body, strings.Join(a.messages[:len(a.messages)-1], ",")) {
						form = original
					}
					if strings.Contains(body, "drop_block") {
						form += drops
					}
					got = append(got, form)
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// If no form helps, the client gets the provider's first error unchanged, after at most three tries. After other errors stet does
// not try again.
func TestFirstErrorIsPassed(t *testing.T) {
	const bound, other = "The block is bound to a different conversation.", "Invalid `signature` in `thinking` block"
	strictly(t, func(s *strict) {
		s.rush = true
		a := s.session("claude-opus-5-5")
		a.rounds(9, s.proxy())
		for message, want := range map[string][]string{
			bound: {strictmodel.ManagingBeta, strictmodel.ManagingBeta, strictmodel.ManagingBeta + ",thinking-binding-controls-2026-08-01"},
			other: {strictmodel.ManagingBeta},
		} {
			for _, path := range []string{"/v1/messages", "/v1/messages/count_tokens"} {
				f := &refuser{message: message}
				p, err := New(Config{Store: s.store, Transport: f, Upstreams: llm.Upstreams{llm.Messages: "http://model.test"}})
				if err != nil {
					t.Fatal(err)
				}
				w := httptest.NewRecorder()
				r := httptest.NewRequestWithContext(s.t.Context(), http.MethodPost, "http://localhost"+path, strings.NewReader(a.body()))
				r.Header.Set("Anthropic-Beta", strictmodel.ManagingBeta)
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
