package main

import (
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/store/sqlite"
	"github.com/stet-dev/stet/test/strictmodel"
)

// The result of the run is printed although it cannot be stored.
func TestAccountLockedAtEnd(t *testing.T) {
	t.Parallel()
	p := place(t, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "GORACE=atexit_sleep_ms=0")
	store, err := sqlite.Open(t.Context(), p.trailFile())
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(p.dir, "a.txt"), strings.Repeat("a line of twenty and more\n", 9))
	write(t, filepath.Join(p.dir, "b.txt"), "b\n")
	model, err := strictmodel.Start(llmtest.Config{Script: llmtest.Script{Turns: []llmtest.Turn{llmtest.Say("I read.", llmtest.Read("a.txt"))}, End: "Done."}})
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	db, err := sql.Open("sqlite", p.trailFile())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("stet", "wrap", "--", "agent")
	cmd.Dir = p.dir
	cmd.Env = append(append(os.Environ(), p.env...), "ANTHROPIC_BASE_URL="+model.URL)
	out, err := cmd.CombinedOutput()
	said := string(out)
	if err != nil || !strings.Contains(said, "2 requests, 1 read of files") || !strings.Contains(said, "stet: the record is not complete: ") {
		t.Errorf("%v: %s", err, said)
	}
}
