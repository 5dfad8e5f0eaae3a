package filetools

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/tool"
)

// together starts calls of one session in the given order, and runs them at the same time.
func together(t *testing.T, h *approval.Handler, calls ...tool.Call) []tool.Result {
	t.Helper()
	out := make([]tool.Result, len(calls))
	var all sync.WaitGroup
	for i, c := range calls {
		c.Session = "one"
		do := h.Start(c)
		all.Go(func() {
			var err error
			if out[i], err = do(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	return out
}

func toCall(name, format string, a ...any) tool.Call {
	return tool.Call{Name: name, Arguments: json.RawMessage(fmt.Sprintf(format, a...))}
}

const oneEdit = `{"path":"a","edits":[{"old_text":"line %d\n","new_text":"LINE %[1]d\n"}]}`

// If a session makes several calls to one file at once, the result is the same as if it made them one after another. (FILE-15)
func TestCallsOfOneTurn(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	h := &approval.Handler{Tools: &b.set, Rate: -1, Root: b.dir, Relative: b.root.Relative, Policy: &policy.Policy{Unattended: true}}
	var text strings.Builder
	for i := 10; i < 30; i++ {
		fmt.Fprintf(&text, "line %d\n", i)
	}
	b.put("a", text.String())
	together(t, h, toCall("read_file", `{"path":"a"}`))
	var calls []tool.Call
	for i := 10; i < 30; i++ {
		calls = append(calls, toCall("edit_file", oneEdit, i))
	}
	for i, r := range together(t, h, calls...) {
		if r.Failed() || strings.Contains(r.Text, "notes") {
			t.Errorf("edit %d: %s", i, r.Text)
		}
	}
	if got := b.get("a"); got != strings.ToUpper(text.String()) {
		t.Errorf("%q", got)
	}
	calls = nil
	for i := range 10 {
		calls = append(calls, toCall("write_file", `{"path":"new","content":"%d"}`, i), toCall("read_file", `{"path":"./new"}`),
			toCall("Read", `{"path":%q}`, filepath.Join(b.dir, "new")))
	}
	for i, r := range together(t, h, calls...) {
		if r.Failed() || i%3 == 1 && !strings.Contains(r.Text, fmt.Sprintf(`"content":"%d"`, i/3)) || i%3 == 2 && !strings.Contains(r.Text, fmt.Sprintf("1 | %d", i/3)) {
			t.Errorf("call %d: %s", i, r.Text)
		}
	}
}

// If a person is asked about several edits of one file, none of them is lost, and no message says that another program changed
// the file. (FILE-15)
func TestCallsOfOneTurnAsked(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	b.put("a", "line 1\nline 2\nline 3\n")
	var mu sync.Mutex
	asked, both := 0, make(chan struct{})
	h := &approval.Handler{Tools: &b.set, Rate: -1, Root: b.dir, Relative: b.root.Relative, Approver: person(func(q approval.Question) approval.Answer {
		mu.Lock()
		if asked++; asked == 3 {
			close(both)
		}
		mu.Unlock()
		<-both // both are planned on the first content
		return approval.Answer{Verdict: approval.Approve}
	})}
	together(t, h, toCall("read_file", `{"path":"a"}`))
	for _, r := range together(t, h, toCall("edit_file", oneEdit, 1), toCall("edit_file", oneEdit, 2), toCall("edit_file", oneEdit, 3)) {
		if r.Failed() || strings.Contains(r.Text, "else") {
			t.Error(r.Text)
		}
	}
	if got := b.get("a"); got != "LINE 1\nLINE 2\nLINE 3\n" {
		t.Errorf("%q", got)
	}
}

// The person edits a content before approving, and another call of the session changes the file. Both changes stay, and the
// result says that they were merged. (FILE-15)
func TestEditedMeanwhile(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	b.put("a", "line 1\nline 2\nline 3\nline 4\nline 5\n")
	var h *approval.Handler
	h = &approval.Handler{Tools: &b.set, Rate: -1, Root: b.dir, Relative: b.root.Relative, Approver: person(func(q approval.Question) approval.Answer {
		switch {
		case strings.Contains(q.Diff.Text(), "+LINE 1") && q.Again == 0:
			together(t, h, toCall("edit_file", oneEdit, 5))
			return approval.Answer{Verdict: approval.Edit, Content: []byte("first\nline 2\nline 3\nline 4\nline 5\n")}
		default:
			return approval.Answer{Verdict: approval.Approve}
		}
	})}
	together(t, h, toCall("read_file", `{"path":"a"}`))
	r := together(t, h, toCall("edit_file", oneEdit, 1))[0]
	if r.Failed() || !strings.Contains(r.Text, "merged with what another call of this session has changed") || b.get("a") != "first\nline 2\nline 3\nline 4\nLINE 5\n" {
		t.Errorf("%q: %s", b.get("a"), r.Text)
	}
}

// A file is shown again if it is read in another encoding, and if it was shown in a wrong encoding before. (TRK-6, FILE-16)
func TestDedupeEncoding(t *testing.T) {
	b := newBench(t, Config{Dedupe: &Dedupe{}}, workspace.Options{})
	const sjis = "\x93\xfa\x96\x7b\x8c\xea\n"
	b.put("a", sjis)
	h := &approval.Handler{Tools: &b.set, Rate: -1, Policy: &policy.Policy{Unattended: true}}
	call := func(name, args string) string { return together(t, h, toCall(name, "%s", args))[0].Text }
	const unchanged = "unchanged since last read"
	for range 2 {
		if got := call("Read", `{"path":"a"}`); strings.Contains(got, unchanged) || !strings.Contains(got, "\ufffd") {
			t.Error(got)
		}
	}
	if got := call("read_file", `{"path":"a","encoding":"shift_jis"}`); !strings.Contains(got, "日本語") {
		t.Error(got)
	}
	if got := call("read_file", `{"path":"a","encoding":"sjis"}`); !strings.Contains(got, unchanged) {
		t.Error(got)
	}
	if got := call("read_file", `{"path":"a","encoding":"latin-1"}`); !strings.Contains(got, "Œ") && !strings.Contains(got, "ê") {
		t.Error(got)
	}
	if got := call("read_file", `{"path":"a","encoding":"shift_jis"}`); !strings.Contains(got, "日本語") {
		t.Error(got)
	}
}
