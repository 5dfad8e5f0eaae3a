package replay

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/trim"
	"github.com/stet-dev/stet/trim/transcript"
)

// onCold is a planner for tests. At a cold point it cuts all results, and logs the cold point.
type onCold struct {
	testPlanner
	log *[]string
}

func (o *onCold) Cold(why trim.Cause) {
	if o.log != nil {
		*o.log = append(*o.log, fmt.Sprintf("%s %d", why, o.messages))
	}
	for i := range o.results {
		o.leaveOut(i, "[cut]", false)
	}
}

func (o *onCold) Plan() Plan { return o.plan() }

func coldPolicy(log *[]string) Policy {
	return func(Setting) Planner { return &onCold{log: log} }
}

func coldPointsOf(t *testing.T, s *transcript.Session, rule string) []string {
	t.Helper()
	r, ok := prices.RuleNamed(rule)
	if !ok {
		t.Fatal(rule)
	}
	var log []string
	played(t, s, coldPolicy(&log), r)
	return log
}

func checkColdPoints(t *testing.T, s *transcript.Session, want map[string][]string) {
	t.Helper()
	for rule, w := range want {
		if got := coldPointsOf(t, s, rule); !slices.Equal(got, w) {
			t.Errorf("%s: cold points %v, want %v", rule, got, w)
		}
	}
}

// pause delays the messages from index from on.
func pause(s *transcript.Session, from int, d time.Duration) {
	for i := from; i < len(s.Messages); i++ {
		s.Messages[i].Time = s.Messages[i].Time.Add(d)
	}
}

// A pause longer than the cache lives is a cold point. If nothing is cached, every request is one. The request that has the first
// result is not one, because nothing in it could have changed before. A cold point stands after the last answer.
func TestColdPointsGap(t *testing.T) {
	s := readingSession(5)                  // results are 2, 4, 6, 8, 10; answers come a minute later
	pause(s, 4, 6*time.Minute)              // before the result 4 comes
	pause(s, 8, 2*time.Hour)                // before the result 8 comes
	pause(s, 5, 20*time.Minute)             // the answer takes long, and the cache lives from its end
	pause(s, 10, 5*time.Minute-time.Second) // exactly as long as it lives
	if gap := s.Messages[10].Time.Sub(s.Messages[9].Time); gap != 5*time.Minute {
		t.Fatal(gap)
	}
	checkColdPoints(t, s, map[string][]string{
		prices.Anthropic5m: {"gap 4", "gap 8"},
		prices.OpenAI:      {"gap 8"},
		prices.Anthropic1h: {"gap 8"},
		prices.None:        {"gap 2", "gap 4", "gap 6", "gap 8", "gap 10"},
	})
}

// answeredBy sets the models of the answers; each second message is one.
func answeredBy(s *transcript.Session, models ...string) {
	for i, m := range models {
		s.Messages[1+2*i].Model = m
	}
}

// Another model has another cache. The first model's cache is still warm when that model is asked again.
func TestColdPointsModel(t *testing.T) {
	s := readingSession(4)
	answeredBy(s, "one", "one", "two", "one", "two")
	checkColdPoints(t, s, map[string][]string{prices.Anthropic5m: {"model 4"}, prices.Anthropic1h: {"model 4"}})
}

// Thinking can leave too. A model's cache that holds an answer with thinking is warm, though it holds no call yet.
func TestColdPointsThinking(t *testing.T) {
	s := readingSession(3)
	thought := llm.Message{Role: llm.Assistant, Time: noon, Parts: []llm.Part{{Kind: llm.Thinking, Text: "so it is"}}}
	s.Messages = slices.Insert(s.Messages, 1, thought, text(llm.User, 5, 0))
	answeredBy(s, "one", "one", "two", "two", "one")
	checkColdPoints(t, s, map[string][]string{prices.Anthropic5m: {"model 4"}, prices.Anthropic1h: {"model 4"}})
}

// If a session begins with results, it continues a session that is not here: the cold point is a resume. If a later context
// begins with other messages, it is a compaction.
func TestColdPointsResumeAndCompaction(t *testing.T) {
	s := &transcript.Session{File: "resumed", Messages: readingSession(3).Messages}
	for i := 1; i < 5; i++ { // carried from the other session
		if s.Messages[i].Role == llm.Assistant {
			s.Carried = append(s.Carried, i)
		}
	}
	n := len(s.Messages)
	tail := call(77, 20*time.Minute, 10, 30)
	s.Messages = append(s.Messages, text(llm.User, 33, 20*time.Minute))
	s.Messages = append(s.Messages, tail...)
	s.Messages = append(s.Messages, text(llm.Assistant, 5, 21*time.Minute))
	s.Starts, s.Carried = []int{n}, append(s.Carried, n+1)
	checkColdPoints(t, s, map[string][]string{prices.Anthropic1h: {"resume 4", "compaction 2"}})
}

// After a rewind the cache still has the earlier messages, so the rewind is not a cold point. What was decided at the cold points
// before it is decided again, at the same places.
func TestColdPointsRewind(t *testing.T) {
	s := readingSession(4)
	pause(s, 4, time.Hour+time.Minute)
	n := len(s.Messages)
	end := s.Messages[n-1].Time
	for _, m := range s.Messages[:7] { // up to the third result
		m.Time = end
		s.Messages = append(s.Messages, m)
	}
	for i := n; i < len(s.Messages); i++ {
		if s.Messages[i].Role == llm.Assistant {
			s.Carried = append(s.Carried, i)
		}
	}
	last := text(llm.Assistant, 5, 0)
	last.Time = end.Add(time.Second)
	s.Messages, s.Starts = append(s.Messages, last), []int{n}
	checkColdPoints(t, s, map[string][]string{
		prices.Anthropic1h: {"gap 4", "gap 4"},
		prices.Anthropic5m: {"gap 4", "gap 4"},
	})
	rule, _ := prices.RuleNamed(prices.Anthropic5m)
	r := played(t, s, coldPolicy(nil), rule)
	if r.Changed != 0 {
		t.Errorf("%d requests changed what was cached", r.Changed)
	}
}

// Each price rule has a plan for its own cache. After eleven minutes the old result leaves if the cache lives five minutes, and
// stays if it lives an hour.
func TestPlannedByRule(t *testing.T) {
	s := readingSession(2)
	pause(s, 4, 10*time.Minute)
	result := float64(len(s.Messages[2].Parts[0].Text))
	ask := float64(len("Read") + len(s.Messages[1].Parts[0].Args))
	r := played(t, s, coldPolicy(nil), prices.Rules()...)
	head := func(read, write float64) float64 { return write*40 + read*40 + write*(ask+result) }
	checkCosts(t, "cold", r.Cost, map[string]float64{
		prices.Anthropic5m: head(0.1, 1.25) + 1.25*(40+ask+5+ask+result),
		prices.OpenAI:      head(0.1, 1) + 1*(40+ask+5+ask+result),
		prices.Anthropic1h: head(0.1, 2) + 0.1*(40+ask+result) + 2*(ask+result),
		prices.None:        40 + (40 + ask + result) + (40 + ask + 5 + ask + result),
	})
	if want := int64(40 + (40 + ask + result) + (40 + ask + 5 + ask + result)); r.Tokens != want || r.Peak != int(40+2*ask+5+result) {
		t.Errorf("%d tokens, peak %d, want %d", r.Tokens, r.Peak, want)
	}
}
