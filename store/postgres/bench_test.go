package postgres_test

import (
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/test/postgrestest"
	"github.com/stet-dev/stet/test/recordtest"
	"github.com/stet-dev/stet/test/sessiontest"
)

// text2K is the text of a message in the benchmarks. Those of package sqlite use the same.
var text2K = strings.Repeat("the quick brown fox jumps over it. ", 57)

// BenchmarkSessionAppend measures durable appends of one event of 2 KB. Each writer has its own session. ns/op is the time per
// event.
func BenchmarkSessionAppend(b *testing.B) {
	several(b, appends)
}

// appends creates a session for each writer, and returns a function that appends an event to the session of a writer.
func appends(b *testing.B, where string, writers int) func(int) error {
	s := openSessions(b, where)
	b.Cleanup(func() { _ = s.Close() })
	handles := make([]*session.Session, writers)
	for i := range handles {
		h, err := session.Create(b.Context(), s, session.Opening{})
		if err != nil {
			b.Fatal(err)
		}
		handles[i] = h
	}
	return func(i int) error { return handles[i].Append(b.Context(), sessiontest.Text(llm.User, text2K)) }
}

// BenchmarkSearch looks for a word that is nowhere in 100 MB of messages.
func BenchmarkSearch(b *testing.B) {
	server := postgrestest.Server{}
	defer server.Stop()
	s := openSessions(b, server.Database(b))
	defer s.Close()
	h, err := session.Create(b.Context(), s, session.Opening{})
	if err != nil {
		b.Fatal(err)
	}
	for i := range 5000 {
		if err := h.Append(b.Context(), sessiontest.Text(llm.User, fmt.Sprint(i, strings.Repeat(text2K, 10)))); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if hits, err := s.Search(b.Context(), []string{"xylophone"}, 10); err != nil || len(hits) > 0 {
			b.Fatal(hits, err)
		}
	}
}

// BenchmarkSessionAppendFar is BenchmarkSessionAppend with a database that is 5 ms away in each direction.
func BenchmarkSessionAppendFar(b *testing.B) {
	several(b, func(b *testing.B, where string, writers int) func(int) error {
		return appends(b, distant(b, where, 5*time.Millisecond), writers)
	})
}

// distant returns the URL of a database behind connections that delay everything by delay.
func distant(b *testing.B, where string, delay time.Duration) string {
	b.Helper()
	u, err := url.Parse(where)
	if err != nil {
		b.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.Close() })
	to := u.Host
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return // the benchmark is over
			}
			conn, err := net.Dial("tcp", to)
			if err != nil {
				_ = from.Close()
				continue
			}
			go carry(conn, from, delay)
			go carry(from, conn, delay)
		}
	}()
	u.Host = l.Addr().String()
	return u.String()
}

// carry copies the bytes of one connection to another one, delayed by delay.
func carry(to, from net.Conn, delay time.Duration) {
	type piece struct {
		bytes []byte
		due   time.Time
	}
	pieces := make(chan piece, 1000)
	go func() {
		defer to.Close()
		for p := range pieces {
			time.Sleep(time.Until(p.due))
			if _, err := to.Write(p.bytes); err != nil {
				_ = from.Close()
			}
		}
	}()
	defer close(pieces)
	for {
		b := make([]byte, 64<<10)
		n, err := from.Read(b)
		if err != nil {
			return
		}
		pieces <- piece{b[:n], time.Now().Add(delay)}
	}
}

// BenchmarkLog measures durable appends of one entry to the trail.
func BenchmarkLog(b *testing.B) {
	several(b, func(b *testing.B, url string, _ int) func(int) error {
		s := open(b, url)
		b.Cleanup(func() { _ = s.Close() })
		e := recordtest.FullEntry("s", "src/a.go", recordtest.Start)
		e.Kind = record.Intent
		return func(int) error {
			_, err := s.Log(b.Context(), e)
			return err
		}
	})
}

// several runs a benchmark with 1 and with 32 writers, on a server that flushes each commit to the disk.
func several(b *testing.B, begin func(b *testing.B, url string, writers int) func(writer int) error) {
	server := postgrestest.Server{Sync: true}
	defer server.Stop()
	for _, writers := range []int{1, 32} {
		b.Run(fmt.Sprint("writers=", writers), func(b *testing.B) {
			write := begin(b, server.Database(b), writers)
			work := make(chan struct{})
			var wg sync.WaitGroup
			for i := range writers {
				wg.Go(func() {
					for range work {
						if err := write(i); err != nil {
							b.Error(err)
						}
					}
				})
			}
			for b.Loop() {
				work <- struct{}{}
			}
			close(work)
			wg.Wait()
		})
	}
}
