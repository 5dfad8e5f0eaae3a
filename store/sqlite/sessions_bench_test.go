package sqlite_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/test/sessiontest"
	"github.com/stet-dev/stet/trim/transcript"
)

// text2K is the text of a message in the benchmarks. The whole event has 2 KB.
var text2K = strings.Repeat("the quick brown fox jumps over it. ", 57)

// BenchmarkRawAppend measures the lower bound: 2 KB are appended to a file and flushed to the disk.
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

// BenchmarkSessionAppend measures durable appends of one event of 2 KB: by one writer, and by several writers that each have
// their own session. ns/op is the time per event.
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

// BenchmarkSessionSearch searches words in the recorded sessions. The sessions are copied, with a tenth of the long words
// changed, until there are 40 MB of them, or 1 GB with STET_SOAK.
func BenchmarkSessionSearch(b *testing.B) {
	root := os.Getenv("STET_TRANSCRIPTS")
	if root == "" {
		b.Skip("no recordings: set STET_TRANSCRIPTS to a folder of session files")
	}
	size := 40 << 20
	if os.Getenv("STET_SOAK") != "" {
		size = 1 << 30
	}
	path := filepath.Join(b.TempDir(), "stet.db")
	s := openSessions(b, path)
	store := &counting{Store: s}
	random := rand.New(rand.NewPCG(1, 2))
	for store.bytes < size {
		err := transcript.Opener{}.Walk([]string{root}, func(_ string, sessions []*transcript.Session, err error) error {
			for _, r := range sessions {
				if store.bytes >= size {
					break
				}
				messages := make([]llm.Message, len(r.Messages))
				for i, m := range r.Messages {
					m.Parts = slices.Clone(m.Parts)
					for j := range m.Parts {
						m.Parts[j].Text, m.Parts[j].Args = changed(random, m.Parts[j].Text), changed(random, m.Parts[j].Args)
					}
					messages[i] = m
				}
				source := fmt.Sprintf("%s:%s:%d", r.Format, r.ID, store.bytes)
				if _, err := session.Import(b.Context(), store, session.Recording{Dir: r.Dir, Source: source, Messages: messages, Starts: r.Starts}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || store.bytes == 0 {
			b.Fatal(store.bytes, err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	s = openSessions(b, path)
	defer s.Close()
	for _, words := range [][]string{
		{"error"}, {"retry", "budget"}, {"exit status 1"}, {"nothing-like-it"}, {"undefined: "}, {"xylophone"}, {"context deadline exceeded"}, {"zq"},
	} {
		b.Run(strings.Join(words, " "), func(b *testing.B) {
			var hits []session.Hit
			for b.Loop() {
				var err error
				if hits, err = s.Search(b.Context(), words, 20); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(hits)), "hits")
		})
	}
}

// counting counts the bytes of the bodies that are stored.
type counting struct {
	session.Store
	bytes int
}

func (c *counting) Append(ctx context.Context, batches ...session.Batch) error {
	for _, b := range batches {
		for _, e := range b.Events {
			body, err := session.Encode(e.Body)
			if err != nil {
				return err
			}
			c.bytes += len(body)
		}
	}
	return c.Store.Append(ctx, batches...)
}

var long = regexp.MustCompile(`[A-Za-z]{5,}`)

// changed returns text with the letters of a tenth of its long words in another order.
func changed(random *rand.Rand, text string) string {
	return long.ReplaceAllStringFunc(text, func(word string) string {
		if random.IntN(10) > 0 {
			return word
		}
		letters := []byte(word)
		random.Shuffle(len(letters), func(i, j int) { letters[i], letters[j] = letters[j], letters[i] })
		return string(letters)
	})
}
