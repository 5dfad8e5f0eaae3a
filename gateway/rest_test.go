package gateway

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stet-dev/stet/approval"
	"github.com/stet-dev/stet/gateway/wire"
	"github.com/stet-dev/stet/policy"
	"github.com/stet-dev/stet/record"
)

// An agent without a WebSocket makes calls over plain HTTP, and comes back for the
// result of one that waits for a person. An id is taken once. (FILE-4)
func TestPlainHTTP(t *testing.T) {
	queue := new(approval.Queue)
	hub, _ := newHub(t, Config{Queue: queue})
	url := serveHub(t, hub)
	b := newBench(t, Relay{}, policy.Policy{})
	b.put(t, "a.txt", "one\n")
	runHost(t, url, "w", b.handler)
	dialAgent(t, url, "w") // which waits for the host
	ask := func(method, path, body string) (int, *wire.ToolResult, string) {
		t.Helper()
		status, text := fetch(t, url, method, path, body, "Authorization", "Bearer agent-a")
		var r wire.ToolResult
		if err := json.Unmarshal([]byte(text), &r); err != nil && text != "" && text[0] == '{' {
			t.Fatalf("%s: %v", text, err)
		}
		return status, &r, text
	}
	const tools = "/v1/sessions/s/tools/"
	if status, r, text := ask("POST", tools+"read_file", `{"path":"a.txt"}`); status != 200 || !strings.Contains(string(r.Result), "one") || r.CallID == "" {
		t.Error(status, text)
	}
	if status, r, text := ask("POST", tools+"read_file", `{"path":"../a.txt"}`); status != 200 || r.Error != "invalid_path" {
		t.Error(status, text)
	}
	status, r, text := ask("POST", tools+"write_file?call_id=w1&wait=0", `{"path":"a.txt","content":"two\n"}`)
	if status != 202 || r.CallID != "w1" {
		t.Error(status, text)
	}
	sub := queue.Subscribe()
	defer sub.Close()
	e, err := sub.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if status, r, text = ask("GET", "/v1/sessions/s/calls/w1?wait=0", ""); status != 202 || !r.NeedsConfirmation || r.CallID != "w1" {
		t.Error(status, text)
	}
	if status, _, text = ask("POST", tools+"write_file?call_id=w1", `{"path":"a.txt","content":"two\n"}`); status != 409 {
		t.Error(status, text)
	}
	if err := queue.Answer(e.Opened.ID, approval.Answer{Verdict: approval.Approve, Seal: e.Opened.Seal, By: "anna"}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the answer may be lost on its way
		if status, r, text = ask("GET", "/v1/sessions/s/calls/w1", ""); status != 200 || !strings.Contains(string(r.Result), `"success":true`) || r.CallID != "w1" {
			t.Error(status, text)
		}
	}
	if status, _, text = ask("POST", tools+"write_file?call_id=w2&wait=0", `{"path":"a.txt","content":"three\n"}`); status != 202 {
		t.Error(status, text)
	}
	if status, r, text = ask("DELETE", "/v1/sessions/s/calls/w2", ""); status != 200 || r.Error != "cancelled" {
		t.Error(status, text)
	}
	if got := b.get(t, "a.txt"); got != "two\n" {
		t.Errorf("%q", got)
	}
	if out := b.outcomes(t); len(out) != 1 || out[0].Outcome != record.OK || out[0].By != "person anna" {
		t.Errorf("%+v", out)
	}
	for _, c := range []struct {
		method, path, body string
		status             int
		text               string
	}{
		{"POST", tools + "read_file", `[1]`, 400, "a JSON object"},
		{"POST", tools + "read_file", `{"path":`, 400, "a JSON object"},
		{"POST", tools + "read_file?timeout_seconds=0", `{}`, 400, "timeout_seconds is a whole number"},
		{"POST", tools + "read_file?wait=x", `{}`, 400, "wait is a whole number"},
		{"POST", tools + "read_file?call_id=a%2Fb", `{}`, 400, "call_id is letters"},
		{"POST", tools + "read_file?workspace=v", `{}`, 200, "host_unavailable"},
		{"POST", "/v1/sessions/a%20b/tools/read_file", `{}`, 400, "a session is named"},
		{"POST", tools + "no_such_tool", `{}`, 200, "There is no tool"},
		{"GET", "/v1/sessions/s/calls/none", "", 404, "no such call"},
		{"GET", "/v1/sessions/other/calls/w1", "", 404, "no such call"},
		{"DELETE", "/v1/sessions/s", "", 204, ""},
	} {
		if status, _, text := ask(c.method, c.path, c.body); status != c.status || !strings.Contains(text, c.text) {
			t.Errorf("%s %s: %d %s", c.method, c.path, status, text)
		}
	}
	if status, text := fetch(t, url, "GET", "/v1/sessions/s/calls/w1", "", "Authorization", "Bearer agent-b"); status != 404 {
		t.Error("another token reaches the call:", text)
	}
}
