package gateway

import (
	"strings"
	"testing"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/server/gateway/wire"
)

// Approvers and admins connect as persons. Other tokens are told which scope is missing.
func TestPersonsConnect(t *testing.T) {
	hub, _ := newHub(t, Config{Queue: new(approval.Queue)})
	url := serveHub(t, hub)
	for token, in := range map[string]bool{"approver-a": true, "admin-a": true, "person-a": true, "agent-a": false, "host-a": false} {
		r := dialRaw(t, url, token)
		r.send(&wire.Hello{Version: wire.Version, Role: wire.Person})
		if in {
			want[*wire.Hello](r)
		} else if e := want[*wire.Error](r); e.Code != wire.Forbidden || !strings.Contains(e.Message, "--scope approver") {
			t.Errorf("%s: %+v", token, e)
		}
	}
}
