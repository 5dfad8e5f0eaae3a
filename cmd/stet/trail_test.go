package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/store/sqlite"
)

// A lost trail is reported until a person accepts the loss. (FILE-11)
func TestAuditAccept(t *testing.T) {
	home := t.TempDir()
	var out, errs bytes.Buffer
	p := &program{out: &out, err: &errs, env: []string{"HOME=" + home, "XDG_STATE_HOME=" + home}, dir: home}
	run := func(code int, says string, a ...string) {
		t.Helper()
		out.Reset()
		errs.Reset()
		if got := p.run(t.Context(), a); got != code || !strings.Contains(out.String()+errs.String(), says) {
			t.Errorf("stet %v: code %d: %s%s, want %d and %q", a, got, &out, &errs, code, says)
		}
	}
	log := func(n int, at time.Time) {
		t.Helper()
		trail, err := sqlite.Open(t.Context(), p.trailFile())
		if err != nil {
			t.Fatal(err)
		}
		entries := make([]record.Entry, n)
		for i := range entries {
			entries[i] = record.Entry{Kind: record.Call, Time: at, Path: "f", Outcome: record.OK}
		}
		if _, err := trail.Log(t.Context(), entries...); err != nil {
			t.Fatal(err)
		}
		if err := trail.Close(); err != nil {
			t.Fatal(err)
		}
	}
	run(exitFailed, "nothing is recorded yet", "audit")
	log(3, time.Now())
	run(0, "nothing is missing", "audit", "accept")
	if err := os.Remove(p.trailFile()); err != nil {
		t.Fatal(err)
	}
	run(exitFailed, "the audit trail is gone", "audit", "--verify")
	run(0, "noted in entry 1: the entries up to 3 are gone", "audit", "accept")
	run(0, "entry 1 says that the entries up to 3 were lost", "audit", "--verify")
	run(0, "loss, up to entry 3 (accepted, by person "+approval.LocalPerson()+")", "audit")
}
