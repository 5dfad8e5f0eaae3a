package proxy_test

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/server/proxy"
	"github.com/stet-dev/stet/store/sqlite"
)

// Conversations at the same time on one model never mix, with keys of the agents and without. Nor do the sub-agents of a session.
func TestConversationsApart(t *testing.T) {
	for _, test := range []struct {
		name    string
		headers func(i int) []string
		agents  bool
	}{
		{"by the messages", func(int) []string { return nil }, false},
		{"by header", func(i int) []string { return []string{"X-Claude-Code-Session-Id", fmt.Sprint("s", i)} }, false},
		{"by sub-agent", func(i int) []string {
			return []string{"X-Claude-Code-Session-Id", "s", "X-Claude-Code-Agent-Id", fmt.Sprint("agent", i)}
		}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			const agents, turns = 4, 8
			up := &recorder{}
			r := newRig(t, up)
			var wg sync.WaitGroup
			for i := range agents {
				wg.Go(func() {
					for turn := range turns {
						status, _ := r.post("/v1/messages", conversation(fmt.Sprintf("task %d", i), turn), test.headers(i)...)
						if status != 200 {
							t.Errorf("status %d", status)
						}
					}
				})
			}
			wg.Wait()
			rows := r.rows()
			per := map[string][]int{} // the number of reads in each request, by conversation and agent
			for _, row := range rows {
				key := row.Conversation + "/" + row.Agent
				per[key] = append(per[key], row.Reads)
			}
			if len(rows) != agents*turns || len(per) != agents {
				t.Fatalf("%d rows in %d conversations: %v", len(rows), len(per), per)
			}
			for key, reads := range per {
				for turn, n := range reads {
					if n != turn {
						t.Errorf("%s: reads %v", key, reads)
						break
					}
				}
			}
			if totals := r.proxy.Totals(); totals.Requests != agents*turns || totals.Conversations != agents {
				t.Errorf("totals %+v", totals)
			}
			trims, err := r.store.Trims(t.Context(), record.Query{})
			if err != nil || len(trims) != agents*(turns-2) {
				t.Errorf("%d trims, %v", len(trims), err)
			}
		})
	}
}

// No record and no log contains keys, messages or file contents.
func TestNothingLeaks(t *testing.T) {
	up := &recorder{answer: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Set-Cookie", "session=secret-cookie-1")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":{"message":"invalid key secret-key-1"}}`)
	}}
	dir := t.TempDir()
	store, err := sqlite.Open(t.Context(), filepath.Join(dir, "stet.db"))
	if err != nil {
		t.Fatal(err)
	}
	log := new(logBuffer)
	r := newRig(t, up, func(c *proxy.Config) {
		c.Store = store
		c.Logger = slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	headers := []string{
		"Authorization", "Bearer secret-key-1", "X-Api-Key", "secret-key-2", "Cookie", "secret-key-3", "User-Agent", "secret-key-4",
	}
	body := conversation("secret-word-1", 4)
	for _, path := range []string{"/v1/messages?key=secret-key-5", "/v1/chat/completions", "/v1/responses", "/v1/models?key=secret-key-5"} {
		r.post(path, body, headers...)
		r.post(path, strings.Replace(body, "{", "{{secret-word-1", 1), headers...)
	}
	r.do("GET", "/v1/models", nil, append(headers, "Host", "secret-key-6.example")...)
	r.close()
	rows, err := store.Requests(t.Context(), record.Query{})
	trims, errTrims := store.Trims(t.Context(), record.Query{})
	if err != nil || errTrims != nil || len(rows) == 0 || len(trims) == 0 {
		t.Fatalf("nothing was recorded: %d rows, %d trims, %v, %v", len(rows), len(trims), err, errTrims)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	secrets := []string{"secret-key", "secret-cookie", "secret-word", "of a file that is read", "invalid key"}
	for _, s := range secrets {
		if strings.Contains(log.String(), s) {
			t.Errorf("the log has %q: %s", s, log)
		}
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		for _, s := range secrets {
			if bytes.Contains(b, []byte(s)) {
				t.Errorf("%s has %q", d.Name(), s)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
