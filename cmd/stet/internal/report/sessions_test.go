package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stet-dev/stet/session"
)

func TestShortIDs(t *testing.T) {
	all := []session.Info{
		{ID: "01a207d9-9214-7d92-a191-c31319fe92da"}, {ID: "01a207d9-944b-702e-a9a1-25face730c77"},
		{ID: "01a207da-0000-7000-8000-000000000000"}, {ID: "01a207db"}, {ID: "x"}, {ID: "01a207dcq-1"}, {ID: "01a207dc-1"},
	}
	want := map[string]string{
		"01a207d9-9214-7d92-a191-c31319fe92da": "01a207d9-92", "01a207d9-944b-702e-a9a1-25face730c77": "01a207d9-94",
		"01a207da-0000-7000-8000-000000000000": "01a207da", "01a207db": "01a207db", "x": "x",
		"01a207dcq-1": "01a207dcq", "01a207dc-1": "01a207dc-1",
	}
	if diff := cmp.Diff(want, shortIDs(all)); diff != "" {
		t.Error(diff)
	}
}
