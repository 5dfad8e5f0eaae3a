package site

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/stet-dev/stet/record"
)

// healthz answers that the process is running.
func healthz(w http.ResponseWriter, _ *http.Request) { healthAnswer(w, nil) }

// healthAnswer answers a health request. Every client of the port can read the text, so it names no files.
func healthAnswer(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintln(w, err)
		return
	}
	fmt.Fprintln(w, "ok")
}

// readiness answers whether the server can do its work. It needs no token, so it checks at most once a second.
type readiness struct {
	site *Site

	mu  sync.Mutex
	at  time.Time
	err error
}

func (q *readiness) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	err := q.site.hub.Ready() // this check is cheap, and its result is needed at once
	if err == nil {
		q.mu.Lock()
		defer q.mu.Unlock()
		if time.Since(q.at) > time.Second {
			q.err = q.site.ready(context.WithoutCancel(r.Context()))
			q.at = time.Now()
		}
		err = q.err
	}
	healthAnswer(w, err)
}

// readyWait is how long other writers may keep the stores busy.
const readyWait = 3 * time.Second

// ready returns what prevents the server from working. Details are in the log.
func (s *Site) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	for _, part := range []struct {
		name  string
		check func() error
	}{
		{"the state directory cannot be written to", func() error { return probe(s.config.Tools.State) }},
		{"the audit trail cannot be written to", func() error { return s.account().Ready(ctx) }},
		{"the record of requests cannot be written", s.Server.Proxy.Ready},
	} {
		err := part.check()
		if errors.Is(err, record.ErrLost) {
			part.name = "the audit trail has lost entries"
		}
		if err != nil {
			s.Log.Error("not ready", "reason", part.name, "err", err)
			return errors.New(part.name)
		}
	}
	return nil
}

// probe writes a file in a directory, and removes it.
func probe(dir string) error {
	f, err := os.CreateTemp(dir, "ready.*")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 4096))
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}
