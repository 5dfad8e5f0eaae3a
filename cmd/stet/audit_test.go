package main

import (
	"bytes"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stet-dev/stet/record"
)

// If an entry of the trail was changed, verification fails and names the entry. (FILE-11)
func TestAuditFindsTampering(t *testing.T) {
	home := t.TempDir()
	var out, errs bytes.Buffer
	p := &program{out: &out, err: &errs, env: []string{"HOME=" + home, "XDG_STATE_HOME=" + home}, dir: home}
	write(t, p.trailFile(), "")
	trail, err := p.openTrail(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"a", "b", "c"} {
		if _, err := trail.Log(t.Context(), record.Entry{Kind: record.Call, Root: home, Path: path, Outcome: record.OK}); err != nil {
			t.Fatal(err)
		}
	}
	if err := trail.Close(); err != nil {
		t.Fatal(err)
	}
	if code := p.run(t.Context(), []string{"audit", "--verify"}); code != 0 || !strings.Contains(out.String(), "3 entries hold together") {
		t.Fatalf("code %d: %s%s", code, &out, &errs)
	}
	db, err := sql.Open("sqlite", filepath.ToSlash(p.trailFile()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("DROP TRIGGER IF EXISTS trail_is_never_changed; UPDATE trail SET path = 'x' WHERE seq = 2"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if code := p.run(t.Context(), []string{"audit", "--verify", "--json"}); code != exitFailed || !strings.Contains(out.String(), `"broken":2,"entries":1,`) {
		t.Errorf("code %d: %s%s", code, &out, &errs)
	}
	if code := p.run(t.Context(), []string{"audit", "--verify"}); code != exitFailed || !strings.Contains(errs.String(), "the trail is broken at entry 2") {
		t.Errorf("code %d: %s%s", code, &out, &errs)
	}
}
