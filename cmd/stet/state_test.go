package main

import (
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stet-dev/stet/internal/demo"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/store/sqlite"
)

// What came of the run is told although it cannot be written down.
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
	files := []demo.File{{Name: "a.txt", Text: []byte(strings.Repeat("a line of twenty and more\n", 9))}, {Name: "b.txt", Text: []byte("b\n")}}
	for _, f := range files {
		write(t, filepath.Join(p.dir, f.Name), string(f.Text))
	}
	model, err := llmtest.Start(llmtest.Config{Script: llmtest.Script{Turns: []llmtest.Turn{llmtest.Say("I read.", llmtest.Read("a.txt"))}, End: "Done."}})
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
