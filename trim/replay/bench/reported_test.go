package bench

import (
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/test/replaytest"
	"github.com/stet-dev/stet/trim/replay"
	"github.com/stet-dev/stet/trim/transcript"
)

// reportedSession has three requests with 100, 300 and 500 tokens of text. Their reported sizes are 1,200, 1,600 and 2,300.
func reportedSession() *transcript.Session {
	s := &transcript.Session{File: "s", Model: "claude-sonnet-4-5", Messages: []llm.Message{
		replaytest.Text(llm.User, 100, 0),
		replaytest.Text(llm.Assistant, 100, time.Minute),
		replaytest.Text(llm.User, 100, 2*time.Minute),
		replaytest.Text(llm.Assistant, 100, 3*time.Minute),
		replaytest.Text(llm.User, 100, 9*time.Minute),
		replaytest.Text(llm.Assistant, 10, 10*time.Minute),
	}}
	for i, u := range map[int]llm.Usage{
		1: {CacheWrite: 1200},
		3: {Input: 2, CacheRead: 1200, CacheWrite: 398},
		5: {CacheRead: 1000, CacheWrite: 1300},
	} {
		s.Messages[i].Usage = &u
	}
	return s
}

func useReported(t *testing.T, r *replay.Replay) {
	t.Helper()
	m, ok := r.Reported()
	if !ok {
		t.Fatal("all requests are reported")
	}
	r.Measure = m
}

func TestReported(t *testing.T) {
	c := replay.Config{Counter: replaytest.Bytes{}}
	r := replay.New(reportedSession(), &c)
	useReported(t, r)
	sum := r.Fixed
	for at, want := range []int{1200, 0, 1600, 0, 2300} {
		if sum += r.Scaled(at, r.Counted(at)); want > 0 && sum != want {
			t.Errorf("up to part %d there are %d tokens, want %d", at, sum, want)
		}
	}
	// When the text leaves, the part of the size that is not text stays.
	if n := r.Scaled(3, 0); n == 0 {
		t.Error("what is hidden has no tokens")
	}

	few := reportedSession()
	few.Messages[3].Usage = nil
	if _, ok := replay.New(few, &c).Reported(); ok {
		t.Error("two of three requests are too few")
	}
}

// If the reported size is less than the size of the text, the tokens of the text are scaled down.
func TestReportedLess(t *testing.T) {
	s := reportedSession()
	s.Messages[3].Usage = &llm.Usage{Input: 1300}
	s.Messages[5].Usage = &llm.Usage{Input: 1400}
	c := replay.Config{Counter: replaytest.Bytes{}}
	r := replay.New(s, &c)
	useReported(t, r)
	sum := r.Fixed
	for at := range 5 {
		sum += r.Scaled(at, r.Counted(at))
	}
	if sum < 1390 || sum > 1410 {
		t.Errorf("the last request has %d tokens, fixed %d", sum, r.Fixed)
	}
}

// The second request reads what the first wrote. The third comes six minutes later, and reads only the fixed part.
func TestCheckCache(t *testing.T) {
	c := replay.Config{Counter: replaytest.Bytes{}}
	r := replay.New(reportedSession(), &c)
	useReported(t, r)
	got := checkCache(r)
	if got.rule != prices.Anthropic5m || got.Requests != 2 || got.Read != 2200 || got.Prompt != 1600+2300 {
		t.Errorf("%+v", got)
	}
	if want := int64(1200 + r.Fixed); got.Simple.Read != want || got.Simple.FalseHits+got.Simple.FalseMisses != 0 {
		t.Errorf("%+v, want %d read", got.Simple, want)
	}

	hour := reportedSession()
	hour.Messages[1].Usage.CacheWrite1h = 1200
	r = replay.New(hour, &c)
	useReported(t, r)
	if got := checkCache(r); got.rule != prices.Anthropic1h || got.Simple.Read != 1200+1600 || got.Simple.FalseHits != 1 || got.Exact.Read != got.Simple.Read {
		t.Errorf("%+v", got)
	}

	none := reportedSession()
	for i := range none.Messages {
		if u := none.Messages[i].Usage; u != nil {
			none.Messages[i].Usage = &llm.Usage{Input: u.Prompt()}
		}
	}
	r = replay.New(none, &c)
	useReported(t, r)
	if got := checkCache(r); got.Requests != 0 || got.rule != "" {
		t.Errorf("no cache was reported: %+v", got)
	}
}
