package main

import (
	"bytes"
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

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/internal/config"
	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/proxy"
	"github.com/stet-dev/stet/record"
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
	files := []demoFile{{"a.txt", []byte(strings.Repeat("a line of twenty and more\n", 9))}, {"b.txt", []byte("b\n")}}
	for _, f := range files {
		write(t, filepath.Join(p.dir, f.name), string(f.text))
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

func TestSummary(t *testing.T) {
	for _, tt := range []struct {
		name string
		s    summary
		want string
	}{
		{"nothing came", summary{}, "stet: no request came through: does the agent use ANTHROPIC_BASE_URL or OPENAI_BASE_URL?\n"},
		{
			"other paths", summary{Totals: proxy.Totals{Through: map[string]int{"/v1/models": 2, "/v1/embeddings": 1}}},
			"stet: no request to a model came through that stet knows, but 3 requests to others: /v1/embeddings, /v1/models\n",
		},
		{
			"tokens counted", summary{Totals: proxy.Totals{ByAPI: map[string]int{record.CountTokens: 1}}},
			"stet: no request to a model came through, but 1 request to count tokens\n",
		},
		{
			"repeats", summary{Totals: proxy.Totals{Requests: 2, Reads: 3, Shortened: map[string]int{"repeat": 1, "restored": 4}, TokensOff: 200, Tokens: 100}},
			"stet: 2 requests, 3 reads of files; 1 repeat left out\nstet: estimated prompt tokens 200 without stet, 100 with: -50.0 %\n",
		},
		{
			"observed", summary{observe: true, Totals: proxy.Totals{Requests: 2, Shortened: map[string]int{"older": 2, "terminal": 1}, TokensOff: 2, Tokens: 2}},
			"stet: 2 requests, 0 reads of files; 2 older reads and 1 older command output would be left out (observe: nothing was)\n" +
				"stet: estimated prompt tokens 2 without stet, 2 with: 0 %\n",
		},
		{"off", summary{policy: history.Off, Totals: proxy.Totals{Requests: 1}}, "stet: 1 request, 0 reads of files; policy off leaves nothing out\n"},
		{
			"passed on", summary{Totals: proxy.Totals{
				Requests: 9, Errors: 1, Passed: map[string]int{"chained": 1, "encoded": 2, "malformed": 1, "patch": 1},
			}},
			"stet: nothing to save: 9 requests, 0 reads of files\nstet: 1 request failed\n" +
				"stet: passed on untouched: 2 requests not understood, 1 request of a conversation that the provider stores, 2 requests with a compressed body\n",
		},
	} {
		var b bytes.Buffer
		if tt.s.print(&b); b.String() != tt.want {
			t.Errorf("%s:\n%s\nwant:\n%s", tt.name, b.String(), tt.want)
		}
	}
}
