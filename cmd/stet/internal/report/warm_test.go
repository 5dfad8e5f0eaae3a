package report

import (
	"math"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/record"
)

// A request of 190,000 tokens of a model whose input costs 5 dollars a million: read at a tenth, written at 1.25 times or, for an hour, twice.
func TestNextRequest(t *testing.T) {
	c, err := prices.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 26, 13, 32, 0, 0, time.Local)
	r := record.Request{
		Time: at, Conversation: "c", Model: "claude-opus-4-5", Usage: record.Usage{Input: 1000, CacheRead: 180_000, CacheWrite: 8000, Output: 1000},
		Cache: record.Cache{Lifetime: 5 * time.Minute},
	}
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
	w, ok := NextRequest(r, c)
	if !ok || !near(w.Within, (188_000*0.5+2000*6.25)/1e6) || !near(w.After, 190_000*6.25/1e6) || !w.Until.Equal(at.Add(5*time.Minute)) {
		t.Errorf("five minutes: %+v %t", w, ok)
	}
	r.Cache.Lifetime = time.Hour
	if w, _ = NextRequest(r, c); !near(w.After, 190_000*10/1e6) {
		t.Errorf("an hour: %+v", w)
	}
	want := "the prompt cache is warm until 14:32; then the next request costs about $1.90 instead of $0.11"
	if says := w.Says(at.Add(time.Minute)); says != want {
		t.Errorf("says %q", says)
	}
	if says := w.Says(at.Add(2 * time.Hour)); says != "the prompt cache ended at 14:32: the next request costs about $1.90 instead of $0.11" {
		t.Errorf("after: %q", says)
	}
	small, none, unknown := r, r, r
	small.Usage = record.Usage{CacheRead: 2000, Output: 10}
	none.Usage = record.Usage{Input: 190_000}
	unknown.Model = "a-model-of-nobody"
	if w, _ := NextRequest(small, c); w.Says(at) != "" {
		t.Errorf("a small one: %q", w.Says(at))
	}
	for _, r := range []record.Request{none, unknown} {
		if w, ok := NextRequest(r, c); ok {
			t.Errorf("%+v", w)
		}
	}
	sub := r
	sub.Agent = "sub"
	if all := NextRequests([]record.Request{small, r, sub, none}, c); len(all) != 0 {
		t.Errorf("the newest has no cache: %+v", all)
	}
	if all := NextRequests([]record.Request{small, r, sub}, c); len(all) != 1 || all[0].After < 1 {
		t.Errorf("one conversation: %+v", all)
	}
	beside := small
	beside.Model = "claude-haiku-4-5"
	if all := NextRequests([]record.Request{r, beside}, c); len(all) != 1 || all[0].Model != r.Model || !near(all[0].After, 190_000*10/1e6) {
		t.Errorf("with a small model beside it: %+v", all)
	}
	beside.Cache.Gap = time.Minute // a person has chosen it
	if all := NextRequests([]record.Request{r, beside}, c); len(all) != 1 || all[0].Model != beside.Model {
		t.Errorf("with another model: %+v", all)
	}
}
