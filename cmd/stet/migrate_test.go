package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/store"
	"github.com/stet-dev/stet/test/postgrestest"
)

// The records are copied to PostgreSQL, where every command finds them, and back. No output contains the password.
func TestMigrate(t *testing.T) {
	var server postgrestest.Server
	t.Cleanup(server.Stop)
	database := server.Database(t)
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
		for _, secret := range []string{postgrestest.Password, "pass%20word", "pass+word"} {
			if strings.Contains(out.String()+errs.String(), secret) {
				t.Errorf("stet %v tells the password: %s%s", a, &out, &errs)
			}
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := store.Open(t.Context(), p.trailFile())
	must(err)
	_, err = s.Log(t.Context(), record.Entry{Time: time.Now(), Kind: record.Call, Path: "kept.go", Outcome: record.OK})
	must(err)
	must(s.Close())
	sessions, err := store.OpenSessions(t.Context(), p.trailFile())
	must(err)
	_, err = session.Create(t.Context(), sessions, session.Opening{Dir: home}, session.Title("a title of it"), session.Message{Role: llm.User, Parts: []llm.Part{{Text: "beans"}}})
	must(err)
	must(sessions.Close())

	run(exitUsage, "want --to", "migrate")
	run(exitUsage, "mysql:// is the address of no database", "migrate", "--to", "mysql://stet:pass%20word@host/x")
	run(exitFailed, "password", "migrate", "--to", strings.Replace(database, "pass", "fail", 1))
	run(0, "has all of", "migrate", "--to", database)
	run(exitFailed, "is not empty", "migrate", "--to", database)

	file := p.env
	p.env = []string{"HOME=" + home, "XDG_STATE_HOME=" + home + "/other", "STET_STORE=" + database}
	run(0, "kept.go", "audit")
	run(0, "1 entry", "audit", "--verify")
	run(0, "a title of it", "sessions", "list")
	run(0, "beans", "sessions", "search", "beans")
	run(0, "has all of", "migrate", "--from", database, "--to", "back.db")
	run(exitUsage, "postgres://", "proxy", "--store", "mysql://stet:pass%20word@host/x")
	p.env = append(p.env[:2:2], "STET_STORE=postgres://stet:pass word@host/x")
	run(exitUsage, "store is a URL", "audit")
	p.env = file
	run(0, "kept.go", "audit")
}
