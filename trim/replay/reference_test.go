package replay

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/test/replaytest"
	"github.com/stet-dev/stet/trim"
	"github.com/stet-dev/stet/trim/transcript"
)

// sentBefore is an earlier request.
type sentBefore struct {
	model      string
	raw, parts []string // as it was recorded, and as it was sent
	coldPoint  trim.Cause
	stands     []string // the parts before the cold point
	used       time.Time
}

// reference does what a replay does, by brute force. It finds the cold points by comparing each request with every one before. It
// plans every request from scratch, and compares it part by part with every request before.
type reference struct {
	session *transcript.Session
	rule    prices.Rule
	plan    func(messages []llm.Message, breaks []trim.Point) []llm.Edit

	before      []sentBefore
	clock, used time.Time
	begun       bool // the context has had a request
	tokens      int64
	cost        float64
}

func (r *reference) run() {
	start := 0
	for i, m := range r.session.Messages {
		for _, at := range r.session.Starts {
			if at == i && i > 0 {
				start, r.begun = i, false
			}
		}
		request := r.session.Messages[start:i]
		held := false
		for _, q := range request {
			held = held || !q.Local
		}
		if m.Role == llm.Assistant && held {
			r.request(request, m)
		}
		if m.Time.After(r.clock) {
			r.clock = m.Time
		}
	}
}

func (r *reference) request(request []llm.Message, answered llm.Message) {
	now := sentBefore{model: answered.Model, raw: flat(request)}
	var breaks []trim.Point
	answer := 0 // one past the last answer in the request
	for n := 1; n <= len(request); n++ {
		if m := &request[n-1]; m.Role == llm.Assistant && !m.Local {
			answer = n
		}
		if why := r.remembered(now.model, flat(request[:n])); why != "" && !request[n-1].Local {
			breaks = append(breaks, trim.Point{After: n, Why: why})
		}
	}
	if why := r.coldPoint(&now); why != "" && answer > 0 && r.remembered(now.model, flat(request[:answer])) == "" {
		breaks = append(breaks, trim.Point{After: answer, Why: why})
		now.coldPoint, now.stands = why, flat(request[:answer])
	}
	r.begun = true
	planned := llm.Apply(request, r.plan(request, breaks))
	now.parts = flat(planned)
	hit := 0
	for _, b := range r.before {
		if b.model == now.model && !r.dead(b.used) {
			hit = max(hit, common(b.parts, now.parts))
		}
	}
	j := 0
	for _, q := range planned {
		for i := range q.Parts {
			if q.Local {
				break
			}
			n := partTokens(&q.Parts[i], bytes{})
			r.tokens += int64(n)
			switch {
			case !r.rule.Cached():
				r.cost += float64(n)
			case j < hit:
				r.cost += r.rule.Read * float64(n)
			default:
				r.cost += r.rule.Write * float64(n)
			}
			j++
		}
	}
	for _, at := range []time.Time{r.clock, answered.Time} {
		if at.After(r.used) {
			r.used = at
		}
	}
	now.used = r.used
	r.before = append(r.before, now)
}

func (r *reference) dead(at time.Time) bool {
	return !at.IsZero() && !r.clock.IsZero() && r.clock.Sub(at) > r.rule.Lifetime
}

// remembered returns the cold point of an earlier request to the same model with the same parts before it, or "".
func (r *reference) remembered(model string, parts []string) trim.Cause {
	for i := range r.before {
		if b := &r.before[i]; b.coldPoint != "" && b.model == model && slices.Equal(b.stands, parts) {
			return b.coldPoint
		}
	}
	return ""
}

// coldPoint returns why now is a cold point, or "". It is one if no cache holds a call or a result of now.
func (r *reference) coldPoint(now *sentBefore) trim.Cause {
	head := 1 + slices.IndexFunc(now.raw, func(p string) bool { return p[0] == byte('0'+llm.ToolCall) || p[0] == byte('0'+llm.ToolResult) })
	if head == 0 {
		return ""
	}
	known, asked := false, false
	warm := false
	for _, b := range r.before {
		if common(b.raw, now.raw) >= head {
			known = true
			asked = asked || b.model == now.model
			warm = warm || b.model == now.model && !r.dead(b.used)
		}
	}
	switch {
	case !r.rule.Cached() || asked && !warm:
		return trim.Gap
	case warm:
	case known:
		return trim.Model
	case r.begun: // the first call of this context
	case len(r.before) == 0:
		return trim.Resume
	default:
		return trim.Compaction
	}
	return ""
}

// flat returns the parts that are sent, each as one string.
func flat(messages []llm.Message) []string {
	var out []string
	for _, m := range messages {
		for _, p := range m.Parts {
			if !m.Local {
				out = append(out, fmt.Sprintf("%d %s %q %q %q %q", p.Kind, m.Role, p.Text, p.CallID, p.Name, p.Args))
			}
		}
	}
	return out
}

func common(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// cutOnCold returns the edits that onCold plans. It computes them from the cold points only.
func cutOnCold(messages []llm.Message, breaks []trim.Point) []llm.Edit {
	var out []llm.Edit
	for i := range messages {
		for j, p := range messages[i].Parts {
			for _, b := range breaks {
				if p.Kind == llm.ToolResult && !messages[i].Local && i < b.After {
					out = append(out, llm.Edit{Message: i, Part: j, Text: "[cut]"})
					break
				}
			}
		}
	}
	return out
}

// For every session, the incremental replay and the reference have the same cold points, plans, hits and costs.
func TestAgainstReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := replaytest.Draw(t)
		policy := coldPolicy(nil)
		plan := cutOnCold
		name := rapid.SampledFrom(append(trim.Policies(), "")).Draw(t, "policy")
		if name != "" {
			c := trim.Config{Policy: name, KeepReads: 2, KeepShell: 2, Root: s.Dir}
			ours, err := Ours(c)
			if err != nil {
				t.Fatal(err)
			}
			engine, err := trim.New(c)
			if err != nil {
				t.Fatal(err)
			}
			policy = ours
			plan = func(messages []llm.Message, breaks []trim.Point) []llm.Edit {
				return engine.Plan(messages, breaks...).Edits
			}
		}
		for _, rule := range prices.Rules() {
			r, err := New(s, &Config{Counter: bytes{}, Overhead: -1}).Under(context.Background(), policy, []Rule{{Rule: rule}})
			if err != nil {
				t.Fatal(err)
			}
			ref := reference{session: s, rule: rule, plan: plan}
			ref.run()
			if len(ref.before) != r.Requests || ref.tokens != r.Tokens || !near(ref.cost, r.Cost[rule.Name]) {
				t.Fatalf("%s, %s: %d requests, %d tokens, cost %v; by brute force %d, %d, %v",
					name, rule.Name, r.Requests, r.Tokens, r.Cost[rule.Name], len(ref.before), ref.tokens, ref.cost)
			}
		}
	})
}
