package replay

import (
	"fmt"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim/transcript"
)

// BILL-3: each request is on its own local day, and with its own project and model. What ran through stet was charged "with".
func TestGroups(t *testing.T) {
	zone := time.Local
	t.Cleanup(func() { time.Local = zone })
	time.Local = time.FixedZone("east", 9*3600)
	late := time.Date(2026, 11, 30, 14, 59, 0, 0, time.UTC) // 23:59 in the east
	one := llm.Usage{Input: 1, Output: 2}
	rep := Report{Sessions: []Row{
		{Agent: "A", Answers: []Billed{
			{Time: late, Model: "m", Dir: "/a", Usage: one, Priced: true, Reported: 4, Saved: 1},
			{Time: late.Add(time.Minute), Model: "m", Dir: "/b", Usage: one, Priced: true, Reported: 4, Unreported: 1},
		}},
		{Agent: "B", Started: late, ThroughStet: true, Answers: []Billed{{Model: "n", Usage: one}, {Model: "m", Usage: one, Priced: true, Reported: 2, Saved: 2}}},
	}}
	for how, want := range map[string]string{
		ByDay: "2026-11-30 3 1 8 5; 2026-12-01 1 0 5 5; ", ByMonth: "2026-11 3 1 8 5; 2026-12 1 0 5 5; ", ByProject: "/b 1 0 5 5; /a 1 0 4 3; unknown 2 1 4 2; ",
		ByModel: "m 3 0 13 10; n 1 1 ?; ", ByAgent: "A 2 0 9 8; B 2 1 4 2; ",
	} {
		got, used := "", 0
		for _, g := range rep.By(how) {
			money := "?"
			if g.USD != nil {
				money = fmt.Sprint(g.USD.Without, " ", g.USD.With)
			}
			got += fmt.Sprint(g.Name, " ", g.Requests, " ", g.Unpriced, " ", money, "; ")
			used += g.Used.Output
		}
		if got != want || used != 8 {
			t.Errorf("by %s: %q with %d of output, want %q", how, got, used, want)
		}
	}
	s := &transcript.Session{Answers: []transcript.Answer{{Time: late}, {Time: late.Add(time.Minute)}, {}}}
	c := Config{Since: late.Add(time.Second), Until: late.Add(time.Hour)}
	if !c.within(s) || len(s.Answers) != 1 {
		t.Errorf("%d answers within", len(s.Answers))
	}
}
