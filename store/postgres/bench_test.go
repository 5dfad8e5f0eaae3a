package postgres_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

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
	several(b, func(b *testing.B, url string, writers int) func(int) error {
		s := openSessions(b, url)
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
	})
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
