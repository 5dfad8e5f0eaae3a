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
	"github.com/stet-dev/stet/record/recordtest"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/session/sessiontest"
	"github.com/stet-dev/stet/store/postgrestest"
)

// text2K is what a message says in the benchmarks, as in those of package sqlite.
var text2K = strings.Repeat("the quick brown fox jumps over it. ", 57)

// BenchmarkSessionAppend is one durable event of 2 KB at a time, by writers in sessions of their own. ns/op is
// per event.
func BenchmarkSessionAppend(b *testing.B) {
	several(b, appends)
}

// appends begins sessions, and returns a function that appends an event to one of them.
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

// BenchmarkSessionAppendFar is the same where the database is 5 ms away in each direction.
func BenchmarkSessionAppendFar(b *testing.B) {
	several(b, func(b *testing.B, where string, writers int) func(int) error {
		return appends(b, distant(b, where, 5*time.Millisecond), writers)
	})
}

// distant is the URL of a database through connections that take their time.
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

// carry copies what comes from a connection to another one, some time later.
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

// BenchmarkLog is one durable entry of the trail at a time.
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

// several measures 1 and 32 writers, on a server that flushes each commit to the disk.
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
