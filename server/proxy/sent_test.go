package proxy

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/proxy/sent"
	"github.com/stet-dev/stet/test/strictmodel"
	"github.com/stet-dev/stet/trim"
)

// A proxy with another policy, or with placeholders in another language, or one that only observes, sends earlier messages in the
// form in which they were sent (WIRE-1, WIRE-2). A proxy that only observes has the same policy; with STET_SOAK=1 it has the others too.
func TestAnotherPolicyGoesOnAsSent(t *testing.T) {
	policies := append(trim.Policies(), trim.Finish)
	_, long := soaks()
	for _, first := range policies {
		for _, then := range policies {
			for _, observes := range []bool{false, true} {
				if observes && first != then && !long {
					continue
				}
				t.Run(fmt.Sprintf("%s, %s, observes %t", first, then, observes), func(t *testing.T) {
					strictly(t, func(s *strict) {
						s.rush = true
						s.config.History = trim.Config{Policy: first, KeepReads: 1, KeepShell: 1}
						a := s.session("claude-opus-5-5")
						a.rounds(8, s.proxy())
						repeats, _ := s.shortened()
						s.config.History.Policy, s.config.History.Language, s.config.Observe = then, "zh", observes
						a.rounds(5, s.proxy())
						if still, _ := s.shortened(); still < repeats {
							t.Errorf("%d of %d shortened results are left", still, repeats)
						}
						b := a.fork()
						s.config.History.Policy, s.config.History.Language, s.config.Observe = first, "", false
						p := s.proxy()
						a.rounds(4, p)
						b.rounds(4, p)
						if more, _ := s.shortened(); repeats > 0 && more <= repeats {
							t.Error("what is new is not shortened any more")
						}
					})
				})
			}
		}
	}
}

// On any doubt, earlier messages go out in the form in which they were sent, and only new messages go out unchanged (WIRE-1).
func TestDoubtGoesOnAsSent(t *testing.T) {
	for name, doubt := range map[string]func(s *strict, a *session, p *Proxy){
		"managed": func(_ *strict, a *session, _ *Proxy) {
			a.extra = `,"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]}`
		},
		"no plan": func(_ *strict, _ *session, p *Proxy) { p.engines.config.Language = "none"; p.engines.made = nil },
		"panic":   func(_ *strict, _ *session, p *Proxy) { p.engines.rules = nil; p.engines.made = nil },
	} {
		t.Run(name, func(t *testing.T) {
			strictly(t, func(s *strict) {
				a, p := s.session("claude-opus-5-5"), s.proxy()
				a.rounds(8, p)
				before, _ := s.shortened()
				rules := p.engines.rules
				doubt(s, a, p)
				a.rounds(4, p)
				if after, _ := s.shortened(); after != before || before == 0 {
					t.Errorf("%d results were shortened, then %d", before, after)
				}
				p.engines.rules, p.engines.config.Language, a.extra = rules, "", ""
				a.rounds(4, p)
				if after, _ := s.shortened(); after <= before {
					t.Error("nothing new is shortened")
				}
			})
		})
	}
}

// A session goes back and asks the provider to manage its context for a while, and its proxies are killed. 8 sessions, or 100 with STET_SOAK=1.
func TestManagedBackAndKilled(t *testing.T) {
	from, seeds := uint64(0), uint64(8)
	if first, long := soaks(); long {
		from, seeds = first, 100
	}
	for seed := from; seed < from+seeds; seed++ {
		playBoundSession(t, seed, 14, strings.Fields("again back manage manage again kill restart"), trim.Adaptive)
	}
}

// WIRE-2: each proxy has a random policy. 4 sessions, or 100 with STET_SOAK=1.
func TestOtherPoliciesAtRandom(t *testing.T) {
	from, seeds := uint64(0), uint64(4)
	if first, long := soaks(); long {
		from, seeds = first, 100
	}
	for seed := from; seed < from+seeds; seed++ {
		playBoundSession(t, seed, 12, strings.Fields("pause restart kill midkill through fork turn back again manage strip"), append(trim.Policies(), trim.Finish)...)
	}
}

// A session goes on with its sent edits although its turns were removed from the store: the sent edits are kept apart from the
// turns.
func TestTurnsAreForgotten(t *testing.T) {
	for _, policy := range trim.Policies() {
		t.Run(string(policy), func(t *testing.T) {
			strictly(t, func(s *strict) {
				s.config.History = trim.Config{Policy: policy, KeepReads: 1}
				a := s.session("claude-opus-5-5")
				a.rounds(10, s.proxy())
				before, _ := s.shortened()
				synctest.Wait()
				if _, err := s.store.Prune(t.Context(), record.Limits{Turns: 1, FormBytes: maxFormBytes}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(30 * 24 * time.Hour)
				b, c := a.fork(), a.fork()
				for i, m := range c.messages { // the first request is one without thinking
					c.messages[i] = string(withoutThinking([]byte(m)))
				}
				s.quiet = true
				p := s.proxy()
				c.rounds(1, p)
				copy(c.messages, b.messages)
				s.quiet = false
				c.rounds(2, p)
				a.rounds(5, s.proxy())
				b.rounds(5, s.proxy())
				if s.refused() > 0 {
					t.Errorf("%d requests were refused", s.refused())
				}
				if after, _ := s.shortened(); after < before {
					t.Errorf("%d results were shortened, then %d", before, after)
				}
			})
		})
	}
}

// silentStore is a store that never answers how conversations were sent.
type silentStore struct{ record.Store }

func (silentStore) SentForms(ctx context.Context, _ []uint64) ([]record.SentPlace, []record.SentForm, error) {
	<-ctx.Done()
	return nil, nil, ctx.Err()
}

// If the store does not answer, a session keeps what this process knows.
func TestStoreIsSilent(t *testing.T) {
	strictly(t, func(s *strict) {
		a, p := s.session("claude-opus-5-5"), s.proxy()
		p.forms = sent.NewMemory(silentStore{s.store})
		a.rounds(2, p)
		a.rounds(2, s.model) // the proxy does not know these messages, and sends them unchanged
		a.rounds(10, p)
		if repeats, _ := s.shortened(); repeats == 0 {
			t.Errorf("%d results are shortened", repeats)
		}
	})
}

// heldStore is a store that does not answer for a while.
type heldStore struct {
	record.Store
	mu   sync.Mutex
	over chan struct{} // closed when the store answers again; nil: it answers
	late chan struct{} // the same for writes
}

func (h *heldStore) wait(ctx context.Context) error {
	h.mu.Lock()
	over := h.over
	h.mu.Unlock()
	return waitFor(ctx, over)
}

func waitFor(ctx context.Context, over chan struct{}) error {
	if over == nil {
		return nil
	}
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *heldStore) hold(over chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = over
}

func (h *heldStore) SentForms(ctx context.Context, places []uint64) ([]record.SentPlace, []record.SentForm, error) {
	if err := h.wait(ctx); err != nil {
		return nil, nil, err
	}
	return h.Store.SentForms(ctx, places)
}

func (h *heldStore) Append(ctx context.Context, b record.Batch) error {
	if err := cmp.Or(h.wait(ctx), waitFor(ctx, h.late)); err != nil {
		return err
	}
	return h.Store.Append(ctx, b)
}

// A conversation changes between two processes at every turn, and the store that they share does not answer for a while. It keeps
// its form: each process plans what the other one sent in the same way. What was sent meanwhile is stored later, for other
// processes (WIRE-1, WIRE-2).
func TestStoreIsHeld(t *testing.T) {
	for _, rounds := range []int{2, 9} { // with 2, the writes end when the store answers; with 9, they give up before
		strictly(t, func(s *strict) {
			s.rush = true
			held := &heldStore{Store: s.store}
			process := func() *Proxy {
				p := s.proxy()
				p.forms, p.writer.store = sent.NewMemory(held), held
				return p
			}
			a, two := s.session("claude-opus-5-5"), []*Proxy{process(), process()}
			for i := range 9 {
				a.rounds(1, two[i%2])
			}
			before, _ := s.shortened()
			over := make(chan struct{})
			held.hold(over)
			for i := range rounds {
				a.rounds(1, two[i%2])
				time.Sleep(3 * time.Second)
			}
			during, _ := s.shortened()
			held.hold(nil)
			close(over)
			time.Sleep(time.Minute)
			a.rounds(4, process())
			after, _ := s.shortened()
			if s.refused() > 0 || before == 0 || during < before || after < during {
				t.Errorf("%d requests were refused; %d results were shortened, %d while the store was held, %d then", s.refused(), before, during, after)
			}
		})
	}
}

// The store that three processes share answers again, and what they sent meanwhile is not stored yet. The conversation goes on at once, each
// time with a process that does not know the messages before (WIRE-1, WIRE-2).
func TestRowsComeLate(t *testing.T) {
	strictly(t, func(s *strict) {
		s.rush = true
		held := &heldStore{Store: s.store}
		a, all := s.session("claude-opus-5-5"), []*Proxy{s.proxy(), s.proxy(), s.proxy()}
		for _, p := range all {
			p.forms, p.writer.store = sent.NewMemory(held), held
		}
		for i := range 9 {
			a.rounds(1, all[i%3])
		}
		over := make(chan struct{})
		held.late = make(chan struct{})
		held.hold(over)
		for i := range 6 {
			a.rounds(1, all[i%3])
			time.Sleep(10 * time.Second)
		}
		held.hold(nil)
		close(over)
		for i := range 3 {
			a.rounds(1, all[i])
		}
		close(held.late)
		for i := range 6 {
			a.rounds(1, all[i%3])
		}
		// A process that has not met the silence itself may have one request refused, which is sent again. Without the rule seven were.
		if repeats, _ := s.shortened(); s.refused() > 1 || repeats == 0 {
			t.Errorf("%d requests were refused; %d results were shortened", s.refused(), repeats)
		}
	})
}

// The signature of an answer is stored before the client gets the answer, because a proxy may be killed at any time. It tells
// apart two forms of the same messages (WIRE-1).
func TestKilledAfterAnAnswer(t *testing.T) {
	strictly(t, func(s *strict) {
		s.rush = true
		a, p := s.session("claude-opus-5-5"), s.proxy()
		a.rounds(6, p)
		b := a.fork()
		a.extra = `,"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]}`
		a.rounds(1, p) // sends the newest result whole
		b.rounds(1, p) // sends it shortened
		a.extra = ""
		for range 3 {
			a.rounds(1, s.proxy())
			b.rounds(1, s.proxy())
		}
	})
}

// Totals says that a session must go on with stet, if something before its thinking was shortened.
func TestTotalsAreBound(t *testing.T) {
	strictly(t, func(s *strict) {
		a, p := s.session("claude-opus-5-5"), s.proxy()
		a.rounds(1, p)
		if p.Totals().Bound {
			t.Error("a session must go on under stet before anything was shortened")
		}
		a.rounds(6, p)
		if !p.Totals().Bound {
			t.Error("a shortened session may go on without stet")
		}
	})
}

// New messages after sent ones are planned once. Later requests continue from that plan.
func TestNewMessagesArePlannedOnce(t *testing.T) {
	strictly(t, func(s *strict) {
		s.rush = true
		a, p := s.session("claude-opus-5-5"), s.proxy()
		a.rounds(9, s.model)
		newest := func() planState { return p.recent.entries[len(p.recent.entries)-1].plan }
		a.rounds(1, p)
		before := newest()
		a.rounds(5, p)
		if now := newest(); now.state != before.state || now.state == nil {
			t.Error("the messages were planned more than once")
		}
		if repeats, _ := s.shortened(); repeats == 0 {
			t.Error("nothing new is shortened")
		}
		a.rounds(3, s.proxy()) // after a restart
		if s.refused() > 0 {
			t.Errorf("%d requests were refused", s.refused())
		}
	})
}

// TRIM-16: the agent itself replaces an old result, which a provider that does not enforce the binding accepts. What pointed to it is whole again, and
// stays so.
func TestPointerWhoseSourceIsGone(t *testing.T) {
	strictly(t, func(s *strict) {
		s.of(strictmodel.OldAccount)
		s.config.History.Policy = trim.Adaptive
		a, p := s.session("claude-opus-5-5"), s.proxy()
		a.rounds(5, p)
		if repeats, _ := s.shortened(); repeats != 1 {
			t.Fatalf("%d repeats", repeats)
		}
		a.messages[2] = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c0","content":"[Old tool result content cleared]"}]}`
		for range 2 {
			a.rounds(3, p)
			if strings.Contains(s.sent(), "shown above by c0") {
				t.Error("a pointer names what is gone")
			}
			if !strings.Contains(s.sent(), "shown above by c3") {
				t.Error("the next read does not point to the one that is whole again")
			}
			synctest.Wait()
			p = s.proxy()
		}
	})
}
