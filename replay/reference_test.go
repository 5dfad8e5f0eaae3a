package replay

import (
	"context"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/prices"
	"github.com/stet-dev/stet/transcript"
)

// drawSession makes a session of reads, words, pauses, changes of the model and
// new contexts.
func drawSession(t *rapid.T) *transcript.Session {
	// The first message has a time, so that every request has one.
	s := &transcript.Session{File: "drawn", Dir: "/home/me/project", Messages: []llm.Message{text(llm.User, 25, 0)}}
	at := time.Duration(0)
	model := "one"
	stamp := func(m llm.Message) llm.Message {
		at += time.Duration(rapid.IntRange(0, 400).Draw(t, "pause")) * time.Second
		m.Time = noon.Add(at)
		if rapid.IntRange(0, 9).Draw(t, "timed") == 0 {
			m.Time = time.Time{}
		}
		if m.Role == llm.Assistant {
			m.Model = model
		}
		return m
	}
	for n := range rapid.IntRange(1, 30).Draw(t, "steps") {
		switch rapid.IntRange(0, 11).Draw(t, "step") {
		case 0:
			s.Messages = append(s.Messages, stamp(text(llm.User, 30+n, 0)))
		case 1:
			s.Messages = append(s.Messages, stamp(text(llm.Assistant, 20+n, 0)))
		case 2:
			note := stamp(text(llm.User, 9, 0))
			note.Local = true
			s.Messages = append(s.Messages, note)
		case 3:
			model = rapid.SampledFrom([]string{"one", "two"}).Draw(t, "model")
		case 4:
			if len(s.Messages) > 0 && (len(s.Starts) == 0 || s.Starts[len(s.Starts)-1] < len(s.Messages)) {
				s.Starts = append(s.Starts, len(s.Messages))
				if rapid.Bool().Draw(t, "same head") { // as after a rewind
					s.Messages = append(s.Messages, s.Messages[:rapid.IntRange(0, len(s.Messages)).Draw(t, "head")]...)
				}
			}
		default:
			first := rapid.IntRange(1, 5).Draw(t, "first")
			for _, m := range call(n, 0, first, first+rapid.IntRange(3, 12).Draw(t, "lines")) {
				s.Messages = append(s.Messages, stamp(m))
			}
		}
	}
	return s
}

// sentBefore is a request as the reference remembers it.
type sentBefore struct {
	model string
	parts []string
	used  time.Time
}

// reference does by brute force what Session does: it plans every request
// from scratch, compares it part by part with every request before, and adds up.
func reference(t *rapid.T, s *transcript.Session, c Config, rule prices.Rule) (requests int, tokens int64, cost float64) {
	c.History.Root = s.Dir
	engine, err := history.New(c.History)
	if err != nil {
		t.Fatal(err)
	}
	var before []sentBefore
	var used, clock time.Time
	start := 0
	for i, m := range s.Messages {
		for _, at := range s.Starts {
			if at == i {
				start = i
			}
		}
		request := s.Messages[start:i]
		held := false
		for _, r := range request {
			held = held || !r.Local
		}
		if m.Role == llm.Assistant && held {
			now := sentBefore{model: m.Model}
			var sizes []int
			for _, r := range llm.Apply(request, engine.Plan(request).Edits) {
				if r.Local {
					continue
				}
				for _, p := range r.Parts {
					now.parts = append(now.parts, fmt.Sprintf("%s %d %q %q %q %q", r.Role, p.Kind, p.Text, p.CallID, p.Name, p.Args))
					sizes = append(sizes, partTokens(&p, c.counter()))
				}
			}
			dead := func(at time.Time) bool {
				return !at.IsZero() && !clock.IsZero() && clock.Sub(at) > rule.Lifetime
			}
			hit := 0
			for _, b := range before {
				if b.model != now.model || dead(b.used) {
					continue
				}
				n := 0
				for n < len(b.parts) && n < len(now.parts) && b.parts[n] == now.parts[n] {
					n++
				}
				hit = max(hit, n)
			}
			requests++
			for j, n := range sizes {
				tokens += int64(n)
				switch {
				case !rule.Cached():
					cost += float64(n)
				case j < hit:
					cost += rule.Read * float64(n)
				default:
					cost += rule.Write * float64(n)
				}
			}
			for _, at := range []time.Time{clock, m.Time} {
				if at.After(used) {
					used = at
				}
			}
			now.used = used
			before = append(before, now)
		}
		if m.Time.After(clock) {
			clock = m.Time
		}
	}
	return requests, tokens, cost
}

// The incremental replay is the brute force one, whatever the session.
func TestAgainstReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSession(t)
		policy := rapid.SampledFrom([]history.Policy{history.Off, history.Lossless, history.KeepLatest}).Draw(t, "policy")
		c := Config{Counter: bytes{}, Overhead: -1, History: history.Config{Policy: policy, KeepReads: 2}}
		r, err := Session(context.Background(), s, c)
		if err != nil {
			t.Fatal(err)
		}
		off := c
		off.History.Policy = history.Off
		for _, rule := range prices.Rules() {
			n, tokens, cost := reference(t, s, c, rule)
			if n != r.Requests || tokens != r.Tokens || !near(cost, r.Cost[rule.Name]) {
				t.Fatalf("%s, %s: %d requests, %d tokens, cost %v; by brute force %d, %d, %v", policy, rule.Name, r.Requests, r.Tokens, r.Cost[rule.Name], n, tokens, cost)
			}
			_, tokens, cost = reference(t, s, off, rule)
			if tokens != r.TokensOff || !near(cost, r.CostOff[rule.Name]) {
				t.Fatalf("off, %s: %d tokens, cost %v; by brute force %d, %v", rule.Name, r.TokensOff, r.CostOff[rule.Name], tokens, cost)
			}
		}
	})
}
