package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/server/gateway/wire"
	"github.com/stet-dev/stet/tool"
)

// A frame above the gateway's limit is not sent: the call fails, and the connection stays. (FILE-5)
func TestLargeFrames(t *testing.T) {
	const limit = 32 << 10
	h, log := newHub(t, Config{Limits: Limits{Frame: limit, Rate: -1}})
	url := serveHub(t, h)
	runHost(t, url, "w", mirror{})
	a := dialAgent(t, url, "w")
	call := func(n int) *future {
		args := json.RawMessage(`{"text":"` + strings.Repeat("x", n) + `"}`)
		return begin(ctx, a, tool.Call{ID: "012345678901", Name: "read_file", Arguments: args})
	}
	empty, err := wire.Encode(&wire.ToolCall{CallID: "012345678901", ToolName: "read_file", Arguments: json.RawMessage(`{"text":""}`)})
	if err != nil {
		t.Fatal(err)
	}
	most := limit - empty.Size()
	call(most+1).wait(t, tool.FileTooLarge, "Nothing was done")
	call(most).wait(t, tool.FileTooLarge, "The call was done") // its result is twice as large
	call(1).wait(t, tool.InvalidArgument, "used before")       // the id was used before
	if n := strings.Count(log.String(), "msg=connected"); n != 2 {
		t.Errorf("%d connections: %s", n, log)
	}
}

// mirror returns its argument twice.
type mirror struct{ echo }

func (mirror) Call(_ context.Context, c tool.Call) (tool.Result, error) {
	return tool.Result{CallID: c.ID, Text: `{"first":` + string(c.Arguments) + `,"second":` + string(c.Arguments) + `}`}, nil
}

// A question above the gateway's limit is sent without its large fields: first without the content to edit, then without the diff.
// (FILE-6)
func TestLargeQuestion(t *testing.T) {
	queue := new(approval.Queue)
	h, log := newHub(t, Config{Queue: queue, Limits: Limits{Frame: 32 << 10}})
	url := serveHub(t, h)
	b := newBench(t, Relay{}, policy.Policy{})
	runHost(t, url, "w", b.handler)
	asked := make(chan approval.Question, 1)
	approve(t, queue, func(q approval.Question) approval.Answer {
		asked <- q
		return approval.Answer{Verdict: approval.Approve}
	})
	a := dialAgent(t, url, "w")
	for lines, shown := range map[int]bool{3000: true, 3800: false} {
		text := strings.Repeat("a line\n", lines)
		path := fmt.Sprintf("%d.txt", lines)
		args, err := json.Marshal(map[string]string{"path": path, "content": text})
		if err != nil {
			t.Fatal(err)
		}
		begin(ctx, a, tool.Call{Name: "write_file", Arguments: args}).wait(t, "", `"success":true`)
		q := <-asked
		if q.Path != path || q.Size != int64(len(text)) || !q.Diff.Empty() != shown || q.Editable || q.Partial() == shown {
			t.Errorf("%s: %d bytes of a diff, editable %v, notes %v", path, len(q.Diff.Text()), q.Editable, q.Notes)
		}
		if b.get(t, path) != text {
			t.Error("it was not written")
		}
	}
	if n := strings.Count(log.String(), "msg=connected"); n != 2 {
		t.Errorf("%d connections: %s", n, log)
	}
}

// The error of a question is sent as a code, and becomes the same error at the other side. (FILE-5)
func TestUnanswered(t *testing.T) {
	for _, err := range []error{approval.ErrNoPerson, approval.ErrFull, context.DeadlineExceeded} {
		reply := unanswered(new(wire.Approval), fmt.Errorf("here: %w", err))
		reply.Error = "in other words"
		if got := why(reply); !errors.Is(got, err) {
			t.Errorf("%v came as %q: %v", err, reply.Code, got)
		}
	}
	if err := why(&wire.Approval{Error: "what is new", Code: "new"}); err.Error() != "gateway: what is new" {
		t.Error(err)
	}
}

// A host whose tool descriptions exceed the gateway's limit receives that error, and does not connect again.
func TestLargeHello(t *testing.T) {
	h, _ := newHub(t, Config{Limits: Limits{Frame: 32 << 10}})
	url := serveHub(t, h)
	host := &Host{Dial: Dial{URL: url, Token: "host-a"}, Workspace: "w", Caller: wordy{}}
	if err := host.Run(ctx); !errors.Is(err, errRefused) || !strings.Contains(err.Error(), "larger than it takes") {
		t.Error(err)
	}
}

// wordy has a tool with a long description.
type wordy struct{ echo }

func (wordy) Specs() []tool.Spec {
	return []tool.Spec{{Name: "read_file", Description: strings.Repeat("x", 200_000), Schema: json.RawMessage(`{}`)}}
}
