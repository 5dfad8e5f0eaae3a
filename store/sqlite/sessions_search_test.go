package sqlite_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/test/sessiontest"
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

// A search returns the same events as reading every event, in the same order. The test has events in several sessions, with random
// times.
func TestSearchFindsAll(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stet.db")
	s := openSessions(t, path)
	defer s.Close()
	plain := &session.Memory{}
	random := rand.New(rand.NewPCG(1, 2))
	often := rand.NewZipf(random, 1.1, 10, 1<<20)
	times := random.Perm(1 << 20)
	var last [5]uint64
	var all []string
	for size := 0; size < 4<<20; {
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
	found := 0
	for range 50 {
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

func places(hits []session.Hit) (all []string) {
	for _, h := range hits {
		all = append(all, fmt.Sprintf("%s/%d", h.Session, h.Event.Seq))
	}
	return all
}
