package gateway

import (
	"strings"
	"testing"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/test/recordtest"
	"github.com/stet-dev/stet/tool"
)

// An agent reads and writes on another machine's workspace, and a person at the
// gateway decides on the write. (FILE-3, FILE-4, FILE-6)
func TestReadAndWrite(t *testing.T) {
	queue, trail := new(approval.Queue), new(recordtest.Memory)
	journal := &record.Journal{Trail: trail}
	t.Cleanup(func() { _ = journal.Close() })
	hub, _ := newHub(t, Config{Queue: queue, Journal: journal})
	url := serveHub(t, hub)
	b := newBench(t, Relay{}, policy.Policy{})
	b.put(t, "a.txt", "one\n")
	runHost(t, url, "project", b.handler)
	agent := dialAgent(t, url, "project")

	if r := mustCall(t, agent, "read_file", `{"path":"a.txt"}`); r.Failed() || !strings.Contains(r.Text, `"content":"one\n"`) {
		t.Fatalf("%+v", r)
	}
	var asked approval.Question
	approve(t, queue, func(q approval.Question) approval.Answer {
		asked = q
		return approval.Answer{Verdict: approval.Approve, By: "desk"}
	})
	if r := mustCall(t, agent, "write_file", `{"path":"a.txt","content":"two\n"}`); r.Failed() || !strings.Contains(r.Text, `"success":true`) {
		t.Fatalf("%+v", r)
	}
	if got := b.get(t, "a.txt"); got != "two\n" {
		t.Errorf("%q", got)
	}
	if !strings.Contains(asked.Diff.Text(), "+two") || asked.Path != "a.txt" || asked.Client != "tester 1 (workspace project)" {
		t.Errorf("%+v", asked)
	}
	out := b.outcomes(t)
	if len(out) != 1 || out[0].By != "person desk" || out[0].Outcome != record.OK || out[0].Client != "tester 1" {
		t.Errorf("%+v", out)
	}
	if r := mustCall(t, agent, "read_file", `{"path":"none"}`); r.Code != tool.FileNotFound {
		t.Errorf("%+v", r)
	}
}
