package sqlite_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/session/sessiontest"
)

// text2K is what a message says in the benchmarks: with the rest of its event
// 2 KB are written.
var text2K = strings.Repeat("the quick brown fox jumps over it. ", 57)

// BenchmarkRawAppend is the limit: 2 KB appended to a file and flushed to the
// disk.
func BenchmarkRawAppend(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "raw"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	block := []byte(text2K)[:1995]
	b.SetBytes(int64(len(block)))
	for b.Loop() {
		if _, err := f.Write(block); err != nil {
			b.Fatal(err)
		}
		if err := flush(f); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSessionAppend is one durable event of 2 KB at a time: by one
// writer, and by several in sessions of their own. ns/op is per event.
func BenchmarkSessionAppend(b *testing.B) {
	for _, writers := range []int{1, 2, 8, 32} {
		b.Run(fmt.Sprint("writers=", writers), func(b *testing.B) {
			s := openSessions(b, filepath.Join(b.TempDir(), "stet.db"))
			defer s.Close()
			handles := make([]*session.Session, writers)
			for i := range handles {
				h, err := session.Create(b.Context(), s, session.Opening{})
				if err != nil {
					b.Fatal(err)
				}
				handles[i] = h
			}
			work := make(chan struct{})
			var wg sync.WaitGroup
			for _, h := range handles {
				wg.Go(func() {
					for range work {
						if err := h.Append(b.Context(), sessiontest.Text(llm.User, text2K)); err != nil {
							b.Error(err)
							return
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

// BenchmarkSessionResume reads and folds 10,000 messages of 2 KB.
func BenchmarkSessionResume(b *testing.B) {
	s := openSessions(b, filepath.Join(b.TempDir(), "stet.db"))
	defer s.Close()
	bodies := make([]session.Body, 10_000)
	for i := range bodies {
		bodies[i] = sessiontest.Text(llm.User, text2K)
	}
	h, err := session.Create(b.Context(), s, session.Opening{}, bodies...)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		again, err := session.Resume(b.Context(), s, h.ID())
		if err != nil || len(again.State().Messages) != len(bodies) {
			b.Fatal(err)
		}
	}
}

// BenchmarkSessionSearch looks for words in messages of 8 KB, which are indexed: 40 MB of them, or with STET_SOAK 1 GB.
func BenchmarkSessionSearch(b *testing.B) {
	sessions := 10
	if os.Getenv("STET_SOAK") != "" {
		sessions = 250
	}
	dir := b.TempDir()
	s := openSessions(b, filepath.Join(dir, "stet.db"))
	defer s.Close()
	random := rand.New(rand.NewPCG(1, 2))
	often := rand.NewZipf(random, 1.1, 10, 50_000)
	for i := range sessions {
		bodies := make([]session.Body, 500)
		for j := range bodies {
			var text strings.Builder
			for text.Len() < 8<<10 {
				fmt.Fprintf(&text, "%s ", strconv.FormatUint(often.Uint64()*0x9e3779b97f4a7c15>>20, 36)) // like words: short, and some of them often
			}
			if i == sessions/2 && j == 100 {
				text.WriteString("rarest")
			}
			bodies[j] = sessiontest.Text(llm.User, text.String())
		}
		if _, err := session.Create(b.Context(), s, session.Opening{}, bodies...); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := s.Search(b.Context(), []string{"rarest"}, 1); err != nil { // it makes the index
		b.Fatal(err)
	}
	for name, words := range map[string][]string{
		"rare": {"rarest"}, "often": {strconv.FormatUint(0x9e3779b97f4a7c15>>20, 36)}, "none": {"nothing-like-it"},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if hits, err := s.Search(b.Context(), words, 10); err != nil || (len(hits) == 0) != (name == "none") {
					b.Fatal(hits, err)
				}
			}
		})
	}
}
