package proxy

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/llm"
)

func TestPatternOfToolsIsWrong(t *testing.T) {
	if _, err := New(Config{DropTools: []string{"mcp__[x"}}); err == nil || !strings.Contains(err.Error(), `"mcp__[x"`) {
		t.Errorf("New: %v, want an error that names the pattern", err)
	}
}

// offersRead reports whether the last request offered the tool Read to the model.
func (s *strict) offersRead() bool { return strings.Contains(s.sent(), `"name":"Read","input_schema"`) }

// A conversation leaves out the same tools in all its requests, whatever happens to it, because thinking is bound to the tools
// (WIRE-1, WIRE-2).
func TestToolsAreLeftOut(t *testing.T) {
	var drop = []string{"R*"}
	tests := map[string]func(s *strict, check func(offered bool)){
		"from the first request on": func(s *strict, check func(bool)) {
			s.config.DropTools = drop
			a, p := s.session("claude-opus-5-5"), s.proxy()
			a.rounds(3, p)
			check(false)
			time.Sleep(310 * time.Second)
			a.rounds(3, p)
			check(false)
			if !p.Totals().Bound {
				t.Error("the session may go on without stet")
			}
		},
		"after a restart with other patterns": func(s *strict, check func(bool)) {
			s.config.DropTools = drop
			a := s.session("claude-opus-5-5")
			a.rounds(3, s.proxy())
			for _, now := range [][]string{nil, {"Bash"}, {"x"}} {
				s.config.DropTools = now
				a.rounds(2, s.proxy())
				check(false)
			}
			s.config.Observe = true
			a.rounds(2, s.proxy())
			check(false)
		},
		"not if it began otherwise": func(s *strict, check func(bool)) {
			a, b := s.session("claude-opus-5-5"), s.session("claude-opus-5-5")
			a.rounds(2, s.proxy())
			b.rounds(2, s.model)
			s.config.DropTools = drop
			p := s.proxy()
			a.rounds(2, p)
			check(true)
			b.rounds(2, p)
			check(true)
		},
		"though another begins with the same words": func(s *strict, check func(bool)) {
			a, b, c := s.session("claude-opus-5-5"), s.session("claude-opus-5-5"), s.session("claude-opus-5-5")
			calls := 0
			s.does = func(*llm.Request) (llm.Response, error) { // each call has an id of its own
				calls++
				parts := []llm.Part{{Kind: llm.Thinking, Text: "so be it"}, {Kind: llm.ToolCall, CallID: fmt.Sprint("c", calls), Name: "Bash", Args: `{}`}}
				return llm.Response{Message: llm.Message{Role: llm.Assistant, Parts: parts}}, nil
			}
			a.rounds(2, s.proxy())
			s.config.DropTools = drop
			b.rounds(2, s.proxy())
			s.config.DropTools = []string{"Bash"}
			p := s.proxy()
			c.rounds(2, p)
			check(true)
			b.rounds(2, p)
			check(false)
			a.rounds(2, p)
			check(true)
			c.rounds(2, s.proxy())
			check(true)
		},
		"an agent writes the first words of the model": func(s *strict, check func(bool)) {
			s.config.DropTools, s.quiet = drop, true
			a := s.session("claude-opus-5-5")
			a.messages = append(a.messages, `{"role":"assistant","content":"Got it."}`, `{"role":"user","content":"begin"}`)
			a.rounds(2, s.proxy())
			s.config.DropTools = nil
			a.rounds(2, s.proxy())
			check(false)
		},
		"no tool is called at first": func(s *strict, check func(bool)) {
			answers := 0
			s.does = func(*llm.Request) (llm.Response, error) {
				answers++
				parts := []llm.Part{{Kind: llm.Thinking, Text: "so be it"}, {Text: fmt.Sprint("What now? ", answers)}}
				if answers > 3 {
					parts = append(parts, llm.Part{Kind: llm.ToolCall, CallID: fmt.Sprint("c", answers), Name: "Bash", Args: `{}`})
				}
				return llm.Response{Message: llm.Message{Role: llm.Assistant, Parts: parts}}, nil
			}
			s.config.DropTools = drop
			a := s.session("claude-opus-5-5")
			a.rounds(1, s.proxy())
			s.config.DropTools = nil
			for range 5 {
				a.rounds(1, s.proxy())
				check(false)
			}
			answers = 0
			b := s.session("claude-opus-5-5")
			b.messages[0] = `{"role":"user","content":"begin"}`
			b.rounds(1, s.proxy())
			s.config.DropTools = drop
			for range 5 {
				b.rounds(1, s.proxy())
				check(true)
			}
		},
		"not under observe": func(s *strict, check func(bool)) {
			s.config.DropTools, s.config.Observe = drop, true
			s.session("claude-opus-5-5").rounds(2, s.proxy())
			check(true)
		},
		"a fork goes on alike": func(s *strict, check func(bool)) {
			s.config.DropTools = drop
			a := s.session("claude-opus-5-5")
			a.rounds(3, s.proxy())
			s.config.DropTools = nil
			b := a.fork()
			b.messages = b.messages[:3]
			b.rounds(2, s.proxy())
			check(false)
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			strictly(t, func(s *strict) {
				test(s, func(offered bool) {
					t.Helper()
					if s.offersRead() != offered {
						t.Errorf("the tool is offered: %t, want %t", !offered, offered)
					}
				})
				if s.refused() > 0 {
					t.Errorf("%d requests were refused", s.refused())
				}
			})
		})
	}
}

// Tokens of left-out tools count as saved, and cost nothing in the record.
func TestToolsLeftOutAreRecorded(t *testing.T) {
	strictly(t, func(s *strict) {
		s.config.DropTools = []string{"Read"}
		a, p := s.session("claude-opus-5-5"), s.proxy()
		a.rounds(1, p)
		synctest.Wait()
		if totals := p.Totals(); totals.TokensOff <= totals.Tokens {
			t.Errorf("%d tokens without stet, %d with it", totals.TokensOff, totals.Tokens)
		}
		sets, _, err := s.store.Tools(t.Context(), time.Time{})
		if err != nil || len(sets) != 1 {
			t.Fatalf("%d sets of tools, %v", len(sets), err)
		}
		if got := fmt.Sprint(sets[0].Tools[0].Tokens > 0, sets[0].Tools[1].Tokens); got != "true 0" {
			t.Errorf("tools %v", sets[0].Tools)
		}
	})
}

// WIRE-1, WIRE-2: the sessions are random, and each proxy leaves out other tools.
func TestToolsLeftOutAtRandom(t *testing.T) {
	kinds := strings.Fields("pause restart kill lost fork turn back again new edit model tools strip forget quiet direct through compact")
	for seed := range uint64(30) {
		strictly(t, func(s *strict) {
			drops := [][]string{nil, {"Write"}, {"Wr*", "more_*"}, {"*"}, {"Edit", "Read"}}
			rand.New(rand.NewPCG(seed, 1)).Shuffle(len(drops), func(i, j int) { drops[i], drops[j] = drops[j], drops[i] })
			playBoundSessionBy(s, seed, 12, kinds, drops[:3], history.Adaptive, history.Bold)
			if n := s.dropped(); n > 0 {
				t.Errorf("seed %d: %d requests had to have thinking dropped", seed, n)
			}
		})
	}
}
