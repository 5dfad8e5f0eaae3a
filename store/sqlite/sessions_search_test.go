package sqlite_test

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/session/sessiontest"
)

// randomMessage returns a message of n random words.
func randomMessage(random *rand.Rand, often *rand.Zipf, n int) session.Body {
	var text strings.Builder
	for range n {
		for rest := often.Uint64() * 0x9e3779b97f4a7c15 >> 44; rest > 0; rest /= 29 {
			text.WriteString([]string{"e", "T", "a", "o", "N", "é", "说", "_", "0", "\"", "\\", "i", "s"}[rest%13])
		}
		text.WriteString([]string{" ", "\n", ": "}[random.IntN(3)])
	}
	return sessiontest.Text(llm.User, text.String())
}

// A search returns the same events as reading every event, in the same order. The test has 14 MB of events in several sessions,
// with random times, while two programs build the filters. A segment has 6 MB.
func TestSearchFindsAll(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stet.db")
	s, other := openSessions(t, path), openSessions(t, path)
	defer s.Close()
	defer other.Close()
	plain := &session.Memory{}
	random := rand.New(rand.NewPCG(1, 2))
	often := rand.NewZipf(random, 1.1, 10, 1<<20)
	times := random.Perm(1 << 20)
	var last [5]uint64
	var all []string
	for size := 0; size < 14<<20; {
		n := random.IntN(len(last))
		bodies := []session.Body{randomMessage(random, often, random.IntN(2000)), randomMessage(random, often, random.IntN(10)), session.Usage{Model: "m"}}
		if random.IntN(200) == 0 {
			bodies[1] = randomMessage(random, often, 100_000)
		}
		if last[n] == 0 {
			bodies = append([]session.Body{session.Opening{}}, bodies...)
		}
		b := session.Batch{Session: fmt.Sprint("s", n), After: last[n]}
		for _, body := range bodies {
			e := session.Event{Body: body, Time: sessiontest.Start.Add(time.Duration(times[0]) * time.Second)}
			times = times[1:]
			b.Events = append(b.Events, e)
			size += len(e.Text())
			all = append(all, e.Text())
		}
		last[n] += uint64(len(bodies))
		for _, store := range []session.Store{s, plain} {
			if err := store.Append(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		}
	}
	var both sync.WaitGroup
	for _, store := range []session.Store{s, other} {
		both.Go(func() {
			if _, err := store.Search(context.Background(), []string{"x"}, 1); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	if n := segments(t, path); n < 2 {
		t.Errorf("%d segments", n)
	}
	found := 0
	for i := range 50 {
		if i == 40 { // a search also works without the filters
			damage(t, path, "DELETE FROM words_bits WHERE key % 3 = 0")
		}
		var words []string
		for range 1 + random.IntN(2) {
			text := all[random.IntN(len(all))]
			if text == "" {
				continue
			}
			from := random.IntN(len(text))
			words = append(words, session.Folded(text[from:min(len(text), from+1+random.IntN(12))]))
		}
		if len(words) == 0 {
			continue
		}
		limit := random.IntN(3) * 7
		want, err := plain.Search(t.Context(), words, limit)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Search(t.Context(), words, limit)
		if err != nil {
			t.Fatal(err)
		}
		found += len(got)
		if diff := cmp.Diff(places(want), places(got)); diff != "" {
			t.Errorf("%q, %d: %s", words, limit, diff)
		}
	}
	if found < 50 {
		t.Errorf("%d were found", found)
	}
}

// A search reads all events if the filters are damaged.
func TestSearchWithDamagedFilters(t *testing.T) {
	for _, table := range []string{"words_blocks", "words_bits"} {
		path := filepath.Join(t.TempDir(), "stet.db")
		s := openSessions(t, path)
		h, err := session.Create(t.Context(), s, session.Opening{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 8 {
			if err := h.Append(t.Context(), sessiontest.Text(llm.User, fmt.Sprint("rarest ", i, strings.Repeat(" and so on", 100_000)))); err != nil {
				t.Fatal(err)
			}
		}
		search := func() {
			if err := s.Index(t.Context(), nil); err != nil {
				t.Error(table, err)
			}
			if hits, err := s.Search(t.Context(), []string{"rarest"}, 0); err != nil || len(hits) != 8 {
				t.Errorf("%s: %d hits, %v", table, len(hits), err)
			}
		}
		search()
		if n := segments(t, path); n == 0 {
			t.Error("no filters were made")
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		overwriteRoot(t, path, table)
		s = openSessions(t, path)
		search()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// overwriteRoot makes the first page of a table unreadable.
func overwriteRoot(t *testing.T, path, table string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	var page, size int64
	err = db.QueryRow("SELECT rootpage, page_size FROM sqlite_schema, pragma_page_size WHERE name = ?", table).Scan(&page, &size)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt([]byte(strings.Repeat("\xee", 100)), (page-1)*size)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

func places(hits []session.Hit) (all []string) {
	for _, h := range hits {
		all = append(all, fmt.Sprintf("%s/%d", h.Session, h.Event.Seq))
	}
	return all
}

// segments returns the number of segments, and checks that their blocks are in order.
func segments(t *testing.T, path string) (n int) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query("SELECT blocks FROM words_blocks ORDER BY segment")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var end uint64
	for ; rows.Next(); n++ {
		var blocks []byte
		if err := rows.Scan(&blocks); err != nil {
			t.Fatal(err)
		}
		for ; len(blocks) > 0; blocks = blocks[16:] {
			until := binary.LittleEndian.Uint64(blocks)
			if until <= end {
				t.Errorf("a block ends at %d, after one that ends at %d", until, end)
			}
			end = until
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return n
}
