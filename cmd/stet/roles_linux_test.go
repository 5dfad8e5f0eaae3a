package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
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
