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

	"golang.org/x/sync/semaphore"

	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/test/recordtest"
)

// moody is a store that may stay silent, or fail.
type moody struct {
	record.Store
	silent, fails atomic.Bool
	asked         atomic.Int64
}

func (s *moody) Requests(ctx context.Context, q record.Query) ([]record.Request, error) {
	s.asked.Add(1)
	if s.silent.Load() {
		<-ctx.Done()
	}
	if s.fails.Load() {
		return nil, errors.New("the disk is gone")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.Store.Requests(ctx, q)
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
			write: func(record.Batch) {}, flush: func(context.Context) {}, reading: semaphore.NewWeighted(1),
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
			c.read = time.Now().Add(24 * time.Hour) // it was tomorrow
			if err := c.loadNew(t.Context(), c.read); err != nil {
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
func TestCapsOfInventedAgents(t *testing.T) {
	inAfternoon(t, Caps{Conversation: Amount{Tokens: 5000}, Tree: Amount{Tokens: 2000}, Day: Amount{Tokens: 2000}}, func(t *testing.T, c *caps, store *moody) {
		for i := range 2*maxSums + 10 {
			row := spentBy("tree", fmt.Sprint(i), time.Now())
			row.Agent = fmt.Sprint("agent-", i)
			c.spent(&exchange{row: row, conversation: &conversation{}, over: true})
			if i > 2 {
				continue
			}
			if err := store.Append(t.Context(), record.Batch{Requests: []record.Request{row}}); err != nil {
				t.Fatal(err)
			}
		}
		if n := max(len(c.sums), len(c.loaded), len(c.told), len(c.over)); n > maxSums+10 || len(c.notes) > maxNotes {
			t.Errorf("%d sums, %d notes are held", n, len(c.notes))
		}
		if c.turn(t.Context(), "tree") || c.turn(t.Context(), "next") {
			t.Error("a limit does not hold")
		}
	})
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
