package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/server/web"
)

// stet serve --demo has example data made by the real tools and proxy. Its agent continues when a person decides. It leaves no
// files.
func TestServeDemo(t *testing.T) {
	h := newHome(t)
	tmp := filepath.Join(h.dir, "tmp")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	h.env = append(h.env, "TMPDIR="+tmp)
	s := h.serve(t, "--demo")
	desk := login(t, s.base, s.person)

	var sessions []web.Session
	desk.get("/api/sessions", &sessions)
	if len(sessions) != 1 {
		t.Errorf("%d sessions", len(sessions))
	}
	var saved web.Savings
	waitFor(t, func() bool { desk.get("/api/savings", &saved); return saved.Total.Requests == 4 })
	if saved.Total.TokensOff <= saved.Total.Tokens || saved.Total.USD <= 0 || saved.Total.Failed != 0 {
		t.Errorf("%+v", saved.Total)
	}
	q := desk.question("beds.py")
	if added := plus(q); q.Tool != "edit_file" || !strings.Contains(added, "MULCH_KEEPS = 0.25\n") {
		t.Errorf("%+v", q)
	}
	desk.approve(q)
	q = desk.question("WATER.md")
	desk.post("/api/questions/"+q.ID+"/answer", approval.Answer{Verdict: "reject", Words: "not now"}, nil)
	desk.approve(desk.question("season.py"))
	var files web.Files
	waitFor(t, func() bool { desk.get("/api/files", &files); return len(files.Writes) == 2 })
	var verdict web.Verdict
	desk.post("/api/audit/verify", web.Verify{}, &verdict)
	if verdict.Broken != 0 || verdict.Entries < 4 {
		t.Errorf("%+v", verdict)
	}

	if err := s.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-s.ended
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d: %s", code, s.text())
	}
	for _, dir := range []string{tmp, filepath.Join(h.dir, "state")} {
		if left, err := os.ReadDir(dir); err == nil && len(left) > 0 {
			t.Errorf("%s: %v is left", dir, left)
		}
	}
}

// A demo has its own workspace.
func TestServeDemoFlags(t *testing.T) {
	h := newHome(t)
	for _, flags := range [][]string{{"--demo", "--root", h.tree}, {"--demo", "--no-workspace"}, {"--for", "-1s"}} {
		if out, err := h.stet(append([]string{"serve"}, flags...)...).CombinedOutput(); err == nil || !strings.Contains(string(out), "--") {
			t.Errorf("%v: %v: %s", flags, err, out)
		}
	}
}
