package replay

import (
	"testing"
	"time"

	"github.com/stet-dev/stet/prices"
)

// sender sends a prompt of blocks of ten tokens to a simulated cache.
type sender struct {
	p   prompt
	sim simulator
}

func (s *sender) send(minute int, blocks ...uint64) bill {
	s.p.begin(1)
	same := 0
	for same < len(blocks) && same < len(s.p.chain) && s.kept(same, blocks) {
		same++
	}
	s.p.cut(same)
	for _, b := range blocks[same:] {
		s.p.add(block{b, 10})
	}
	s.p.settle()
	return s.sim.send(&s.p, noon.Add(time.Duration(minute)*time.Minute), time.Time{})
}

// kept reports whether the block at i is the one that was sent.
func (s *sender) kept(i int, blocks []uint64) bool {
	last := s.p.root
	if i > 0 {
		last = s.p.chain[i-1]
	}
	return s.p.chain[i] == join(last, blocks[i])
}

func numbers(from, to uint64) []uint64 {
	var out []uint64
	for n := from; n < to; n++ {
		out = append(out, n)
	}
	return out
}

// Breakpoints: a prefix is found only where one was marked, and only so far
// back.
func TestExactBreakpoints(t *testing.T) {
	rule := prices.Rule{Read: 0.1, Write: 1.25, Lifetime: 5 * time.Minute, Breakpoints: 4, Lookback: 20, MinTokens: 50}
	s := sender{sim: simulator{rule: rule, fixed: 40, exact: true}}
	for i, c := range []struct {
		got, want bill
	}{
		{s.send(0), bill{plain: 40}},                                                                           // shorter than the least
		{s.send(0, numbers(0, 30)...), bill{read: 40, written: 300}},                                           // marked at 30
		{s.send(1, numbers(0, 32)...), bill{read: 340, written: 20}},                                           // and at 32
		{s.send(2, numbers(0, 90)...), bill{read: 360, written: 580}},                                          // by the mark of the request before
		{s.send(3, append(numbers(0, 85), 900, 901)...), bill{read: 40, written: 870}},                         // 85 stands behind no mark that is near
		{s.send(4, append(numbers(0, 85), 900, 901, 902)...), bill{read: 910, written: 10}},                    //
		{s.send(10, append(numbers(0, 85), 900, 901, 902)...), bill{read: 40, written: 880}},                   // six minutes on
		{s.send(11, append(numbers(0, 85), 900, 901, 902, 903, 904)...), bill{read: 920, written: 20}},         //
		{s.send(12, append(numbers(0, 85), 900, 901, 902, 903, 905)...), bill{read: 920, written: 20}},         // back to the mark at 88
		{s.send(13, append(numbers(0, 85), 900, 901, 902, 903, 904, 7)...), bill{read: 40 + 900, written: 10}}, // the branch before is remembered
	} {
		if c.got != c.want {
			t.Errorf("request %d: %+v, want %+v", i, c.got, c.want)
		}
	}
}

// Steps: hits come in whole steps, none below the least length; shorter
// prompts are not written either.
func TestExactSteps(t *testing.T) {
	rule := prices.Rule{Read: 0.1, Write: 1, Lifetime: 10 * time.Minute, Step: 128, MinTokens: 256}
	s := sender{sim: simulator{rule: rule, exact: true}}
	for i, c := range []struct {
		got, want bill
	}{
		{s.send(0, numbers(0, 20)...), bill{plain: 200}},
		{s.send(1, numbers(0, 26)...), bill{written: 260}},                        // 200 stood before, which is too short
		{s.send(2, numbers(0, 40)...), bill{read: 256, written: 144}},             // 260
		{s.send(3, numbers(0, 40)...), bill{read: 384, written: 16}},              // 400
		{s.send(14, numbers(0, 40)...), bill{written: 400}},                       // too late
		{s.send(15, append(numbers(0, 30), 99)...), bill{read: 256, written: 54}}, // 300
	} {
		if c.got != c.want {
			t.Errorf("request %d: %+v, want %+v", i, c.got, c.want)
		}
	}
}
