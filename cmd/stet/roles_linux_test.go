package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/record"
)

// Tokens have a role: an approver answers questions and does not see stored data, an admin does both, and agents and hosts do
// neither. A refusal says what to do. The trail says who approved.
func TestServeRoles(t *testing.T) {
	h := newHome(t)
	s := h.serve(t, "--root", h.tree)
	bearer := func(scope string) []string {
		return []string{"Authorization", "Bearer " + h.token(t, "the-"+scope, scope)}
	}
	done := apart(func() (string, error) {
		_, text := ask(t, http.MethodPost, s.base+"/v1/sessions/s/tools/write_file", `{"path":"b.txt","content":"b\n"}`, "Authorization", "Bearer "+s.agent)
		return text, nil
	})
	desk := login(t, s.base, h.token(t, "anna", "approver"))
	boss := login(t, s.base, h.token(t, "boss", "admin"))
	desk.approve(desk.question("b.txt"))
	if r := <-done; r.err != nil || !strings.Contains(r.text, `"success":true`) {
		t.Errorf("%+v", r)
	}
	if got, err := os.ReadFile(filepath.Join(h.tree, "b.txt")); err != nil || string(got) != "b\n" {
		t.Errorf("%q, %v", got, err)
	}
	if res := desk.do(http.MethodGet, "/api/audit", nil, nil); res.StatusCode != http.StatusForbidden {
		t.Errorf("the trail, to an approver: %s", res.Status)
	}
	if res := boss.do(http.MethodGet, "/api/audit", nil, nil); res.StatusCode != http.StatusOK {
		t.Errorf("the trail, to an admin: %s", res.Status)
	}
	for _, scope := range []string{"host", "approver", "admin"} {
		for path, body := range map[string]string{"/v1/workspaces": "", "/mcp": beginMCP, "/mcp/elsewhere": beginMCP} {
			method := http.MethodGet
			if body != "" {
				method = http.MethodPost
			}
			if status, text := ask(t, method, s.base+path, body, bearer(scope)...); status != http.StatusForbidden || !strings.Contains(text, "--scope agent") {
				t.Errorf("%s at %s: %d %s", scope, path, status, text)
			}
		}
		if status, text := ask(t, http.MethodPost, s.base+"/p/"+h.token(t, "p-"+scope, scope)+"/v1/messages", "{}"); status != http.StatusForbidden || !strings.Contains(text, "--scope agent") {
			t.Errorf("%s at the proxy: %d %s", scope, status, text)
		}
	}
	for _, scope := range []string{"host", "agent"} {
		if status, text := ask(t, http.MethodPost, s.base+"/api/login", `{"token":"`+h.token(t, "l-"+scope, scope)+`"}`); status != http.StatusUnauthorized || !strings.Contains(text, "approver and admin") {
			t.Errorf("%s at the page: %d %s", scope, status, text)
		}
	}
	if err := s.cmd.Process.Signal(syscall.SIGINT); err != nil { // the trail is written completely
		t.Fatal(err)
	}
	<-s.ended
	if out := h.run(t, "audit", "--json", "--last", "0"); !strings.Contains(out, `"by":"person anna"`) {
		t.Errorf("the trail does not say who approved: %s", out)
	}
}

// One person has one name in the trail, whichever way they answer: on the page with the printed token, over the socket of this machine, and on the
// command line. Another name is that of another token.
func TestOnePerson(t *testing.T) {
	h := newHome(t)
	s := h.serve(t, "--root", h.tree)
	asked := func(path string, answer func()) {
		t.Helper()
		done := apart(func() (string, error) {
			_, text := ask(t, http.MethodPost, s.base+"/v1/sessions/s/tools/write_file", `{"path":"`+path+`","content":"x\n"}`, "Authorization", "Bearer "+s.agent)
			return text, nil
		})
		answer()
		if r := <-done; r.err != nil || !strings.Contains(r.text, `"success":true`) {
			t.Errorf("%s: %s, %v", path, r.text, r.err)
		}
	}
	byPage := func(path, token string) {
		page := login(t, s.base, token)
		asked(path, func() { page.approve(page.question(path)) })
	}
	byPage("page.txt", s.person)
	asked("socket.txt", func() {
		approve := h.stet("approve")
		approve.Stdin = strings.NewReader("a\n")
		if out, err := approve.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	byPage("desk.txt", h.token(t, "desk", "approver"))
	h.run(t, "undo", "--yes", strings.Fields(strings.SplitN(h.run(t, "undo"), "\n", 3)[1])[0])
	by := map[string]string{}
	for line := range strings.Lines(h.run(t, "audit", "--json", "--last", "0")) {
		var e record.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.Kind == record.Intent {
			by[e.Tool+" "+e.Path] = e.By
		}
	}
	me := "person " + approval.LocalPerson()
	for call, want := range map[string]string{"write_file page.txt": me, "write_file socket.txt": me, "write_file desk.txt": "person desk", "undo page.txt": me} {
		if by[call] != want {
			t.Errorf("%s: by %q, want %q", call, by[call], want)
		}
	}
}
