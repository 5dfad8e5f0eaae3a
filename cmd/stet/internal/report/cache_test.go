package report

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/colorprofile"
	"github.com/google/go-cmp/cmp"

	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/trim/replay"
)

// A recorded request says which parts were sent changed. If there are none, tools and system text are not the cause of a break. A
// change by stet at a cold point breaks nothing, unless the cache was warm.
func TestAskedOf(t *testing.T) {
	changed := func(moment string, alive bool) record.Request {
		return record.Request{Model: "a", TokensOff: 1000, Tokens: 500, Cache: record.Cache{
			Gap: time.Minute, Lifetime: time.Hour, Broke: record.BrokeStet, BrokeAt: 2, Moment: moment, Alive: alive,
		}}
	}
	gone := changed("gap", true)
	gone.Cache.Gap, gone.Cache.Broke = 2*time.Hour, record.BrokeSystem
	for _, test := range []struct {
		row   record.Request
		known bool
		want  replay.Part
	}{
		{record.Request{Model: "a", Cache: record.Cache{Gap: time.Minute, Lifetime: time.Hour}}, true, partDropped},
		{record.Request{Model: "a", Cache: record.Cache{Gap: 2 * time.Hour, Lifetime: time.Hour}}, true, replay.PartGap},
		{record.Request{Model: "a", Cache: record.Cache{Gap: time.Minute, Lifetime: time.Hour, Broke: record.BrokeTools}}, true, replay.PartTools},
		{record.Request{Model: "a", Cache: record.Cache{Gap: 2 * time.Hour, Lifetime: time.Hour, Broke: record.BrokeTools}}, true, replay.PartGap},
		{record.Request{Model: "a", Cache: record.Cache{Gap: 2 * time.Hour, Lifetime: time.Hour, Broke: record.BrokeModel}}, true, replay.PartGap},
		{gone, true, replay.PartSystem}, // the answer showed that the cache lived longer
		{record.Request{Model: "b", Cache: record.Cache{Gap: time.Minute, Lifetime: time.Hour}}, false, ""},
		{record.Request{Model: "a", Cache: record.Cache{}}, false, ""},
		{changed("", false), true, replay.PartStet},
		{changed("gap", false), true, replay.PartGap},
		{changed("gap", true), true, replay.PartStet},
		{changed("compaction", false), true, replay.PartContext},
	} {
		want := replay.BilledRequest{Gap: test.row.Cache.Gap, Model: test.row.Model, Lifetime: test.row.Cache.Lifetime, Part: test.want}
		switch test.want {
		case replay.PartStet:
			want.At, want.Fewer = 2, 400
		case replay.PartSystem:
			want.At = 2
		}
		if diff := cmp.Diff(want, askedOf(&test.row, 100, test.known)); diff != "" {
			t.Errorf("%+v: %s", test.row.Cache, diff)
		}
	}
}

// A break by stet is marked, with its benefit. A message that only the provider names has no index.
func TestCacheOfRequests(t *testing.T) {
	begin := time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)
	row := func(minute int, u record.Usage, c record.Cache, off, left int) record.Request {
		c.Gap, c.Lifetime = time.Minute, time.Hour
		return record.Request{
			Conversation: "c", Model: "claude-sonnet-4-5", Time: begin.Add(time.Duration(minute) * time.Minute),
			Usage: u, Cache: c, TokensOff: off, Tokens: left,
		}
	}
	rows := []record.Request{
		row(0, record.Usage{CacheWrite: 50_000}, record.Cache{}, 50_000, 50_000),
		row(1, record.Usage{CacheRead: 10_000, CacheWrite: 11_000}, record.Cache{Broke: record.BrokeStet, BrokeAt: 4}, 51_000, 21_000),
		row(2, record.Usage{CacheRead: 5_000, CacheWrite: 17_000}, record.Cache{Broke: record.BrokeMessage, BrokeAt: -1}, 52_000, 22_000),
	}
	catalog, err := prices.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	var c Cache
	c.AddRequests(rows, catalog)
	c.Sum(catalog)
	var out strings.Builder
	c.Print(&out, 0)
	for _, want := range []string{"stet 4, +$", "; 30,000 tokens fewer from then on\n", "  message, +$", "  stet             1 break, "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &out)
		}
	}
	out.Reset()
	c.Sessions[0].print(colorprofile.NewWriter(&out, nil), 60) // a narrow terminal: columns go on below
	table, _, _ := strings.Cut(out.String(), "3 requests, ")
	for line := range strings.Lines(table) {
		if n := utf8.RuneCountInString(line) - 1; n > 60 {
			t.Errorf("a line has %d columns: %s", n, line)
		}
	}
	if strings.Count(table, "#") < 2 {
		t.Error(table)
	}
}
