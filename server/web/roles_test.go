package web

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// An approver can use only the questions; an admin can use everything.
func TestRoles(t *testing.T) {
	h, _ := newRig(t)
	guest, desk := h.enter(t, "G"), h.enter(t, "A")
	ask := func(p *page, route string) (int, string) {
		t.Helper()
		method, path, _ := strings.Cut(route, " ")
		var body any
		if method == http.MethodPost {
			body = map[string]any{}
		}
		res, err := p.Do(t.Context(), method, path, body)
		if err != nil {
			t.Fatalf("%s: %v", route, err)
		}
		defer res.Body.Close()
		if strings.HasSuffix(path, "/events") {
			return res.StatusCode, ""
		}
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text)
	}
	for _, route := range []string{"GET /api/me", "GET /api/questions", "GET /api/questions/x", "GET /api/questions/x/content", "POST /api/questions/x/answer", "GET /api/events", "GET /api/push", "POST /api/push/end"} {
		for _, p := range []*page{guest, desk} {
			if status, text := ask(p, route); status == http.StatusForbidden || status == http.StatusUnauthorized {
				t.Errorf("%s: %d %s", route, status, text)
			}
		}
	}
	for _, route := range []string{
		"GET /api/sessions", "GET /api/search?words=x", "GET /api/sessions/x", "POST /api/sessions/x/rewind", "POST /api/sessions/x/fork",
		"POST /api/sessions/x/compact", "GET /api/sessions/x/events", "GET /api/sessions/x/export", "GET /api/conversations",
		"GET /api/requests?conversation=x", "GET /api/savings", "GET /api/files", "GET /api/files/disk", "POST /api/undo", "POST /api/undo/look", "POST /api/takeback",
		"GET /api/audit", "POST /api/audit/verify", "GET /api/suspended", "POST /api/suspended/lift",
	} {
		if status, text := ask(guest, route); status != http.StatusForbidden || !strings.HasSuffix(route, "/events") && !strings.Contains(text, "role admin") {
			t.Errorf("%s as an approver: %d %s", route, status, text)
		}
		if status, text := ask(desk, route); status == http.StatusForbidden || status == http.StatusUnauthorized {
			t.Errorf("%s as an admin: %d %s", route, status, text)
		}
	}
	var me Me
	_, text := ask(guest, "GET /api/me")
	if err := json.Unmarshal([]byte(text), &me); err != nil || me.Person != "guest" || me.Sessions || me.Records || me.Trail || len(me.Settings) > 0 {
		t.Errorf("an approver is shown %s, %v", text, err)
	}
}
