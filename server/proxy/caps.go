package proxy

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/stet-dev/stet/record"
)

// Amount is what was spent, or may be: in US dollars at list prices, or in tokens of prompts and answers. As a limit one of both is set;
// the zero value is none.
type Amount struct {
	USD    float64
	Tokens int
}

// Caps are limits of what may be spent.
type Caps struct {
	Conversation Amount // by a conversation, and by each sub-agent for itself
	Tree         Amount // by a conversation with its sub-agents and forks
	Day          Amount // by all together, on a day of the local time zone
	// Hard means that a request is refused also in the middle of a loop of tools. Otherwise only the next turn of a person is.
	Hard bool
}

// none reports whether nothing is limited.
func (c Caps) none() bool { return c == Caps{Hard: c.Hard} }

const (
	nearly   = 0.8              // the share of a cap from which on a person is told
	capsAge  = 5 * time.Second  // how old what is known of other processes may be
	capsRest = 5 * time.Second  // how long a store that has not answered is not asked
	overlap  = 30 * time.Minute // a row is stored when its answer ends, but has the time when it began
	maxSums  = 20_000           // conversations whose spending is held
	scopeDay = "day"
)

// caps adds up what was spent, by this process and by others with the same store, and compares it with Caps.
type caps struct {
	Caps
	store record.Store
	rules *rules
	log   *slog.Logger
	tell  func(text string)
	write func(record.Batch)

	reading *semaphore.Weighted // of one: held while the store is asked

	mu     sync.Mutex
	sums   map[string]Amount    // by the key of a scope
	loaded map[string]bool      // conversations whose stored rows are in sums
	early  map[string]bool      // rows in sums of conversations that are not loaded
	seen   map[string]time.Time // the rows in the sum of their day, of the last hours
	read   time.Time            // when the store was read; zero: the day is not known
	rest   time.Time            // until then the store is not asked
	told   map[string]bool      // by the key of a scope, and how near the cap is
	notes  map[string]*record.Cap
	over   map[string]Amount // what loops have spent since a cap was reached
}

// scope is a cap with what it limits.
type scope struct {
	name, key string
	limit     Amount
}

// scopes returns the caps that hold for a request.
func (c *caps) scopes(row *record.Request, at time.Time) []scope {
	var all []scope
	for _, s := range []scope{
		{"conversation", "conversation\x00" + row.Conversation + "\x00" + row.Agent, c.Conversation},
		{"tree", "tree\x00" + row.Tree(), c.Tree},
		{scopeDay, scopeDay + "\x00" + at.Local().Format(time.DateOnly), c.Day},
	} {
		if s.limit != (Amount{}) {
			all = append(all, s)
		}
	}
	return all
}

func (a Amount) plus(b Amount) Amount { return Amount{a.USD + b.USD, a.Tokens + b.Tokens} }

// of returns which share of a limit a is.
func (a Amount) of(limit Amount) float64 {
	if limit.Tokens > 0 {
		return float64(a.Tokens) / float64(limit.Tokens)
	}
	return a.USD / limit.USD
}

// in returns a in the unit of a limit, as text.
func (a Amount) in(limit Amount) string {
	if limit.Tokens > 0 {
		return fmt.Sprintf("%d tokens", a.Tokens)
	}
	return fmt.Sprintf("$%.2f", a.USD)
}

func (c *caps) amount(row *record.Request) Amount {
	return Amount{c.rules.bill(row, nil).usd, row.Usage.Prompt() + row.Usage.Output}
}

// check returns why a request is refused; empty: it is not. turn: it begins a turn of a person.
func (c *caps) check(ctx context.Context, x *exchange, turn bool) string {
	if c.none() {
		return ""
	}
	row := &x.row
	c.load(ctx, row)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.scopes(row, row.Time) {
		if share := c.sums[s.key].of(s.limit); share < 1 {
			continue
		} else if !turn && !c.Hard {
			x.over = true // this loop goes on to its end
			continue
		}
		c.note(s, row, func(n *record.Cap) { n.Refused++ })
		return fmt.Sprintf("%s spent %s; the limit is %s (limits.%s in stet's configuration). %s", map[string]string{
			"conversation": "this conversation has", "tree": "this conversation with its sub-agents has", scopeDay: "today's requests have",
		}[s.name], c.sums[s.key].in(s.limit), s.limit.in(s.limit), s.name, map[string]string{
			"conversation": "Begin a new conversation, or raise the limit.", "tree": "Begin a new conversation, or raise the limit.",
			scopeDay: "Go on tomorrow, or raise the limit.",
		}[s.name])
	}
	return ""
}

// spent adds an answered request.
func (c *caps) spent(x *exchange) {
	if c.none() || x.conversation == nil {
		return
	}
	row, cost := &x.row, c.amount(&x.row)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begin()
	c.add(row, true)
	if c.store != nil && !c.loaded[row.Conversation] {
		c.early[row.ID] = true
	}
	for _, s := range c.scopes(row, row.Time) {
		share := c.sums[s.key].of(s.limit)
		if share < nearly {
			continue
		}
		c.note(s, row, func(n *record.Cap) {
			if x.over && share >= 1 {
				loop := s.key + "\x00" + row.Conversation + "\x00" + row.Agent
				c.over[loop] = c.over[loop].plus(cost)
				n.Over = c.over[loop].in(s.limit)
			}
		})
	}
}

// add adds a row to the sums. whole: also to those of its conversation and tree.
func (c *caps) add(row *record.Request, whole bool) {
	cost := c.amount(row)
	if cost.Tokens == 0 {
		return
	}
	if _, twice := c.seen[row.ID]; !twice {
		c.seen[row.ID] = row.Time
		key := scopeDay + "\x00" + row.Time.Local().Format(time.DateOnly)
		c.sums[key] = c.sums[key].plus(cost)
	}
	if whole {
		for _, s := range c.scopes(row, row.Time) {
			if s.name != scopeDay {
				c.sums[s.key] = c.sums[s.key].plus(cost)
			}
		}
	}
}

// begin makes the sums, empty. They are made again if there are too many: the store has them.
func (c *caps) begin() {
	if c.sums == nil || len(c.sums) > maxSums {
		c.sums, c.loaded, c.seen, c.read = map[string]Amount{}, map[string]bool{}, map[string]time.Time{}, time.Time{}
		c.early = map[string]bool{}
		c.told, c.notes, c.over = map[string]bool{}, map[string]*record.Cap{}, map[string]Amount{}
	}
}

// load reads what is not known yet: what this conversation has spent earlier, and from time to time what other processes have spent. No
// other request waits for the store meanwhile, but those of a conversation that is not known either. A request waits at most maxLookUp. If the store does
// not answer, what this process has spent counts alone, and the store is asked again after capsRest.
func (c *caps) load(ctx context.Context, row *record.Request) {
	now := time.Now()
	if known, old, _ := c.known(row, now); c.store == nil || known && !old {
		return
	} else if known {
		if !c.reading.TryAcquire(1) {
			return
		}
	} else {
		wait, cancel := context.WithDeadline(ctx, now.Add(maxLookUp))
		defer cancel()
		if c.reading.Acquire(wait, 1) != nil {
			return
		}
	}
	defer c.reading.Release(1)
	// Others count on what is read, also if this request is cancelled.
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), now.Add(maxLookUp))
	defer cancel()
	var err error
	known, old, since := c.known(row, now)
	if old {
		err = c.loadDay(ctx, now, since)
	}
	if err == nil && !known {
		err = c.loadConversation(ctx, row.Conversation)
	}
	if err == nil {
		return
	}
	c.log.Warn("what a conversation or other processes have spent is not known", "conversation", row.Conversation, "error", err)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rest = time.Now().Add(capsRest)
}

// known reports whether a conversation is known, whether what is known of other processes is old, and since when. While the store rests, nothing better
// can be known.
func (c *caps) known(row *record.Request, now time.Time) (known, old bool, since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begin()
	if now.Before(c.rest) {
		return true, false, c.read
	}
	return c.loaded[row.Conversation], now.Sub(c.read) >= capsAge, c.read
}

// loadConversation reads what a conversation has spent.
func (c *caps) loadConversation(ctx context.Context, conversation string) error {
	rows, err := c.store.Requests(ctx, record.Query{Conversation: conversation})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loaded[conversation] = true
	for i := range rows {
		c.add(&rows[i], !c.early[rows[i].ID])
		delete(c.early, rows[i].ID)
	}
	return nil
}

// loadDay reads what was spent today by others since a time.
func (c *caps) loadDay(ctx context.Context, now, since time.Time) error {
	y, m, d := now.Date()
	from := time.Date(y, m, d, 0, 0, 0, 0, time.Local)
	if begun := since.Add(-overlap); begun.After(from) {
		from = begun
	}
	rows, err := c.store.Requests(ctx, record.Query{From: from})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.read.Equal(since) { // the sums were not made again meanwhile
		c.read = now
	}
	for i := range rows {
		if _, known := c.seen[rows[i].ID]; !known {
			c.add(&rows[i], c.loaded[rows[i].Conversation])
		}
	}
	for id, at := range c.seen {
		if now.Sub(at) > 4*overlap && at.Before(from) {
			delete(c.seen, id)
		}
	}
	return nil
}

// note changes what is said of a cap, tells a person the first time that it is nearly and fully spent, and stores it for the page.
func (c *caps) note(s scope, row *record.Request, change func(*record.Cap)) {
	key := s.key
	if s.name == scopeDay { // the loop of each conversation is shown
		key += "\x00" + row.Conversation + "\x00" + row.Agent
	}
	n := c.notes[key]
	if n == nil {
		n = &record.Cap{Scope: s.name, Limit: s.limit.in(s.limit), Client: row.Client, Conversation: row.Conversation, Agent: row.Agent}
		c.notes[key] = n
	}
	spent := c.sums[s.key]
	n.Spent, n.Share = spent.in(s.limit), spent.of(s.limit)
	change(n)
	state, level := "nearly", slog.LevelInfo
	if n.Share >= 1 {
		state, level = "fully", slog.LevelWarn
	}
	if !c.told[s.key+state] {
		c.told[s.key+state] = true
		c.log.Log(context.Background(), level, "a limit is "+state+" spent", "limit", s.name, "of", n.Limit, "spent", n.Spent, "conversation", row.Conversation)
		c.tell(fmt.Sprintf("the limit of %s for %s is %s spent: %s (%s)", n.Limit, n.Of(), state, n.Spent, cmp.Or(row.Client, "an agent")))
	}
	text, _ := json.Marshal(n) // strings and numbers always marshal
	c.write(record.Batch{Notes: []record.Note{{Kind: record.NoteCap, Key: strings.ReplaceAll(key, "\x00", " "), Text: string(text), Time: time.Now()}}})
}
