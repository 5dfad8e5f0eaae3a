package replay

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/tokens"
	"github.com/stet-dev/stet/llm/tokens/exact"
	"github.com/stet-dev/stet/trim/transcript"
)

type bytesCounter struct{}

func (bytesCounter) Count(text string) int { return len(text) }

// CTX-1: the expected size of a request is the last reported size plus the estimate of what was added. A new context has no
// reported size.
func TestSizes(t *testing.T) {
	say := func(role llm.Role, bytes int) llm.Message {
		return llm.Message{Role: role, Parts: []llm.Part{{Text: strings.Repeat("x", bytes-4)}}} // a message has 4 tokens more
	}
	answer := func(prompt int) llm.Message {
		m := say(llm.Assistant, 100)
		m.Model = "m"
		if prompt > 0 {
			m.Usage = &llm.Usage{Input: 1, CacheRead: prompt - 1, Output: 7}
		}
		return m
	}
	s := &transcript.Session{
		Messages: []llm.Message{
			say(llm.User, 1000), answer(6000), say(llm.User, 200), answer(6310), // 300 sent, 310 reported
			say(llm.User, 400), answer(0), say(llm.User, 100), answer(6900),
			say(llm.User, 500), answer(5490),
		},
		Starts: []int{8},
	}
	got := Sizes(s, bytesCounter{}, make(map[string]*tokens.Calibration))
	want := []Size{
		{1, "m", 1000, 1000, 6000, false},
		{3, "m", 1300, 6300, 6310, true},
		{5, "m", 1800, 6810, 0, true},
		{7, "m", 2000, 7010, 6900, true},
		{9, "m", 500, 5400, 5490, false},
	}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i := range want {
		if got[i].Expected = min(got[i].Expected, want[i].Expected+60); got[i].Expected > want[i].Expected-60 {
			got[i].Expected = want[i].Expected // by then the slope was adjusted
		}
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("request %d: %+v, want %+v", i, got[i], want[i])
		}
	}
	if off, ok := (Size{Expected: 90, Reported: 100}).Off(); off != 0.1 || !ok {
		t.Errorf("off by %v, %v", off, ok)
	}
	if _, ok := (Size{Expected: 90}).Off(); ok {
		t.Error("off from nothing")
	}
}

// CTX-1: without any reported size, the estimate is within 5 % of what providers report, by the median of the recorded sessions.
// The test compares the growth by long results of tools, because other parts of a prompt are not all recorded.
func TestRecordedEstimate(t *testing.T) {
	const long = 3000 // tokens
	var off []float64
	for _, s := range recorded(t) {
		memo := &tokens.Memo{Counter: exact.ForModel(s.Model)}
		sizes := Sizes(s, memo, make(map[string]*tokens.Calibration))
		estimate, reported := 0, 0
		for i := range sizes {
			if sizes[i].Follows && sizes[i].Reported > 0 && sizes[i-1].Reported > 0 {
				grown, by := sizes[i].Estimate-sizes[i-1].Estimate, sizes[i].Reported-sizes[i-1].Reported
				if grown > long && by > 0 {
					estimate, reported = estimate+grown, reported+by
				}
			}
		}
		if reported > 4*long {
			by := float64(estimate)/float64(reported) - 1
			off = append(off, max(by, -by))
			t.Logf("%s, %s: %+.1f %%", filepath.Base(s.File), s.Model, 100*by)
		}
	}
	if len(off) < 5 {
		t.Skip("too few recordings carry usage")
	}
	slices.Sort(off)
	t.Logf("%d sessions: off by %.1f %% (median), %.1f %% (p90)", len(off), 100*off[len(off)/2], 100*off[len(off)*9/10])
	if median := off[len(off)/2]; median > 0.05 {
		t.Errorf("the median error is %.1f %%", 100*median)
	}
}
