package report

import (
	"testing"
	"time"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/replay"
)

// Of recorded requests it is known what was sent in another way: where nothing was,
// tools and system text are not to blame.
func TestAskedOf(t *testing.T) {
	before := []replay.BilledRequest{{Model: "a"}}
	for _, test := range []struct {
		row    record.Request
		before []replay.BilledRequest
		want   replay.Part
	}{
		{record.Request{Model: "a", Cache: record.Cache{Gap: time.Minute, Lifetime: time.Hour}}, before, partDropped},
		{record.Request{Model: "a", Cache: record.Cache{Gap: 2 * time.Hour, Lifetime: time.Hour}}, before, replay.PartGap},
		{record.Request{Model: "a", Cache: record.Cache{Gap: time.Minute, Lifetime: time.Hour, Broke: record.BrokeTools}}, before, replay.PartTools},
		{record.Request{Model: "b", Cache: record.Cache{Gap: time.Minute, Lifetime: time.Hour}}, before, ""},
		{record.Request{Model: "a", Cache: record.Cache{}}, nil, ""},
	} {
		if got := askedOf(&test.row, test.before); got.Part != test.want || got.Number != len(test.before)+1 {
			t.Errorf("%+v: %+v", test.row.Cache, got)
		}
	}
}
