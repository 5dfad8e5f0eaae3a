package bench

import (
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/test/replaytest"
	"github.com/stet-dev/stet/trim"
	"github.com/stet-dev/stet/trim/replay"
)

const fiveMinutes = prices.Anthropic5m

// pricedSession returns a session of a repository. Its input costs off without a policy, with with one, and ten more after recall.
func pricedSession(repository string, off, with, answers float64) *played {
	cost := func(v float64) map[string]float64 { return map[string]float64{fiveMinutes: v, RecordedRule: v} }
	return &played{
		file: repository + "/s", about: About{Repository: repository}, answers: answers,
		free: regime{counted: []replay.Outcome{
			{Cost: cost(off), Bill: cost(off + answers), USD: cost(0.01 * (off + answers))},
			{Cost: cost(with), Charged: cost(with + 10), Bill: cost(with + 10 + answers), USD: cost(0.01 * (with + 10 + answers))},
		}},
	}
}

func pricedGroup(some ...*played) Figures {
	g := grouping{[]Policy{{Name: "off"}, {Name: "x"}}, replay.Rules()[:1], countedSizes}
	return g.whole(some).Policies[1]
}

// The bill uses the reported sizes, if there are any, and includes the answers.
func TestBill(t *testing.T) {
	one, two := pricedSession("a", 100, 80, 100), pricedSession("b", 300, 200, 0)
	two.free.reported = pricedSession("b", 500, 440, 0).free.counted
	f := pricedGroup(one, two)
	if want := (80.+10+100+440+10)/(100+100+500) - 1; !replaytest.Near(f.RelBill[fiveMinutes], want) {
		t.Errorf("bill %v, want %v", f.RelBill, want)
	}
	if off := 700.; !replaytest.Near(f.RelUSD, f.RelBill[fiveMinutes]) || !replaytest.Near(f.USD, 0.01*off*(1+f.RelUSD)) {
		t.Errorf("$%v, %v", f.USD, f.RelUSD)
	}
	if want := (80.+10+200+10)/400 - 1; !replaytest.Near(f.RelRecall[fiveMinutes], want) {
		t.Errorf("after recall %v, want %v", f.RelRecall, want)
	}
}

// The interval draws whole repositories with all their sessions. If there is one repository, it draws sessions.
func TestInterval(t *testing.T) {
	f := pricedGroup(pricedSession("a", 100, 40, 0), pricedSession("a", 100, 140, 0), pricedSession("b", 100, 90, 0))
	if got := f.BillInterval; got != [2]float64{0, 0} { // a: 200 for 200; b: 100 for 100
		t.Errorf("%v", got)
	}
	f = pricedGroup(pricedSession("a", 100, 40, 0), pricedSession("a", 100, 140, 0))
	if got := f.BillInterval; !replaytest.Near(got[0], -0.5) || !replaytest.Near(got[1], 0.5) {
		t.Errorf("%v", got)
	}
	if f := pricedGroup(pricedSession("a", 100, 40, 0)); f.BillInterval != [2]float64{} {
		t.Errorf("one session: %v", f.BillInterval)
	}
}

// If thinking is checked, messages that were sent stay as they are. Then policies can only deduplicate, and the other rules do
// not run.
func TestThinkingIsChecked(t *testing.T) {
	adaptive, err := Ours(trim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	latest, err := replay.Ours(trim.Config{Policy: trim.KeepLatest, KeepReads: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := replaytest.Reading(6)
	s.Messages = append(s.Messages, replaytest.Text(llm.User, 40, 8*60e9), replaytest.Text(llm.Assistant, 10, 9*60e9))
	p := played{}
	p.play(t.Context(), replay.New(s, &replay.Config{}), []Policy{{Name: "off"}, adaptive, {Name: "latest", Begin: latest}, {Name: "by the provider", Begin: latest, Checked: latest}})
	free, bound := p.free.counted, p.bound.counted
	if free[1].Changed != bound[1].Changed || bound[1].Tokens >= bound[0].Tokens || bound[1].Tokens < free[1].Tokens {
		t.Errorf("free %+v, bound %+v", free[1], bound[1])
	}
	if n := bound[1].Omitted; len(n) != 1 || n[trim.Repeat] == 0 {
		t.Errorf("left out %v", n)
	}
	if bound[2].Requests != 0 || free[2].Changed == 0 || bound[0].Tokens != free[0].Tokens {
		t.Errorf("%+v", bound[2])
	}
	if bound[3].Tokens != free[2].Tokens || bound[3].Tokens >= free[0].Tokens {
		t.Errorf("what the provider leaves out: %+v", bound[3])
	}
}
