package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/test/recordtest"
)

// moody is a store that may stay silent, or fail. If it hangs, it does not write.
type moody struct {
	record.Store
	silent, fails, hangs, prunes atomic.Bool
	asked                        atomic.Int64
}

func (s *moody) Append(ctx context.Context, b record.Batch) error {
	if s.hangs.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.Store.Append(ctx, b)
}

func (s *moody) Prune(ctx context.Context, l record.Limits) (int, error) {
	if s.prunes.Load() {
		<-ctx.Done()
	}
	return s.Store.Prune(ctx, l)
}

func (s *moody) Requests(ctx context.Context, q record.Query) ([]record.Request, error) {
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	return s.Store.Requests(ctx, q)
}

func (s *moody) Arrived(ctx context.Context, since record.Cursor) ([]record.Request, record.Cursor, error) {
	if err := s.read(ctx); err != nil {
		return nil, since, err
	}
	return s.Store.Arrived(ctx, since)
}

func (s *moody) read(ctx context.Context) error {
	s.asked.Add(1)
	if s.silent.Load() {
		<-ctx.Done()
	}
	if s.fails.Load() {
		return errors.New("the disk is gone")
	}
	return ctx.Err()
}

// inAfternoon runs a test in the middle of a day, on which a conversation has spent 1,100 tokens in the morning.
func inAfternoon(t *testing.T, limits Caps, do func(t *testing.T, c *caps, store *moody)) {
	catalog, err := prices.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		y, m, d := time.Now().Date()
		time.Sleep(time.Until(time.Date(y, m, d+1, 15, 0, 0, 0, time.Local)))
		store := &moody{Store: new(recordtest.Memory)}
		if err := store.Append(t.Context(), record.Batch{Requests: []record.Request{spentBy("other", "morning", time.Now().Add(-4*time.Hour))}}); err != nil {
			t.Fatal(err)
		}
		do(t, &caps{
			Caps: limits, store: store, rules: &rules{catalog: catalog}, log: slog.New(slog.DiscardHandler), tell: func(string) {},
			write: func(record.Batch) {}, flush: func(context.Context) error { return nil }, reading: semaphore.NewWeighted(1),
		}, store)
	})
}

// spentBy is a request of a conversation that has spent 1,100 tokens.
func spentBy(conversation, id string, at time.Time) record.Request {
	row := recordtest.Full(id, conversation, at)
	row.Agent, row.Root, row.Usage = "", "", record.Usage{Input: 1000, Output: 100}
	return row
}

// turn reports whether a person's turn in a conversation is allowed.
func (c *caps) turn(ctx context.Context, conversation string) bool {
	return c.check(ctx, &exchange{row: spentBy(conversation, "", time.Now())}, true) == ""
}

// LIVE-3: after a first read that failed, what was spent since midnight counts as soon as the store answers.
func TestCapsAfterAFailedRead(t *testing.T) {
	inAfternoon(t, Caps{Day: Amount{Tokens: 1000}}, func(t *testing.T, c *caps, store *moody) {
		store.fails.Store(true)
		if !c.turn(t.Context(), "one") {
			t.Error("refused, though nothing is known")
		}
		store.fails.Store(false)
		time.Sleep(capsRest)
		if c.turn(t.Context(), "one") {
			t.Error("what was spent in the morning does not count after a failure")
		}
	})
}

// LIVE-3: the same after a request that was cancelled while it read.
func TestCapsAfterACancelledRead(t *testing.T) {
	inAfternoon(t, Caps{Day: Amount{Tokens: 1000}}, func(t *testing.T, c *caps, _ *moody) {
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		c.turn(gone, "one")
		if c.turn(t.Context(), "one") {
			t.Error("what was spent in the morning does not count after a request that was cancelled")
		}
	})
}

// LIVE-3: a conversation that could not be read is read later, and what this process has spent meanwhile counts once.
func TestCapsOfAConversationAfterAFailedRead(t *testing.T) {
	for _, limit := range []int{2000, 3000} {
		inAfternoon(t, Caps{Conversation: Amount{Tokens: limit}}, func(t *testing.T, c *caps, store *moody) {
			store.fails.Store(true)
			if !c.turn(t.Context(), "other") {
				t.Error("refused, though nothing is known")
			}
			row := spentBy("other", "now", time.Now())
			c.spent(&exchange{row: row, conversation: &conversation{}})
			if err := store.Append(t.Context(), record.Batch{Requests: []record.Request{row}}); err != nil {
				t.Fatal(err)
			}
			store.fails.Store(false)
			time.Sleep(capsRest)
			if allowed := c.turn(t.Context(), "other"); allowed != (limit > 2200) {
				t.Errorf("limit %d: allowed %t after 2200 tokens", limit, allowed)
			}
		})
	}
}

// LIVE-3: requests of new conversations wait together for a store that is silent, and the next ones do not wait at all.
func TestCapsOfASilentStore(t *testing.T) {
	inAfternoon(t, Caps{Day: Amount{Tokens: 1000}}, func(t *testing.T, c *caps, store *moody) {
		store.silent.Store(true)
		began := time.Now()
		for i := range 10 {
			go c.turn(t.Context(), fmt.Sprint(i))
		}
		time.Sleep(maxLookUp)
		synctest.Wait()
		if !c.turn(t.Context(), "next") || time.Since(began) != maxLookUp {
			t.Errorf("the next request waited until %v after the first", time.Since(began))
		}
		if asked := store.asked.Load(); asked != 1 {
			t.Errorf("the store was asked %d times", asked)
		}
		store.silent.Store(false)
		time.Sleep(capsRest)
		if c.turn(t.Context(), "next") {
			t.Error("the limit does not hold")
		}
	})
}

// writes gives c a running writer, and a log that it returns.
func (c *caps) writes(t *testing.T) (*writer, *strings.Builder) {
	counts, err := newMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	w := newWriter(c.store, Keep{}, slog.New(slog.DiscardHandler), counts)
	logged := new(strings.Builder)
	c.write, c.flush, c.log = w.add, w.flush, slog.New(slog.NewTextHandler(logged, nil))
	return w, logged
}

// LIVE-3: with Hard, a store that does not write delays the requests that come at once, and those after a rest. What others have spent
// counts meanwhile.
func TestCapsOfAStoreThatDoesNotWrite(t *testing.T) {
	inAfternoon(t, Caps{Day: Amount{Tokens: 2000}, Hard: true}, func(t *testing.T, c *caps, store *moody) {
		w, logged := c.writes(t)
		defer w.stop()
		store.hangs.Store(true)
		w.add(record.Batch{Requests: []record.Request{spentBy("one", "mine", time.Now())}})
		waits := func(limit time.Duration) {
			t.Helper()
			if began := time.Now(); !c.turn(t.Context(), "one") || time.Since(began) > limit {
				t.Errorf("a request waited for %v", time.Since(began))
			}
		}
		for range 3 {
			waits(hardWait / 2)
			for range 5 {
				waits(0)
				time.Sleep(time.Millisecond)
			}
			time.Sleep(capsRest)
		}
		if n := strings.Count(logged.String(), "is not stored"); n != 3 || strings.Count(logged.String(), "\n") != 3 {
			t.Errorf("logged %s", logged)
		}
		if err := store.Store.Append(t.Context(), record.Batch{Requests: []record.Request{spentBy("two", "other", time.Now())}}); err != nil {
			t.Fatal(err)
		}
		if c.turn(t.Context(), "one") {
			t.Error("what another process has spent does not count")
		}
		store.hangs.Store(false)
	})
}

// LIVE-3: with Hard, a request reads what others have spent after its own process has stored what it has spent. What another request of this
// process has read before is not enough: others may have spent more since, and may not have known of this process.
func TestCapsAreReadAfterOwnRowsAreStored(t *testing.T) {
	inAfternoon(t, Caps{Day: Amount{Tokens: 2000}, Hard: true}, func(t *testing.T, c *caps, store *moody) {
		first, may := true, make(chan struct{})
		c.flush = func(context.Context) error {
			if first {
				first = false
				<-may
			}
			return nil
		}
		allowed := make(chan bool)
		go func() { allowed <- c.turn(t.Context(), "one") }()
		time.Sleep(time.Millisecond)
		if !c.turn(t.Context(), "two") {
			t.Error("refused after 1100 tokens of 2000")
		}
		time.Sleep(time.Millisecond)
		if err := store.Append(t.Context(), record.Batch{Requests: []record.Request{spentBy("three", "of another process", time.Now())}}); err != nil {
			t.Fatal(err)
		}
		close(may)
		if <-allowed {
			t.Error("what another process has spent does not count")
		}
	})
}

// Nobody who waits for a write waits until old rows are removed.
func TestWriterFlushesBeforeItPrunes(t *testing.T) {
	inAfternoon(t, Caps{}, func(t *testing.T, c *caps, store *moody) {
		w, _ := c.writes(t)
		store.prunes.Store(true)
		w.add(record.Batch{Requests: []record.Request{spentBy("one", "mine", time.Now())}})
		began := time.Now()
		if err := w.flush(t.Context()); err != nil || time.Since(began) > writeDelay {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		w.stop()
	})
}

// LIVE-3: a tree that is read late in the day does not count again in the day.
func TestCapsOfATreeLateInTheDay(t *testing.T) {
	inAfternoon(t, Caps{Day: Amount{Tokens: 2000}}, func(t *testing.T, c *caps, _ *moody) {
		for _, conversation := range []string{"one", "two", "other", "three"} {
			if !c.turn(t.Context(), conversation) {
				t.Errorf("%s is refused after 1100 tokens", conversation)
			}
			time.Sleep(capsAge)
		}
	})
}

// LIVE-3: what this process has spent in a tree that it has forgotten, or read again after the clock was set back, counts once.
func TestCapsOfATreeReadAgain(t *testing.T) {
	inAfternoon(t, Caps{Tree: Amount{Tokens: 2000}}, func(t *testing.T, c *caps, store *moody) {
		row := spentBy("mine", "mine", time.Now())
		c.spent(&exchange{row: row, conversation: &conversation{}})
		if err := store.Append(t.Context(), record.Batch{Requests: []record.Request{row}}); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			c.turn(t.Context(), "one")
			time.Sleep(15 * seenAge)
		}
		for range 2 {
			if !c.turn(t.Context(), "mine") || !c.turn(t.Context(), "other") {
				t.Errorf("refused after 1100 tokens: %v", c.sums)
			}
			time.Sleep(capsAge)
			c.turn(t.Context(), "one") // what is older is forgotten
			c.since = time.Now().Add(24 * time.Hour)
		}
	})
}

// LIVE-3: what another process has spent in a tree before midnight counts after it.
func TestCapsOfATreeOverMidnight(t *testing.T) {
	for _, hard := range []bool{true, false} {
		inAfternoon(t, Caps{Tree: Amount{Tokens: 1000}, Hard: hard}, func(t *testing.T, c *caps, store *moody) {
			if !c.turn(t.Context(), "one") {
				t.Error("refused in the afternoon")
			}
			time.Sleep(8 * time.Hour)
			if err := store.Append(t.Context(), record.Batch{Requests: []record.Request{spentBy("one", "evening", time.Now())}}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Hour)
			if c.turn(t.Context(), "one") {
				t.Errorf("hard %t: what was spent before midnight does not count", hard)
			}
		})
	}
}

// LIVE-3: what the conversations of a tree have spent in earlier processes counts, whichever of them goes on first.
func TestCapsOfATreeAfterARestart(t *testing.T) {
	inAfternoon(t, Caps{Tree: Amount{Tokens: 2000}}, func(t *testing.T, c *caps, store *moody) {
		child := spentBy("child", "child", time.Now().Add(-48*time.Hour))
		child.Root = "other"
		if err := store.Append(t.Context(), record.Batch{Requests: []record.Request{child}}); err != nil {
			t.Fatal(err)
		}
		next := spentBy("child", "", time.Now())
		next.Root = "other"
		if c.check(t.Context(), &exchange{row: next}, true) == "" {
			t.Error("what the other conversation of the tree has spent does not count")
		}
	})
}

// LIVE-3: the limit of a day begins again at midnight, and after a clock was set back the day that is lived again is read again.
func TestCapsOverMidnight(t *testing.T) {
	inAfternoon(t, Caps{Day: Amount{Tokens: 1000}}, func(t *testing.T, c *caps, _ *moody) {
		if c.turn(t.Context(), "one") {
			t.Error("not refused in the afternoon")
		}
		time.Sleep(10 * time.Hour)
		if !c.turn(t.Context(), "one") {
			t.Error("refused on the next day")
		}
		c.spent(&exchange{row: spentBy("one", "night", time.Now()), conversation: &conversation{}})
		if c.turn(t.Context(), "one") {
			t.Error("not refused in the night")
		}
	})
	inAfternoon(t, Caps{Day: Amount{Tokens: 1000}}, func(t *testing.T, c *caps, _ *moody) {
		c.begin()
		for range 2 {
			c.since = time.Now().Add(24 * time.Hour) // it was tomorrow
			if err := c.loadNew(t.Context()); err != nil {
				t.Fatal(err)
			}
			if c.turn(t.Context(), "one") || len(c.sums) != 1 {
				t.Errorf("what was spent today does not count: %v", c.sums)
			}
			for _, a := range c.sums {
				if a.Tokens != 1100 {
					t.Errorf("%+v", a)
				}
			}
		}
	})
}

// LIVE-3: a client that invents sub-agents takes no more than a limited memory, and the limits of its tree and of the day hold.
// What is noted of the day goes on, and a person is told of it once.
func TestCapsOfInventedAgents(t *testing.T) {
	for _, limits := range []Caps{{Conversation: Amount{Tokens: 5000}, Tree: Amount{Tokens: 2000}, Day: Amount{Tokens: 2000}}, {Day: Amount{Tokens: 2000}}} {
		inAfternoon(t, limits, func(t *testing.T, c *caps, store *moody) {
			noted, ofDay := map[string]record.Note{}, 0
			c.write = func(b record.Batch) { noted[b.Notes[0].Key] = b.Notes[0] }
			c.tell = func(text string) {
				if strings.Contains(text, "a day is fully") {
					ofDay++
				}
			}
			store.silent.Store(true)
			for i := range 3*maxSums + 10 {
				row := spentBy("tree", fmt.Sprint(i), time.Now())
				row.Agent = fmt.Sprint("agent-", i)
				if i%maxSums == 1 { // the same agent is refused again and again
					row.Agent = "agent-1"
					c.check(t.Context(), &exchange{row: row}, true)
				}
				c.spent(&exchange{row: row, conversation: &conversation{}, over: true})
				if i > 2 {
					continue
				}
				if err := store.Append(t.Context(), record.Batch{Requests: []record.Request{row}}); err != nil {
					t.Fatal(err)
				}
			}
			if n := max(len(c.sums), len(c.loaded), len(c.told), len(c.over)); n > maxSums+10 || len(c.notes) > maxNotes || len(c.seen) > maxSeen+3 {
				t.Errorf("%d sums, %d notes, %d rows are held", n, len(c.notes), len(c.seen))
			}
			store.silent.Store(false)
			time.Sleep(capsRest)
			if c.turn(t.Context(), "tree") || c.turn(t.Context(), "next") {
				t.Error("a limit does not hold")
			}
			today := dayOf(time.Now())
			if got, want := c.sums[today].Tokens, (3*maxSums+11)*1100; got > want || got < want-1100 {
				t.Errorf("today has spent %d, want %d", got, want)
			}
			note := noted[strings.ReplaceAll(today, "\x00", " ")+" tree agent-1"]
			if c.Tree == (Amount{}) && (!strings.Contains(note.Text, `"refused":3`) || !strings.Contains(note.Text, `"over":"4400 tokens"`)) || ofDay != 1 {
				t.Errorf("told %d times, noted %s", ofDay, note.Text)
			}
		})
	}
}

// LIVE-3: a limit in dollars does not count requests without a known price, and a person is told so, once.
func TestCapsWithoutAPrice(t *testing.T) {
	inAfternoon(t, Caps{Day: Amount{USD: 1}}, func(t *testing.T, c *caps, _ *moody) {
		var told []string
		c.tell = func(text string) { told = append(told, text) }
		for i := range 3 {
			row := spentBy("one", fmt.Sprint(i), time.Now())
			row.Model = "model-of-my-own"
			c.spent(&exchange{row: row, conversation: &conversation{}})
		}
		if len(told) != 1 || !strings.Contains(told[0], "requests to model-of-my-own do not count in the limit of $1.00 for a day") {
			t.Errorf("told %q", told)
		}
	})
}
