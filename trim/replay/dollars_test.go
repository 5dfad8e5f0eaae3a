package replay

import (
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/test/replaytest"
	"github.com/stet-dev/stet/trim"
	"github.com/stet-dev/stet/trim/transcript"
)

// pricedSession reads a file, pauses, reads the file again, and answers.
func pricedSession(pause time.Duration) *transcript.Session {
	s := &transcript.Session{ID: "s", File: "s", Dir: "/home/me/project", Model: "claude-sonnet-4-5"}
	s.Messages = append(s.Messages, replaytest.Text(llm.User, 40, 0))
	s.Messages = append(s.Messages, replaytest.Read(1, time.Minute, 1, 60)...)
	s.Messages = append(s.Messages, replaytest.Read(2, time.Minute+pause, 1, 60)...)
	s.Messages = append(s.Messages, replaytest.Text(llm.Assistant, 10, 2*time.Minute+pause))
	return s
}

func priced(t *testing.T, s *transcript.Session, c Config, throughStet bool) (*Dollars, Outcome) {
	t.Helper()
	c.Counter = replaytest.Bytes{}
	var through map[int]Passed
	if throughStet {
		through = map[int]Passed{}
	}
	_, d, with, err := New(s, &c).bill(t.Context(), c.History, through)
	if err != nil {
		t.Fatal(err)
	}
	return d, with
}

// Without usage the bill is an estimate of input and answers.
func TestDollarsEstimated(t *testing.T) {
	s := pricedSession(time.Minute)
	d, with := priced(t, s, Config{Overhead: -1}, false)
	r := New(s, &Config{Counter: replaytest.Bytes{}, Overhead: -1})
	rule, _ := prices.RuleNamed(prices.Anthropic5m)
	off, err := r.Under(t.Context(), nil, []Rule{{Rule: rule}})
	if err != nil {
		t.Fatal(err)
	}
	answers := 0
	for i := range r.Requests {
		answers += r.output(i)
	}
	want := off.Cost[rule.Name]*3e-6 + float64(answers)*15e-6
	if !d.Estimated || !replaytest.Near(d.Without, want) || d.Saved() <= 0 || d.Recalled != 0 || d.WrongGuess != 0 {
		t.Errorf("%+v, want %v without", d, want)
	}
	if n := with.Omitted[trim.Repeat]; n < 1000 || len(with.Omitted) != 1 || with.LeftOut != 1 {
		t.Errorf("omitted %v, left out %d", with.Omitted, with.LeftOut)
	}
}

// With usage, the bill of the recorded side is what was charged.
func TestDollarsCharged(t *testing.T) {
	s := pricedSession(time.Minute)
	for i, u := range map[int]llm.Usage{
		1: {CacheWrite: 20000, Output: 100}, 3: {CacheRead: 20000, CacheWrite: 1000, Output: 100}, 5: {CacheRead: 21000, CacheWrite: 1000, Output: 100},
	} {
		s.Messages[i].Usage = &u
	}
	charged := (22000*3.75 + 41000*0.3 + 300*15) / 1e6
	d, _ := priced(t, s, Config{}, false)
	if d.Estimated || !replaytest.Near(d.Without, charged) || d.Saved() <= 0 || d.Saved() > charged/10 {
		t.Errorf("%+v, want %v without", d, charged)
	}
	d, _ = priced(t, s, Config{}, true)
	if d.Estimated || !replaytest.Near(d.With, charged) || d.Saved() <= 0 {
		t.Errorf("through stet: %+v, want %v with", d, charged)
	}
}

// A model without known prices has no bill, and not a bill of zero.
func TestDollarsUnknown(t *testing.T) {
	s := pricedSession(time.Minute)
	s.Model = "a model of my own"
	if d, with := priced(t, s, Config{}, false); d != nil || with.LeftOut != 1 {
		t.Errorf("%+v, left out %d", d, with.LeftOut)
	}
	mine := func(string) (prices.Model, bool) { return prices.Model{USD: prices.USD{Input: 1, Output: 2}}, true }
	if d, _ := priced(t, s, Config{Models: mine}, false); d == nil || d.Saved() <= 0 {
		t.Errorf("with prices of one's own: %+v", d)
	}
}

// A pause longer than the cache lives makes a cold point. If the recording shows that the cache was alive, the tokens that are
// written again for nothing are charged.
func TestDollarsWrongGuess(t *testing.T) {
	s := pricedSession(time.Minute)
	args := `{"command":"go vet ./..."}`
	for n := range 8 {
		at := time.Duration(n+3) * time.Minute
		s.Messages = append(s.Messages,
			llm.Message{Role: llm.Assistant, Time: replaytest.Noon.Add(at), Parts: []llm.Part{{Kind: llm.ToolCall, CallID: string(rune('a' + n)), Name: "Bash", Args: args}}},
			llm.Message{Role: llm.Tool, Time: replaytest.Noon.Add(at), Parts: []llm.Part{{
				Kind: llm.ToolResult, CallID: string(rune('a' + n)), Text: lines(n, 80)}}})
	}
	s.Messages = append(s.Messages, replaytest.Text(llm.Assistant, 10, 11*time.Minute), replaytest.Text(llm.User, 10, 40*time.Minute),
		replaytest.Text(llm.Assistant, 10, 41*time.Minute))
	wrong := func(aliveAtTheEnd bool) *Dollars {
		read := 0
		for i := range s.Messages {
			if m := &s.Messages[i]; m.Role == llm.Assistant {
				size := read + 3000
				m.Usage = &llm.Usage{CacheRead: read, CacheWrite: size - read, Output: 10}
				if i == len(s.Messages)-1 && !aliveAtTheEnd {
					m.Usage.CacheRead, m.Usage.CacheWrite = 0, size
				}
				read = size
			}
		}
		d, with := priced(t, s, Config{}, false)
		if with.Omitted[trim.Command] == 0 {
			t.Fatalf("nothing left at the pause: %v", with.Omitted)
		}
		return d
	}
	if d := wrong(false); d.WrongGuess != 0 {
		t.Errorf("the cache was cold: %+v", d)
	}
	if d := wrong(true); d.WrongGuess <= 0 {
		t.Errorf("the cache was alive: %+v", d)
	}
}

func lines(n, count int) (text string) {
	for i := range count {
		text += "checked package number " + string(rune('a'+n)) + string(rune('0'+i%10)) + string(rune('0'+i/10)) + "\n"
	}
	return text
}

// A request whose prompt is past the model's limit costs more in the whole bill, and so does its answer. One that is below the limit
// because of the policy does not.
func TestLongPromptsCostMore(t *testing.T) {
	s := &transcript.Session{ID: "s", File: "s", Dir: "/home/me/project", Model: "claude-sonnet-4-5"}
	s.Messages = append(s.Messages, replaytest.Text(llm.User, 40, 0))
	for i := range 4 {
		s.Messages = append(s.Messages, replaytest.Read(i+1, time.Duration(i+1)*time.Minute, 1, 300)...)
	}
	s.Messages = append(s.Messages, replaytest.Text(llm.Assistant, 10, 5*time.Minute))
	r := New(s, &Config{Counter: replaytest.Bytes{}, Overhead: 170_000})
	none, _ := prices.RuleNamed(prices.None)
	rules := []Rule{{Rule: none}}
	off, err := r.Under(t.Context(), nil, rules)
	if err != nil {
		t.Fatal(err)
	}
	sender, whole, answers, long := r.NewSender(Cache{Rule: none}), 0., 0., 0
	for i := range r.Requests {
		input, output := float64(sender.Send(i, nil).Tokens), 5*float64(r.output(i))
		answers += output
		if input > 200_000 {
			long++
			input, output = 2*input, 1.5*output
		}
		whole += input + output
	}
	if long != 2 || !replaytest.Near(off.Bill[none.Name], whole) || !replaytest.Near(off.USD[none.Name], whole*3e-6) {
		t.Errorf("%d long prompts: %v, $%v; want %v", long, off.Bill, off.USD, whole)
	}
	policy, err := Ours(trim.Config{Policy: trim.Lossless})
	if err != nil {
		t.Fatal(err)
	}
	with, err := r.Under(t.Context(), policy, rules)
	if err != nil {
		t.Fatal(err)
	}
	if want := with.Cost[none.Name] + answers; with.Peak > 200_000 || !replaytest.Near(with.Bill[none.Name], want) {
		t.Errorf("%v, want %v; the longest prompt has %d tokens", with.Bill, want, with.Peak)
	}
}
