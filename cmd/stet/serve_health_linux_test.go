package main

import (
	"database/sql"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stet-dev/stet/files/approval"
)

// /healthz and /readyz need no token, refuse other host names, and say why the server cannot work: while it ends, and when a file
// that it writes to is gone.
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
	if err := s.cmd.Process.Signal(syscall.SIGINT); err != nil { // it waits for the call
		t.Fatal(err)
	}
	waitFor(t, func() bool {
		status, text := ask(t, http.MethodGet, s.base+"/readyz", "")
		return status == http.StatusServiceUnavailable && strings.Contains(text, "ending")
	})
	want("/healthz", http.StatusOK, "ok")
	desk.post("/api/questions/"+q.ID+"/answer", approval.Answer{Verdict: "approve", Seal: q.Seal}, nil)
	<-call
	<-s.ended
}

// A file that the server writes to is gone: it is not ready, and says which.
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
	if status, text := ask(t, http.MethodGet, s.base+"/readyz", ""); status != http.StatusServiceUnavailable || text != "the audit trail has lost entries\n" {
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

// The trail is emptied while the server runs: it is not ready, and a call over HTTP is refused and does nothing. (FILE-11)
func TestServeLostTrail(t *testing.T) {
	h := newHome(t)
	s := h.serve(t, "--root", h.tree)
	read := func() string {
		_, text := ask(t, http.MethodPost, s.base+"/v1/sessions/s/tools/read_file", `{"path":"a.txt"}`, "Authorization", "Bearer "+s.agent)
		return text
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(h.dir, "state", "stet", "stet.db")+"?_pragma=busy_timeout(10000)") // the server may be writing
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	read()
	waitFor(t, func() bool { // reads are recorded a little later
		var n int
		err := db.QueryRow("SELECT count(*) FROM trail").Scan(&n)
		return err == nil && n > 0
	})
	if _, err := db.Exec("DROP TRIGGER trail_is_cut_by_pruning_only; DELETE FROM trail"); err != nil {
		t.Fatal(err)
	}
	if status, text := ask(t, http.MethodGet, s.base+"/readyz", ""); status != http.StatusServiceUnavailable || text != "the audit trail has lost entries\n" {
		t.Errorf("%d %q", status, text)
	}
	waitFor(t, func() bool { return strings.Contains(read(), "audit trail has lost entries") })
}
