package approval_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/tool"
)

// lineTool changes one line of a file: "7: new text".
type lineTool struct{ put *fileTool }

func (lineTool) Spec() tool.Spec { return tool.Spec{Name: "line", Destructive: true} }

func (l lineTool) Plan(ctx context.Context, c tool.Call) (*tool.Plan, error) {
	var args struct{ Path, Content string }
	if err := json.Unmarshal(c.Arguments, &args); err != nil {
		return nil, err
	}
	path, err := l.put.root.Path(args.Path)
	if err != nil {
		return nil, err
	}
	now, err := l.put.root.ReadAll(ctx, path)
	if err != nil {
		return nil, err
	}
	var n int
	number, text, _ := strings.Cut(args.Content, ": ")
	if _, err := fmt.Sscan(number, &n); err != nil {
		return nil, err
	}
	lines := strings.SplitAfter(string(now.Data), "\n")
	lines[n] = text + "\n"
	return l.put.planOn(c, path, now, []byte(strings.Join(lines, "")))
}

// Two agents write to one file without a person: no change is lost, and neither agent has to try again, even if the other one is
// faster. (FILE-15)
func TestTwoAgents(t *testing.T) {
	const each = 60
	h := newRig(t)
	h.Rate, h.Policy.Unattended = -1, true
	if err := h.Tools.Add(lineTool{h.put}); err != nil {
		t.Fatal(err)
	}
	h.file("a", strings.Repeat("\n-\n-\n-\n", 2*each), 0o644)
	var agents sync.WaitGroup
	for i, name := range []string{"one", "two"} {
		agents.Go(func() {
			for n := range each {
				at := 4 * (2*n + i)
				res, err := h.Call(t.Context(), call(name, "line", "a", fmt.Sprintf("%d: %s %d", at, name, n)))
				if err != nil || res.Failed() {
					t.Errorf("%s %d: %v, %v", name, n, res, err)
				}
			}
		})
	}
	agents.Wait()
	var want strings.Builder
	for n := range each {
		fmt.Fprintf(&want, "one %d\n-\n-\n-\ntwo %d\n-\n-\n-\n", n, n)
	}
	h.has("a", want.String())
	writes, err := record.Writes(t.Context(), h.trail, "", 0)
	if err != nil || len(writes) != 2*each {
		t.Errorf("%d writes, %v", len(writes), err)
	}
}

// A session without a name can be suspended separately, like any other session.
func TestSessionWithoutName(t *testing.T) {
	h := newRig(t)
	h.Suspicion.Escapes, h.Suspicion.Do = 1, 1
	h.file("a", "x", 0o644)
	code(t, h.run(call("", "get", "../x", "")), tool.InvalidPath)
	code(t, h.run(call("", "get", "a", "")), tool.PermissionDenied)
	code(t, h.run(call("", "get", "a", "")), tool.PermissionDenied)
	code(t, h.run(call("s", "get", "a", "")), "")
}
