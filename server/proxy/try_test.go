package proxy

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/trim"
)

// refused counts all requests that the provider refused.
func (s *strict) refused() (n int) {
	for _, r := range s.model.Requests() {
		if r.Status >= http.StatusBadRequest {
			n++
		}
	}
	return n
}

// dropped counts the requests that ask for thinking to be dropped.
func (s *strict) dropped() (n int) {
	for _, r := range s.model.Requests() {
		if bytes.Contains(r.Body, []byte("drop_block")) {
			n++
		}
	}
	return n
}

// pause is longer than the provider's cache lives.
func pause() { time.Sleep(310 * time.Second) }

// If an account allows edits before thinking, a session saves as much as one whose thinking is not checked. Old outputs leave at
// a cold point, and stay away after a restart, in a fork, and after the next cold point.
func TestTryWhereItPasses(t *testing.T) {
	strictly(t, func(s *strict) {
		s.of(llmtest.OldAccount)
		s.config.TryBound = true
		a, p := s.session("claude-opus-5-5"), s.proxy()
		a.rounds(14, p)
		if _, evicted := s.shortened(); evicted > 0 {
			t.Errorf("%d outputs left where the cache was warm", evicted)
		}
		pause()
		a.rounds(1, p)
		_, evicted := s.shortened()
		if evicted < 3 {
			t.Errorf("after a pause %d outputs have left", evicted)
		}
		b := a.fork()
		a.rounds(8, p)
		synctest.Wait()
		for _, session := range []*session{a, b} {
			session.rounds(2, s.proxy())
			if _, still := s.shortened(); still != evicted {
				t.Errorf("%d outputs had left, then %d", evicted, still)
			}
		}
		pause()
		a.rounds(2, s.proxy())
		if _, more := s.shortened(); more <= evicted {
			t.Errorf("after two pauses %d outputs have left, as after one", more)
		}
		if s.refused() > 0 || s.dropped() > 0 {
			t.Errorf("%d requests were refused, %d asked to drop thinking", s.refused(), s.dropped())
		}
	})
}

// If an account allows no edits, one request is refused, and the agent does not see that. stet remembers the account: in other
// sessions, and after a restart. Another key is another account (WIRE-1).
func TestTryWhereItIsRefused(t *testing.T) {
	strictly(t, func(s *strict) {
		var log bytes.Buffer
		s.config.TryBound, s.config.Logger = true, slog.New(slog.NewTextHandler(&log, nil))
		p := s.proxy()
		play := func(a *session, p *Proxy) {
			t.Helper()
			for range 3 {
				a.rounds(10, p)
				pause()
			}
			a.rounds(3, p)
			if repeats, evicted := s.shortened(); repeats < 5 || evicted > 0 {
				t.Errorf("%d repeats were left out, and %d outputs", repeats, evicted)
			}
		}
		want := 0
		for _, key := range []string{"", "a secret key", "another secret key"} {
			want++
			a, b := s.session("claude-opus-5-5"), s.session("claude-fable-5-1")
			a.key, b.key = key, key
			a.messages[0] = fmt.Sprintf(`{"role":"user","content":"go on with %d"}`, want)
			b.messages[0] = fmt.Sprintf(`{"role":"user","content":"go on without %d"}`, want)
			play(a, p)
			synctest.Wait()
			play(b, p)
			c := a.fork()
			play(c, s.proxy()) // the store has no rows yet that the first proxy writes at its end
			if got := s.refused(); got != want {
				t.Errorf("%d requests of %d accounts were refused", got, want)
			}
		}
		if s.dropped() > 0 {
			t.Error("thinking was dropped")
		}
		if strings.Contains(log.String(), "secret") {
			t.Error("the log has a key")
		}
		w := httptest.NewRecorder()
		p.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/metrics", nil))
		if !strings.Contains(w.Body.String(), `stet_bound_refusals_total{form="append"} 3`) {
			t.Error(w.Body.String())
		}
	})
}

// After a refused try, sessions go on as if there was none, and what was sent stays (WIRE-2).
func TestRefusedTryLeavesNoTrace(t *testing.T) {
	for _, policy := range trim.Policies() {
		t.Run(string(policy), func(t *testing.T) {
			var sent [2]string
			for i, try := range []bool{false, true} {
				strictly(t, func(s *strict) {
					s.config.TryBound, s.config.History = try, trim.Config{Policy: policy, KeepReads: 1}
					a, p := s.session("claude-opus-5-5"), s.proxy()
					for range 3 {
						a.rounds(7, p)
						pause()
						a.rounds(1, p)
						synctest.Wait()
						a.rounds(1, s.proxy())
					}
					sent[i] = s.sent()
					if tried := try && (policy == trim.Adaptive || policy == trim.Bold); (s.refused() == 1) != tried {
						t.Errorf("%d requests were refused", s.refused())
					}
				})
			}
			if sent[0] != sent[1] {
				t.Errorf("%d bytes without a try, %d with one", len(sent[0]), len(sent[1]))
			}
		})
	}
}

// Nothing is tried if the provider would not refuse it at once, or would drop thinking because of it.
func TestNothingIsTried(t *testing.T) {
	for name, prepare := range map[string]func(s *strict, a *session){
		"the client says what is to happen": func(_ *strict, a *session) {
			a.betas, a.extra = ","+llmtest.BindingBeta, `,"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}}`
		},
		"the thinking is left out": func(_ *strict, a *session) {
			for i, m := range a.messages {
				a.messages[i] = string(withoutThinking([]byte(m)))
			}
		},
		"a model that does not check": func(_ *strict, a *session) { a.model = "claude-sonnet-4-5" },
		"finish":                      func(s *strict, _ *session) { s.config.History.Policy = trim.Finish },
		"the store is silent":         func(s *strict, _ *session) { s.config.Store = silentStore{s.store} },
	} {
		t.Run(name, func(t *testing.T) {
			strictly(t, func(s *strict) {
				s.of(llmtest.OldAccount)
				s.config.TryBound = true
				a := s.session("claude-opus-5-5")
				a.rounds(14, s.proxy())
				prepare(s, a)
				p := s.proxy()
				if s.config.Store != nil {
					p.accounts.store = s.config.Store
				}
				pause()
				a.rounds(1, p)
				if _, evicted := s.shortened(); evicted > 0 {
					t.Errorf("%d outputs have left", evicted)
				}
				if s.refused() > 0 {
					t.Errorf("%d requests were refused", s.refused())
				}
			})
		})
	}
}

// WIRE-1: with an account that allows no edits, no thinking is lost by a try, in random sessions.
func TestTriesAtRandom(t *testing.T) {
	for seed := range uint64(12) {
		strictly(t, func(s *strict) {
			s.config.TryBound = true
			playBoundSessionBy(s, seed, 12, strings.Fields("pause restart kill midkill lost fork turn back again new model tools compact"), trim.Adaptive)
			if s.dropped() > 0 {
				t.Errorf("seed %d: thinking was dropped", seed)
			}
		})
	}
}

// The key and the upstream distinguish accounts.
func TestAccountOf(t *testing.T) {
	p, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close(context.Background()) }()
	seen := map[uint64]string{}
	for _, to := range []endpoint{p.endpoints.messages, p.endpoints.chat} {
		for _, h := range []http.Header{{}, {"X-Api-Key": {"a"}}, {"X-Api-Key": {"b"}}, {"Authorization": {"a"}}, {"Authorization": {"a"}, "X-Api-Key": {"a"}}} {
			account := accountOf("it", to, h)
			if seen[account] != "" || account != accountOf("it", to, h) {
				t.Errorf("%s %v is taken for %s", to.upstream.Host, h, seen[account])
			}
			seen[account] = fmt.Sprint(to.upstream.Host, h)
		}
	}
}

// Forgotten accounts are looked up in the store again.
func TestAccountsAreBounded(t *testing.T) {
	a := accounts{store: new(record.Memory)}
	if err := a.store.Append(t.Context(), record.Batch{Places: []record.SentPlace{{Place: 7, Time: time.Now()}}}); err != nil {
		t.Fatal(err)
	}
	for i := range uint64(3 * maxAccounts) {
		if got := a.mayRefuse(t.Context(), i); got != (i == 7) || len(a.refuses) > maxAccounts {
			t.Fatalf("account %d: %t, %d are held", i, got, len(a.refuses))
		}
	}
	if !a.mayRefuse(t.Context(), 7) {
		t.Error("what was refused is forgotten")
	}
}
