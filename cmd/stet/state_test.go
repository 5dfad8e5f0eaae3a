package main

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/stet-dev/stet/internal/config"
	"github.com/stet-dev/stet/internal/demo"
	"github.com/stet-dev/stet/llm/llmtest"
)

// An agent does not wait for ever for the account to open.
func TestAccountLockedAtStart(t *testing.T) {
	t.Parallel()
	p := place(t)
	db := p.xdg("XDG_STATE_HOME", ".local/state", "stet.db")
	write(t, db+"-lock", "")
	l := flock.New(db + "-lock")
	if ok, err := l.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	defer l.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	store, note := p.openStore(ctx, &config.Config{Record: true})
	if ctx.Err() != nil || store != nil || !strings.HasPrefix(note, "no record is kept: ") || !strings.Contains(note, db+"-lock") {
		t.Errorf("%v, %q", store, note)
	}
}

// What came of the run is told although it cannot be written down.
func TestAccountLockedAtEnd(t *testing.T) {
	t.Parallel()
	p := place(t, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "GORACE=atexit_sleep_ms=0")
	store, note := p.openStore(context.Background(), &config.Config{Record: true})
	if note != "" {
		t.Fatal(note)
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
	db, err := sql.Open("sqlite", p.xdg("XDG_STATE_HOME", ".local/state", "stet.db"))
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

// refusing is a listener that has broken.
type refusing struct{ net.Listener }

var errBroken = errors.New("the network is gone")

func (refusing) Accept() (net.Conn, error) { return nil, errBroken }

// A server that ended by itself says why.
func TestServerEnds(t *testing.T) {
	p := place(t)
	listener, err := listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.serve(context.Background(), &config.Config{}, refusing{listener}, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	<-s.ended
	if err := s.close(context.Background(), time.Second); !errors.Is(err, errBroken) {
		t.Error(err)
	}
}
