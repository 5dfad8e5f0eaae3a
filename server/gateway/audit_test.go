package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/test/recordtest"
)

// recorded returns the entries of a trail as text.
func recorded(t testing.TB, h *Hub, trail *recordtest.Memory) (lines []string) {
	t.Helper()
	if err := h.config.Journal.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	all, err := trail.Entries(ctx, record.TrailQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		lines = append(lines, strings.Join([]string{e.Root, e.Session, e.Client, e.CallID, e.Tool, e.Path, e.Decision, e.By, e.Outcome}, "|"))
		lines = append(lines, e.Flags...)
	}
	return lines
}

// The trail has what the gateway refuses and ends, with the token and the reason. The host's decisions are in the host's trail.
// (FILE-11)
func TestRefusalsAreRecorded(t *testing.T) {
	trail := new(recordtest.Memory)
	bubble(t, Config{Journal: &record.Journal{Trail: trail}, Limits: Limits{Rate: 4, Content: 10}, Away: -1}, func(t *testing.T, h *Hub, _ *logged) {
		defer h.config.Journal.Close()
		host := rawHost(t, h, wire.CanCancel, wire.CanParts)
		agent := join(t, h, "agent-desk")
		agent.hello(wire.Hello{Role: wire.Agent, Client: "editor 1", Session: "s", Capabilities: []string{wire.CanParts}})
		call := func(id string, parts bool) {
			agent.send(&wire.ToolCall{CallID: id, ToolName: "write_file", Arguments: json.RawMessage(`{"path":"a.txt"}`), PartsFollow: parts})
		}
		end := func(code string) {
			t.Helper()
			if r := want[*wire.ToolResult](agent); r.Error != code {
				t.Errorf("%s %s", r.Error, r.Result)
			}
		}
		call("done", false)
		host.result(want[*wire.ToolCall](host).CallID, `{"success":true}`)
		end("")
		call("over time", false)
		want[*wire.ToolCall](host)
		want[*wire.Cancel](host)
		end("timeout")
		time.Sleep(time.Minute)
		call("too large", true)
		agent.send(&wire.Part{CallID: "too large", Data: make([]byte, 11), Last: true})
		host.send(&wire.ToolResult{CallID: want[*wire.ToolCall](host).CallID, Error: "cancelled"})
		want[*wire.Cancel](host)
		end("file_too_large")
		call("done", false)
		end("invalid_argument")
		for _, id := range []string{"3", "4"} {
			call(id, false)
			host.result(want[*wire.ToolCall](host).CallID, `{"success":true}`)
			end("")
		}
		for i := range 5 {
			call(fmt.Sprint("soon ", i), false)
			end("rate_limited")
		}
		time.Sleep(time.Minute)
		call("lost", false)
		want[*wire.ToolCall](host)
		host.c.abort()
		end("host_unavailable")
		for range 3 {
			wrong := join(t, h, "agent-bert")
			wrong.send(&wire.Hello{Version: wire.Version, Role: wire.Host, Workspace: "w"})
			want[*wire.Error](wrong)
		}
		synctest.Wait()
		const prefix = "gateway:w|gateway-agent-desk-s|editor 1 (token desk)|gateway-agent-desk-s/"
		wanted := []string{
			prefix + "over time|write_file|a.txt|timeout|gateway|timeout",
			prefix + "too large|write_file|a.txt|refused|gateway|file_too_large",
			prefix + "done|write_file|a.txt|refused|gateway|invalid_argument",
			prefix + "soon 0|write_file|a.txt|refused|rate limit|rate_limited",
			prefix + "lost|write_file|a.txt|no host|gateway|host_unavailable",
			"gateway:w|gateway-agent-bert| (token bert)||||refused: this token is not for the role host: \"stet token create NAME --scope host\" makes one|gateway|permission_denied",
		}
		if got := recorded(t, h, trail); !slices.Equal(got, wanted) {
			t.Errorf("%s", strings.Join(got, "\n"))
		}
	})
}

// Requests without a token are recorded once a minute, with their number. (FILE-11)
func TestRequestsWithoutTokenDoNotFillTheTrail(t *testing.T) {
	trail := new(recordtest.Memory)
	h, _ := newHub(t, Config{Journal: &record.Journal{Trail: trail}})
	t.Cleanup(func() { _ = h.config.Journal.Close() })
	url := serveHub(t, h)
	for range 5 {
		resp, err := http.Get(url + "/v1/workspaces")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	if got := recorded(t, h, trail); len(got) != 1 || !strings.HasPrefix(got[0], "||127.0.0.1||||refused: a token is needed") {
		t.Errorf("%q", got)
	}
	now := time.Now()
	s, recorded := &limits.Keyed{PerMinute: 1, All: limits.NewRate(manyKinds)}, 0
	for i := range 2 * manyKinds {
		if wait, _ := s.Take(fmt.Sprint(i), now); wait == 0 {
			recorded++
		}
	}
	if recorded != manyKinds {
		t.Errorf("%d entries at once", recorded)
	}
	now = now.Add(time.Minute)
	if wait, left := s.Take("7", now); wait > 0 || left != manyKinds {
		t.Errorf("%d, %v", left, wait)
	}
	s.Take("7", now)
	if wait, left := s.Take("7", now.Add(time.Minute)); wait > 0 || left != 1 {
		t.Errorf("%d, %v", left, wait)
	}
}

// Setting the clock neither extends nor ends a time limit: limits use the monotonic clock. If the clock is set back by a year, a
// token does not last a year longer. (FILE-4)
func TestClockThatIsSet(t *testing.T) {
	h, _ := newHub(t, Config{Queue: new(approval.Queue)})
	begun := time.Now()
	token := func(expires time.Time) Identity { return Identity{ID: "a", Expires: expires.Round(0).UTC()} }
	if !h.clients.valid(token(begun.Add(time.Hour)), begun) {
		t.Error("it has an hour")
	}
	back := token(begun.Add(time.Hour).AddDate(1, 0, 0))
	if !h.clients.valid(back, begun.Add(59*time.Minute)) || h.clients.valid(back, begun.Add(time.Hour)) {
		t.Error("it lasts as long as it was to last")
	}
	if h.clients.valid(token(begun.Add(-time.Second)), begun) || !h.clients.valid(Identity{ID: "b"}, begun) {
		t.Error("an expired token is valid, or a token without expiry is not")
	}

	sub := h.config.Queue.Subscribe()
	defer sub.Close()
	host := rawHost(t, h, wire.CanCancel)
	long := time.Now().AddDate(100, 0, 0)
	host.send(&wire.Approval{ID: "1", Question: &approval.Question{Asked: time.Unix(0, 0), Expires: long, Seal: "s", Tool: "t", Path: "p"}})
	e, err := sub.Next(ctx)
	if err != nil || e.Opened == nil {
		t.Fatal(e, err)
	}
	for _, at := range []time.Time{e.Opened.Asked, e.Opened.Expires} {
		if at.Equal(at.Round(0)) && !strings.Contains(at.String(), " m=") {
			t.Errorf("%v is of a clock that can be set", at)
		}
	}
	if e.Opened.Expires.Sub(e.Opened.Asked) != longest {
		t.Errorf("it waits until %v", e.Opened.Expires)
	}
}
