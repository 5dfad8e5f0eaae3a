package proxyserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim"
)

// An agent waits a limited time for the store to open.
func TestAccountLockedAtStart(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "stet.db")
	l := flock.New(db + "-lock")
	if ok, err := l.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	defer l.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	store, note := openStore(ctx, db)
	if ctx.Err() != nil || store != nil || !strings.HasPrefix(note, "no record is kept: ") || !strings.Contains(note, db+"-lock") {
		t.Errorf("%v, %q", store, note)
	}
}

// refusing is a listener that has broken.
type refusing struct{ net.Listener }

var errBroken = errors.New("the network is gone")

func (refusing) Accept() (net.Conn, error) { return nil, errBroken }

// A server that ended by itself says why.
func TestServerEnds(t *testing.T) {
	listener, err := Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), Config{Settings: &config.Config{}})
	if err != nil {
		t.Fatal(err)
	}
	s.Serve(refusing{listener})
	<-s.Ended
	if err := s.Close(context.Background(), time.Second); !errors.Is(err, errBroken) {
		t.Error(err)
	}
}

// WIRE-3: the key threads decides how a request that continues a message thread is handled.
func TestThreads(t *testing.T) {
	const body = `{"model":"m","thread":{"type":"continue","previous_message_id":"msg_1"},"messages":[{"role":"user","content":"hi"}]}`
	for threads, want := range map[string]int{"follow": http.StatusTeapot, config.RefuseThreads: http.StatusBadRequest} {
		upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
		defer upstream.Close()
		s, err := Open(t.Context(), Config{Settings: &config.Config{Policy: trim.Adaptive, Threads: threads, Upstream: llm.Upstreams{llm.Messages: upstream.URL}}})
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		s.Proxy.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/v1/messages", strings.NewReader(body)))
		if w.Code != want {
			t.Errorf("%s: %d %s", threads, w.Code, w.Body)
		}
		if err := s.Close(t.Context(), time.Second); err != nil {
			t.Error(err)
		}
	}
}

// A proxy whose record cannot be kept any more is not ready: writing to a removed file causes no error.
func TestReadyNeedsTheRecord(t *testing.T) {
	for name, test := range map[string]struct {
		change func(dir string) error
		says   string
	}{
		"there":   {func(string) error { return nil }, ""},
		"removed": {os.RemoveAll, "not there any more"},
		"replaced": {func(dir string) error {
			return errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "stet.db"), nil, 0o600))
		}, "replaced by another file"},
	} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" {
				t.Skip("open files cannot be removed")
			}
			dir := filepath.Join(t.TempDir(), "state")
			s, err := Open(t.Context(), Config{Settings: &config.Config{Record: true}, Store: filepath.Join(dir, "stet.db"), Say: t.Logf})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close(t.Context(), time.Second)
			if err := test.change(dir); err != nil {
				t.Fatal(err)
			}
			w := httptest.NewRecorder()
			s.Proxy.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/readyz", nil))
			if said := w.Body.String(); (w.Code == http.StatusOK) != (test.says == "") || !strings.Contains(said, test.says) {
				t.Errorf("%d %s", w.Code, said)
			}
		})
	}
}

// A proxy whose upstream is itself says so, and does not send the request on to itself for ever.
func TestUpstreamIsItself(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:0", ":0"} {
		listener, err := net.Listen("tcp", listen)
		if err != nil {
			t.Fatal(err)
		}
		itself := fmt.Sprintf("http://localhost:%d", listener.Addr().(*net.TCPAddr).Port)
		s, err := Open(t.Context(), Config{Settings: &config.Config{Policy: trim.Adaptive, Upstream: llm.Upstreams{llm.Messages: itself}}})
		if err != nil {
			t.Fatal(err)
		}
		s.Serve(listener)
		answer, err := http.Post(itself+"/v1/messages", "application/json", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err := s.Close(t.Context(), time.Second); err != nil {
			t.Error(err)
		}
		if n := s.Proxy.Totals().Requests; err != nil || answer.StatusCode != http.StatusBadGateway || n != 1 || !strings.Contains(string(text), "is this proxy itself") {
			t.Errorf("%s: %d requests, %d %s %v", listen, n, answer.StatusCode, text, err)
		}
	}
}
