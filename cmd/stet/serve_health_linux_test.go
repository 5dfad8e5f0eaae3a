package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stet-dev/stet/web"
)

// /healthz and /readyz need no token, refuse other hosts, and say why the server
// cannot work: while it ends, and when what it writes to is gone.
func TestServeHealth(t *testing.T) {
	h := newHome(t)
	s := h.serve(t, "--root", h.tree)
	desk := login(t, s.base, s.person)
	want := func(path string, status int, says string, headers ...string) {
		t.Helper()
		got, text := ask(t, http.MethodGet, s.base+path, "", headers...)
		if got != status || !strings.Contains(text, says) || strings.Contains(text, h.dir) || strings.Contains(text, "stet_") {
			t.Errorf("%s: %d %s, want %d %s", path, got, text, status, says)
		}
	}
	want("/healthz", http.StatusOK, "ok")
	want("/readyz", http.StatusOK, "ok")
	want("/healthz", http.StatusForbidden, "not allowed here", "Host", "evil.example")
	want("/readyz", http.StatusForbidden, "not allowed here", "Host", "evil.example")

	call := apart(func() (string, error) {
		_, text := ask(t, http.MethodPost, s.base+"/v1/sessions/s/tools/write_file", `{"path":"b.txt","content":"b\n"}`, "Authorization", "Bearer "+s.agent)
		return text, nil
	})
	q := desk.question("b.txt")
	if err := s.cmd.Process.Signal(syscall.SIGINT); err != nil { // the call is waited for
		t.Fatal(err)
	}
	waitFor(t, func() bool {
		status, text := ask(t, http.MethodGet, s.base+"/readyz", "")
		return status == http.StatusServiceUnavailable && strings.Contains(text, "ending")
	})
	want("/healthz", http.StatusOK, "ok")
	desk.post("/api/questions/"+q.ID+"/answer", web.Answer{Verdict: "approve", Seal: q.Seal}, nil)
	<-call
	<-s.ended
}

// What the server writes to is gone: it is not ready, and says what.
func TestServeNotReady(t *testing.T) {
	h := newHome(t)
	s := h.serve(t, "--root", h.tree)
	files, err := filepath.Glob(filepath.Join(h.dir, "state", "stet", "stet.db"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%q, %v", files, err)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	if status, text := ask(t, http.MethodGet, s.base+"/readyz", ""); status != http.StatusServiceUnavailable || text != "the audit trail cannot be written to\n" {
		t.Errorf("%d %q", status, text)
	}
	if err := os.RemoveAll(filepath.Dir(files[0])); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool {
		status, text := ask(t, http.MethodGet, s.base+"/readyz", "")
		return status == http.StatusServiceUnavailable && text == "the state directory cannot be written to\n"
	})
}
