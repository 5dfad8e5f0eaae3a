package replay

import (
	"slices"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm/prices"
)

// testSender sends prompts of blocks of ten tokens to a simulated cache.
type testSender struct {
	p     prompt
	cache Cache
}

func (s *testSender) send(minute int, numbers ...uint64) Bill {
	var blocks []block
	for _, n := range numbers {
		blocks = append(blocks, block{n, 10})
	}
	s.p = nextPrompt(&s.p, 1, blocks)
	return s.cache.send(&s.p, noon.Add(time.Duration(minute)*time.Minute), time.Time{})
}

func numbers(from, to uint64) []uint64 {
	var out []uint64
	for n := from; n < to; n++ {
		out = append(out, n)
	}
	return out
}

// Breakpoints: a prefix is found only at a mark, and only if the mark is near enough.
func TestExactBreakpoints(t *testing.T) {
	rule := prices.Rule{Read: 0.1, Write: 1.25, Lifetime: 5 * time.Minute, Breakpoints: 4, Lookback: 20, MinTokens: 50}
	s := testSender{cache: Cache{Rule: rule, fixed: 40, Exact: true}}
	for i, c := range []struct {
		got, want Bill
	}{
		{s.send(0), Bill{Plain: 40}},                                                                           // shorter than the minimum
		{s.send(0, numbers(0, 30)...), Bill{Read: 40, Written: 300}},                                           // marked at 30
		{s.send(1, numbers(0, 32)...), Bill{Read: 340, Written: 20}},                                           // and at 32
		{s.send(2, numbers(0, 90)...), Bill{Read: 360, Written: 580}},                                          // found at the mark of the request before
		{s.send(3, append(numbers(0, 85), 900, 901)...), Bill{Read: 40, Written: 870}},                         // block 85 is after no mark that is near enough
		{s.send(4, append(numbers(0, 85), 900, 901, 902)...), Bill{Read: 910, Written: 10}},                    //
		{s.send(10, append(numbers(0, 85), 900, 901, 902)...), Bill{Read: 40, Written: 880}},                   // six minutes later
		{s.send(11, append(numbers(0, 85), 900, 901, 902, 903, 904)...), Bill{Read: 920, Written: 20}},         //
		{s.send(12, append(numbers(0, 85), 900, 901, 902, 903, 905)...), Bill{Read: 920, Written: 20}},         // back to the mark at 88
		{s.send(13, append(numbers(0, 85), 900, 901, 902, 903, 904, 7)...), Bill{Read: 40 + 900, Written: 10}}, // the branch before is still cached
	} {
		if c.got != c.want {
			t.Errorf("request %d: %+v, want %+v", i, c.got, c.want)
		}
	}
}

// Steps: hits are whole steps and have the minimum length. A shorter prompt is not written either.
func TestExactSteps(t *testing.T) {
	rule := prices.Rule{Read: 0.1, Write: 1, Lifetime: 10 * time.Minute, Step: 128, MinTokens: 256}
	s := testSender{cache: Cache{Rule: rule, Exact: true}}
	for i, c := range []struct {
		got, want Bill
	}{
		{s.send(0, numbers(0, 20)...), Bill{Plain: 200}},
		{s.send(1, numbers(0, 26)...), Bill{Written: 260}},                        // 200 were sent before, which is too short
		{s.send(2, numbers(0, 40)...), Bill{Read: 256, Written: 144}},             // 260
		{s.send(3, numbers(0, 40)...), Bill{Read: 384, Written: 16}},              // 400
		{s.send(14, numbers(0, 40)...), Bill{Written: 400}},                       // the cache has expired
		{s.send(15, append(numbers(0, 30), 99)...), Bill{Read: 256, Written: 54}}, // 300
	} {
		if c.got != c.want {
			t.Errorf("request %d: %+v, want %+v", i, c.got, c.want)
		}
	}
}

// A part in the middle changes: the parts before it are read, the rest is written. Going back to the earlier text finds the
// earlier prefix again, as long as it lives.
func TestCacheEditedPrefix(t *testing.T) {
	rule, _ := prices.RuleNamed(prices.Anthropic5m)
	var p prompt
	cache := Cache{Rule: rule, fixed: 10}
	at := func(d time.Duration) time.Time { return noon.Add(d) }
	var sent []block
	send := func(keep int, now time.Duration, blocks ...block) Bill {
		t.Helper()
		sent = append(slices.Clone(sent[:keep]), blocks...)
		p = nextPrompt(&p, 1, sent)
		return cache.send(&p, at(now), time.Time{})
	}
	a, b, c, b2 := block{1, 100}, block{2, 200}, block{3, 400}, block{22, 20}
	for i, step := range []struct{ got, want Bill }{
		{send(0, 0, a, b), Bill{Read: 10, Written: 300}},
		{send(2, 1*time.Minute, c), Bill{Read: 310, Written: 400}},
		{send(1, 2*time.Minute, b2, c), Bill{Read: 110, Written: 420}},            // b became b2
		{send(1, 3*time.Minute, b, c), Bill{Read: 710}},                           // back again: everything is cached
		{send(1, 4*time.Minute, b, c), Bill{Read: 710}},                           // the same parts removed and added again
		{send(0, 9*time.Minute, a, b), Bill{Read: 310}},                           // exactly the lifetime
		{send(0, 14*time.Minute+time.Second, a, b), Bill{Read: 10, Written: 300}}, // one second past it
		{send(2, 15*time.Minute, c), Bill{Read: 310, Written: 400}},               // c was last used at minute 4
	} {
		if step.got != step.want {
			t.Errorf("step %d: %+v, want %+v", i, step.got, step.want)
		}
	}
	// 310 are read at 0.1, and 400 written at 1.25.
	if got := (Bill{Read: 310, Written: 400}).cost(rule); !near(got, 531) {
		t.Errorf("cost %v, want 531", got)
	}
}

// The time that an answer took does not count for the cache's lifetime. A request without a time is warm.
func TestCacheTimes(t *testing.T) {
	rule, _ := prices.RuleNamed(prices.OpenAI)
	cache := Cache{Rule: rule}
	var p prompt
	var blocks []block
	send := func(sent, answered time.Time) Bill {
		blocks = append(blocks, block{uint64(len(blocks) + 1), 10})
		p = nextPrompt(&p, 1, blocks)
		return cache.send(&p, sent, answered)
	}
	send(time.Time{}, time.Time{})
	if b := send(noon, noon.Add(8*time.Minute)); b.Read != 10 {
		t.Errorf("after an unknown time: %+v", b)
	}
	if b := send(noon.Add(12*time.Minute), time.Time{}); b.Read != 20 {
		t.Errorf("4 minutes after the answer: %+v", b)
	}
	if b := send(noon, time.Time{}); b.Read != 30 {
		t.Errorf("a clock that went back: %+v", b)
	}
}
