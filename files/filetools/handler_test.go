package filetools

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/test/recordtest"
	"github.com/stet-dev/stet/tool"
)

// person is an approver that answers with a function.
type person func(q approval.Question) approval.Answer

func (p person) Ask(_ context.Context, q approval.Question) (approval.Answer, error) {
	a := p(q)
	a.Seal = q.Seal
	return a, nil
}

// The tools run behind the handler that asks and records. What the person decides happens. (FILE-6, FILE-11, FILE-15, TRK-12)
func TestBehindTheHandler(t *testing.T) {
	b := newBench(t, Config{Dedupe: &Dedupe{}}, workspace.Options{})
	var trail recordtest.Memory
	var answer person
	var asked []approval.Question
	h := &approval.Handler{
		Tools: &b.set, Journal: &record.Journal{Trail: &trail}, Rate: -1,
		Policy: &policy.Policy{Rules: []policy.Rule{{Tools: patterns(t, "Read"), Do: policy.Ask}}},
		Approver: person(func(q approval.Question) approval.Answer {
			asked = append(asked, q)
			return answer(q)
		}),
	}
	call := func(name, args string) tool.Result {
		t.Helper()
		asked = nil
		r, err := h.Call(t.Context(), tool.Call{ID: "1", Session: "one", Name: name, Arguments: json.RawMessage(args)})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	reject := func(approval.Question) approval.Answer {
		return approval.Answer{Verdict: approval.Reject, Words: "not now"}
	}
	approve := func(approval.Question) approval.Answer { return approval.Answer{Verdict: approval.Approve} }

	b.put("a", "one\ntwo\nthree\nfour\nfive\n")
	answer = reject
	if r := call("Read", `{"path":"a"}`); r.Code != tool.UserRejected || !strings.Contains(r.Text, `"code":"USER_REJECTED"`) || !strings.Contains(r.Text, "not now") {
		t.Errorf("%+v", r)
	}
	if b.tools.Tracker("one").HasBeenRead("a") {
		t.Error("what was not shown counts as read")
	}
	answer = approve
	if r := call("Read", `{"path":"a"}`); !strings.Contains(r.Text, "1 | one") {
		t.Errorf("%+v", r) // no pointer to content that was not shown
	}
	answer = reject
	if r := call("write_file", `{"path":"a","content":"x\n"}`); r.Code != tool.UserRejected || b.get("a") != "one\ntwo\nthree\nfour\nfive\n" {
		t.Errorf("%+v", r)
	}
	if !b.tools.Tracker("one").HasBeenRead("a") {
		t.Error("a rejected write invalidates")
	}
	// These calls are refused before a person is asked.
	for _, p := range []string{"../x", ".git/config", "none/x"} {
		if r := call("write_file", args("path", p, "content", "x")); !r.Failed() || asked != nil {
			t.Errorf("%s: %+v %v", p, r, asked)
		}
	}
	// The file is changed while the person looks at the question. Then the person is asked again, about the merge.
	changed := false
	answer = func(q approval.Question) approval.Answer {
		if !changed {
			changed = true
			b.put("a", "one\ntwo\nthree\nfour\nFIVE\n")
		}
		return approval.Answer{Verdict: approval.Approve}
	}
	if r := call("edit_file", `{"path":"a","edits":[{"old_text":"one","new_text":"ONE"}]}`); r.Failed() || b.get("a") != "ONE\ntwo\nthree\nfour\nFIVE\n" {
		t.Errorf("%+v %q", r, b.get("a"))
	}
	if len(asked) != 2 || asked[0].Seal == asked[1].Seal || !strings.Contains(asked[1].Diff.Text(), "+ONE") {
		t.Errorf("%+v", asked)
	}
	// The person edits the content.
	answer = func(q approval.Question) approval.Answer {
		return approval.Answer{Verdict: approval.Edit, Content: []byte("edited\n")}
	}
	if r := call("write_file", `{"path":"b","content":"as asked\n"}`); r.Failed() || b.get("b") != "edited\n" || !strings.Contains(r.Text, "edited by a person") {
		t.Errorf("%+v", r)
	}
	answer = approve
	if r := call("undo", `{"all":true}`); r.Failed() || b.get("a") != "one\ntwo\nthree\nfour\nFIVE\n" || b.get("b") != "<no such file or directory>" {
		t.Errorf("%+v %q %q", r, b.get("a"), b.get("b"))
	}
	// The trail has each file that was written.
	writes, err := record.Writes(t.Context(), &trail, "one", 0)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]int{}
	for _, w := range writes {
		files[w.Path]++
	}
	if files["a"] != 2 || files["b"] != 2 {
		t.Errorf("%v", files)
	}
}

func patterns(t *testing.T, all ...string) (out []policy.Pattern) {
	for _, s := range all {
		p, err := policy.ParsePattern(s)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

// If another program keeps changing the file, a write ends with an error.
func TestChangedAgainAndAgain(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	b.put("a", "1\n")
	n := 0
	h := &approval.Handler{Tools: &b.set, Rate: -1, Approver: person(func(q approval.Question) approval.Answer {
		n++
		b.put("a", "1\n"+strings.Repeat("x\n\n\n\n", n))
		return approval.Answer{Verdict: approval.Approve}
	})}
	c := tool.Call{Session: "one", Name: "write_file", Arguments: json.RawMessage(`{"path":"a","content":"0\n1\n"}`)}
	r, err := h.Call(t.Context(), c)
	if errors.Is(err, tool.ErrChanged) || r.Code != tool.ConcurrentModification || n > 5 {
		t.Errorf("%+v %v after %d", r, err, n)
	}
}

// If a file only grew at its end while the person looked at an edit, the approved change is written. After any other change of
// the file the person is asked again.
func TestGrownWhileAsked(t *testing.T) {
	const head, edited = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n", "1\n2\n3\n4\n5\nsix\n7\n8\n9\n10\n11\n12\n"
	for _, test := range []struct {
		name, now, want string
		asked           int
	}{
		{"grown", head + "13\n", edited + "13\n", 1},
		{"changed", strings.Replace(head, "12", "twelve", 1), strings.Replace(edited, "12", "twelve", 1), 2},
		{"grown in front", "0\n" + head, "0\n" + edited, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t, Config{}, workspace.Options{})
			b.put("a", head)
			n := 0
			h := &approval.Handler{Tools: &b.set, Rate: -1, Approver: person(func(q approval.Question) approval.Answer {
				n++
				b.put("a", test.now)
				return approval.Answer{Verdict: approval.Approve}
			})}
			r, err := h.Call(t.Context(), tool.Call{Session: "one", Name: "edit_file", Arguments: json.RawMessage(`{"path":"a","edits":[{"old_text":"6\n","new_text":"six\n"}]}`)})
			if err != nil || r.Failed() || n != test.asked || b.get("a") != test.want {
				t.Errorf("asked %d times, want %d: %q, %+v %v", n, test.asked, b.get("a"), r, err)
			}
		})
	}
}

// If a caller may not read a file, or may read it only after a question, the error of a failed call tells nothing about its
// content. If reading is denied, the error does not even show whether a text was found.
func TestFailuresDoNotShowContent(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	b.put("secret/k", "token=abc\n")
	b.put("asked/k", "token=abc\n")
	var trail recordtest.Memory
	h := &approval.Handler{
		Tools: &b.set, Journal: &record.Journal{Trail: &trail}, Rate: -1,
		Policy: &policy.Policy{Rules: []policy.Rule{
			{Paths: patterns(t, "secret/**"), Do: policy.Deny},
			{Paths: patterns(t, "asked/**"), Do: policy.Ask},
		}},
		Approver: person(func(approval.Question) approval.Answer { return approval.Answer{Verdict: approval.Reject} }),
	}
	call := func(name, args string) string {
		r, err := h.Call(t.Context(), tool.Call{ID: "1", Session: "one", Name: name, Arguments: json.RawMessage(args)})
		if err != nil || !r.Failed() {
			t.Fatalf("%+v, %v", r, err)
		}
		return r.Text
	}
	miss := `{"path":"%s/k","edits":[{"old_text":"token=b","new_text":"y"}]}`
	hit := `{"path":"%s/k","edits":[{"old_text":"token=a","new_text":"y"}]}`
	if a, b := call("edit_file", strings.ReplaceAll(miss, "%s", "secret")), call("edit_file", strings.ReplaceAll(hit, "%s", "secret")); a != b || strings.Contains(a, "abc") {
		t.Errorf("a miss and a hit can be told apart:\n%s\n%s", a, b)
	}
	for _, text := range []string{
		call("edit_file", strings.ReplaceAll(miss, "%s", "asked")),
		call("read_file", `{"path":"asked/k","start_line":99}`),
	} {
		if strings.Contains(text, "abc") || strings.Contains(text, "1 line") {
			t.Errorf("it quotes the file: %s", text)
		}
	}
}

// The file becomes executable, or gets another name, while the person looks at the diff. The person is asked again and sees why.
// Nothing is written before that. (FILE-13)
func TestExecutableWhileAsked(t *testing.T) {
	for _, c := range []struct {
		note   tool.Note
		change func(b *bench) error
	}{
		{tool.Executable, func(b *bench) error { return os.Chmod(b.file("a"), 0o755) }},
		{tool.HardLink, func(b *bench) error { return os.Link(b.file("a"), b.file("other")) }},
	} {
		t.Run(string(c.note), func(t *testing.T) {
			b := newBench(t, Config{Dedupe: &Dedupe{}}, workspace.Options{})
			b.put("a", "old\n")
			var asked []approval.Question
			h := &approval.Handler{
				Tools: &b.set, Rate: -1, Policy: &policy.Policy{},
				Approver: person(func(q approval.Question) approval.Answer {
					asked = append(asked, q)
					if len(asked) == 1 {
						if err := c.change(b); err != nil {
							t.Fatal(err)
						}
						return approval.Answer{Verdict: approval.ForSession}
					}
					if got := b.get("a"); got != "old\n" {
						t.Errorf("written before the second answer: %q", got)
					}
					return approval.Answer{Verdict: approval.Reject}
				}),
			}
			_, err := h.Call(t.Context(), tool.Call{ID: "0", Session: "one", Name: "read_file", Arguments: json.RawMessage(`{"path":"a"}`)})
			if err != nil {
				t.Fatal(err)
			}
			r, err := h.Call(t.Context(), tool.Call{ID: "1", Session: "one", Name: "write_file", Arguments: json.RawMessage(`{"path":"a","content":"new\n"}`)})
			if err != nil {
				t.Fatal(err)
			}
			if len(asked) != 2 || slices.Contains(asked[0].Notes, c.note) || !slices.Contains(asked[1].Notes, c.note) {
				t.Fatalf("asked %d times; the last question: %+v", len(asked), asked[len(asked)-1].Notes)
			}
			if r.Code != tool.UserRejected || b.get("a") != "old\n" {
				t.Errorf("%+v, and the file holds %q", r, b.get("a"))
			}
		})
	}
}

// A write that is planned again, because the file has changed while a person decided, says each of its notes once.
func TestNotesOnce(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	b.put("a", "one\r\ntwo\r\nthree\r\n")
	asked := 0
	h := &approval.Handler{Tools: &b.set, Rate: -1, Policy: &policy.Policy{}, Approver: person(func(q approval.Question) approval.Answer {
		if asked++; asked < 3 {
			b.put("a", b.get("a")+"four\r\n")
		}
		return approval.Answer{Verdict: approval.Approve, Seal: q.Seal}
	})}
	var said string
	for _, c := range [][2]string{{"read_file", `{"path":"a"}`}, {"write_file", `{"path":"a","content":"1\ntwo\nthree\n"}`}} {
		r, err := h.Call(t.Context(), tool.Call{ID: c[0], Session: "one", Name: c[0], Arguments: json.RawMessage(c[1])})
		if err != nil {
			t.Fatal(err)
		}
		said = r.Text
	}
	for _, note := range []string{"line ends are CRLF", "merged with"} {
		if n := strings.Count(said, note); n != 1 || asked != 3 {
			t.Errorf("asked %d times, and said %d times %q: %s", asked, n, note, said)
		}
	}
}
