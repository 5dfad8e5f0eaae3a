package filetools

import (
	"encoding/json"
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/tool"
)

// FILE-13: no call shows what is in a secret unless a person agrees. Searches leave secrets out and count them; listings name them.
func TestSecrets(t *testing.T) {
	const text = "KEY=hunter2\nOTHER=1\n"
	b := newBench(t, Config{}, workspace.Options{})
	for _, name := range []string{".env", "sub/.ssh/id_rsa", "KEYS/Server.PEM"} {
		b.put(name, text)
	}
	b.put(".env.example", "KEY=hunter2\n")
	if runtime.GOOS != "windows" {
		if err := os.Symlink(".env", b.file("plain.txt")); err != nil {
			t.Fatal(err)
		}
	} else {
		b.put("plain.txt", text)
	}
	verdict, asked := approval.Reject, 0
	attended := &approval.Handler{Tools: &b.set, Rate: -1, Policy: &policy.Policy{Rules: []policy.Rule{{Do: policy.Allow}}},
		Approver: person(func(q approval.Question) approval.Answer {
			asked++
			if q.Grantable || q.Relay || !strings.Contains(strings.Join(q.Warnings, " "), "keys or passwords") {
				t.Errorf("%s of %s: %+v", q.Tool, q.Path, q)
			}
			return approval.Answer{Verdict: verdict}
		})}
	none := &approval.Handler{Tools: &b.set, Rate: -1} // the zero policy
	unattended := &approval.Handler{Tools: &b.set, Rate: -1, Policy: &policy.Policy{Unattended: true}}
	call := func(h *approval.Handler, name, args string) tool.Result {
		t.Helper()
		r, err := h.Call(t.Context(), tool.Call{ID: "1", Session: "one", Name: name, Arguments: json.RawMessage(args)})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, c := range []struct{ name, args string }{
		{"Read", `{"path":".env"}`}, {"read_file", `{"path":".env"}`}, {"read_file", `{"path":"./sub/.ssh/id_rsa","start_line":1,"end_line":1}`},
		{"Read", `{"path":"KEYS/Server.PEM"}`}, {"Read", `{"path":"plain.txt"}`}, {"search_text", `{"path":".env","pattern":"KEY"}`},
		{"edit_file", `{"path":".env","edits":[{"old_text":"OTHER=1","new_text":"OTHER=2"}]}`},
		{"edit_file", `{"path":".env","edits":[{"old_text":"KEY=hunter3","new_text":"x"}]}`},
	} {
		if runtime.GOOS == "windows" && strings.Contains(c.args, "plain") {
			continue
		}
		for _, h := range []*approval.Handler{attended, none, unattended} {
			if r := call(h, c.name, c.args); !r.Failed() || strings.Contains(r.Text, "hunter2") || strings.Contains(r.Text, "OTHER=1") {
				t.Errorf("%s %s: %s", c.name, c.args, r.Text)
			}
		}
	}
	for _, h := range []*approval.Handler{attended, none, unattended} { // what is not there is no secret
		for _, c := range [][2]string{{"Read", `{"path":"none/.env"}`}, {"write_file", `{"path":"none/.env","content":"x"}`}} {
			if r := call(h, c[0], c[1]); r.Code != tool.FileNotFound || strings.Contains(r.Text, "person") {
				t.Errorf("%s %s: %s", c[0], c[1], r.Text)
			}
		}
	}
	if asked < 6 || b.get(".env") != text {
		t.Errorf("asked %d times", asked)
	}
	verdict = approval.Approve
	if r := call(attended, "Read", `{"path":".env"}`); !strings.Contains(r.Text, "hunter2") {
		t.Errorf("approved: %s", r.Text)
	}
	for _, h := range []*approval.Handler{attended, none, unattended} {
		r := call(h, "search_text", `{"pattern":"KEY"}`)
		if strings.Contains(r.Text, ".env\\n1") || !strings.Contains(r.Text, `.env.example\n1: KEY=hunter2`) || !strings.Contains(r.Text, `"skipped":3`) || !strings.Contains(r.Text, "may hold keys") {
			t.Errorf("search: %s", r.Text)
		}
		if r := call(h, "list_files", `{"depth":5}`); !strings.Contains(r.Text, `.env\n`) || !strings.Contains(r.Text, "id_rsa") {
			t.Errorf("listing: %s", r.Text)
		}
		if r := call(h, "file_info", `{"path":".env"}`); r.Failed() || strings.Contains(r.Text, "version") || strings.Contains(r.Text, `"lines"`) || !strings.Contains(r.Text, `"secret":true`) {
			t.Errorf("file_info: %s", r.Text)
		}
		if r := call(h, "Read", `{"path":".env.example"}`); r.Failed() {
			t.Errorf("an example: %s", r.Text)
		}
	}
	b.put(".env", "KEY=hunter4\n")
	if text, whole := b.changed(".env"); whole || strings.Contains(text, "hunter") {
		t.Errorf("told unasked: %s", text)
	}
	if runtime.GOOS != "windows" { // a file that the session knows becomes a link to a secret
		b.put("known.txt", "a\n")
		b.call("read_file", `{"path":"known.txt"}`)
		if err := errors.Join(os.Remove(b.file("known.txt")), os.Symlink(".env", b.file("known.txt"))); err != nil {
			t.Fatal(err)
		}
		text, _ := b.changed("known.txt")
		more, _, err := b.tools.Show(t.Context(), b.session, b.seen("known.txt"), 1000)
		if err != nil || strings.Contains(text+more, "hunter") {
			t.Errorf("told unasked: %s%s, %v", text, more, err)
		}
	}
	if !b.tools.Ignored(".env") || b.tools.Ignored(".env.example") {
		t.Error("what is shown unasked")
	}

	// A new secret is written like any file, and so is one that the session knows, unless the result would show of it what the
	// session does not.
	free := &approval.Handler{Tools: &b.set, Rate: -1, Policy: &policy.Policy{Unattended: true}}
	for _, text := range []string{"A=1\nB=1\nC=1\nD=1\nE=1\n", "A=2\nB=1\nC=1\nD=1\nE=1\n"} {
		if r := call(free, "write_file", `{"path":"new.env","content":`+strconv.Quote(text)+`}`); r.Failed() {
			t.Errorf("write of a secret: %s", r.Text)
		}
	}
	b.put("new.env", "A=2\nB=1\nC=1\nD=1\nE=hunter5\n")
	if r := call(free, "write_file", `{"path":"new.env","content":"A=3\nB=1\nC=1\nD=1\nE=1\n"}`); !r.Failed() || strings.Contains(r.Text, "hunter5") {
		t.Errorf("merge into a secret: %s", r.Text)
	}

	open := newBench(t, Config{ShowSecrets: true}, workspace.Options{})
	open.put(".env", text)
	for _, c := range [][2]string{{"search_text", `{"pattern":"KEY"}`}, {"Read", `{"path":".env"}`}} {
		h := &approval.Handler{Tools: &open.set, Rate: -1, Policy: &policy.Policy{Secrets: policy.Allow}}
		if r := call(h, c[0], c[1]); !strings.Contains(r.Text, "hunter2") {
			t.Errorf("secrets are allowed: %s", r.Text)
		}
	}
}

// A path that names a file literally finds it, whatever signs are in it, and whether or not it is a pattern too.
func TestLiteralNames(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	names := []string{"app/[slug]/page.tsx", "app/[user-id]/page.tsx", "app/[[...all]]/page.tsx", "{x}/a.txt", "!x.txt"}
	if runtime.GOOS != "windows" {
		names = append(names, "a*b.txt", "q?.txt", `back\slash.txt`)
	}
	for _, name := range names {
		b.put(name, "text\n")
	}
	b.put("app/s/page.tsx", "text\n")
	for _, name := range names {
		pattern, _ := json.Marshal(name)
		shown := strings.Trim(string(pattern), `"`)
		for _, c := range [][2]string{{"find_files", `{"pattern":` + string(pattern) + `}`}, {"search_text", `{"pattern":"text","glob":` + string(pattern) + `}`}} {
			r := b.call(c[0], c[1])
			var o struct{ Content string }
			if err := json.Unmarshal([]byte(r.Text), &o); err != nil || !strings.Contains(strings.ReplaceAll(o.Content, `\\`, `\`), name) {
				t.Errorf("%s %s: %s", c[0], shown, r.Text)
			}
		}
	}
	if r := b.call("find_files", `{"pattern":"app/[slug]/*.{ts,tsx}"}`); !strings.Contains(r.Text, "[slug]/page.tsx") || !strings.Contains(r.Text, "app/s/page.tsx") {
		t.Errorf("%s", r.Text)
	}
}
