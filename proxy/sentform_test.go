package proxy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stet-dev/stet/history"
)

// A proxy with another policy, other words in its placeholders, or that only observes, sends what was sent as it
// was sent (WIRE-1, WIRE-2).
func TestAnotherPolicyGoesOnAsSent(t *testing.T) {
	policies := append(history.Policies(), history.Finish)
	for _, first := range policies {
		for _, then := range policies {
			for _, observes := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, observes %t", first, then, observes), func(t *testing.T) {
					strictly(t, func(s *strict) {
						s.rush = true
						s.config.History = history.Config{Policy: first, KeepReads: 1, KeepShell: 1}
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

// On any doubt what was sent goes out as it was sent, and only what is new goes untouched (WIRE-1).
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

// A session that goes back, and has the provider manage its context for a while, behind proxies that are killed.
func TestManagedBackAndKilled(t *testing.T) {
	for seed := range uint64(50) {
		playBound(t, seed, 14, strings.Fields("again back manage manage again kill restart"), history.Adaptive)
	}
}

// WIRE-2: each proxy has another policy and other words, and some only observe.
func TestOtherPoliciesAtRandom(t *testing.T) {
	for seed := range uint64(12) {
		playBound(t, seed, 12, strings.Fields("pause restart kill midkill through fork turn back again manage strip"), append(history.Policies(), history.Finish)...)
	}
}
