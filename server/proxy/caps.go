package proxy

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
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
	nearly   = 0.8              // the share of a cap from which on it is reported to a person
	capsAge  = 5 * time.Second  // how old what is known of other processes may be, unless Caps.Hard is set
	capsRest = 5 * time.Second  // how long a store that has not answered is not asked
	hardWait = 10 * time.Second // how long a request waits for the store if Caps.Hard is set; otherwise it is maxLookUp
	seenAge  = 10 * time.Minute // how long a row is known to be in the sums after it was counted or read; a row arrives again for a shorter time
	maxSums  = 20_000           // conversations and sub-agents whose spending is held
	maxSeen  = 3 * maxSums      // rows that are known to be in the sums, of each scope
	maxNotes = 1000             // notes on caps that a process keeps
	scopeDay = "day"
)

// caps adds up what was spent, by this process and by others with the same store, and compares it with Caps.
//
// With Caps.Hard what this process has spent is stored, and then what others have spent is read, before each request. So of an agent that
// waits for its answers a process does not know more than one request: when the next one is let through, the one before is stored, and each
// read that begins later returns it. Of all requests that are let through, take the one whose read was the last. It found less than the
// limit, and each agent has at most one request that this read did not find. So a limit is exceeded by at most one request of each agent.
type caps struct {
	Caps
	store record.Store
	rules *rules
	log   *slog.Logger
	tell  func(text string)
	write func(record.Batch)
	flush func(ctx context.Context) error // returns when what was written is stored, or the error of ctx

	reading *semaphore.Weighted // of one: held while the store is asked
	cursor  record.Cursor       // of the rows that were read; for the holder of reading

	mu     sync.Mutex
	sums   map[string]Amount  // by the key of a scope
	loaded map[string]bool    // trees whose stored rows are in sums
	seen   map[string]counted // the rows in the sums, by the name of the scope and their ID; those that may arrive again
	read   time.Time          // when the store was asked for new rows; zero: never
	since  time.Time          // the begin of the day of that read
	floor  time.Time          // new rows that began before do not count: which of them are in the sums is not known any more
	rest   time.Time          // until then the store is not asked
	noWait time.Time          // until then no request waits until what was written is stored
	told   map[string]bool    // what was told to a person
	notes  map[string]*record.Cap
	over   map[string]Amount // what the loops of a note have spent since its cap was reached
}

// counted is a row in the sums: when it was last counted or read, and its tree.
type counted struct {
	at   time.Time
	tree string
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
		{scopeDay, dayOf(at), c.Day},
	} {
		if s.limit != (Amount{}) {
			all = append(all, s)
		}
	}
	return all
}

// dayOf returns the key of the scope of a day.
func dayOf(at time.Time) string { return scopeDay + "\x00" + at.Local().Format(time.DateOnly) }

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
		c.note(s, row, func(n *record.Cap, _ string) { n.Refused++ })
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
	row := &x.row
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begin()
	cost := c.add(row, true, true)
	for _, s := range c.scopes(row, row.Time) {
		share := c.sums[s.key].of(s.limit)
		if s.limit.USD > 0 && cost.Tokens > 0 && cost.USD == 0 {
			c.say(slog.LevelWarn, fmt.Sprintf("requests to %s do not count in the limit of %s for %s, because the price is not known: add it (configuration key \"prices\"), or limit tokens",
				row.Model, s.limit.in(s.limit), (&record.Cap{Scope: s.name}).Of()))
		}
		if share < nearly {
			continue
		}
		c.note(s, row, func(n *record.Cap, key string) {
			if x.over && share >= 1 {
				c.over[key] = c.over[key].plus(cost)
				n.Over = c.over[key].in(s.limit)
			}
		})
	}
}

// add adds a row to the sums of its scopes, once, and returns what it cost. own: it is of this process. Rows of others count in their
// tree when the tree is loaded, and in their day if day is set.
func (c *caps) add(row *record.Request, own, day bool) Amount {
	cost := Amount{Tokens: row.Usage.Prompt() + row.Usage.Output}
	if c.Conversation.USD > 0 || c.Tree.USD > 0 || c.Day.USD > 0 { // a price takes time
		cost.USD = c.rules.bill(row, nil).usd
	}
	for _, s := range c.scopes(row, row.Time) {
		counts := own || c.loaded[row.Tree()]
		if s.name == scopeDay {
			counts = day
		}
		id := s.name + " " + row.ID
		_, twice := c.seen[id]
		if cost.Tokens == 0 || !twice && !counts {
			continue
		}
		if c.store != nil {
			c.seen[id] = counted{time.Now(), row.Tree()}
		}
		if !twice {
			c.sums[s.key] = c.sums[s.key].plus(cost)
		}
	}
	return cost
}

// begin makes the sums. If there are too many, all but those of days are made again: the store has them. What is said of today stays.
func (c *caps) begin() {
	if c.sums == nil {
		c.sums, c.loaded, c.seen, c.told = map[string]Amount{}, map[string]bool{}, map[string]counted{}, map[string]bool{}
		c.notes, c.over = map[string]*record.Cap{}, map[string]Amount{}
	}
	if len(c.sums)+len(c.loaded)+len(c.told)+len(c.over) <= maxSums && len(c.seen) <= maxSeen {
		return
	}
	c.forget(false)
	today := dayOf(time.Now())
	maps.DeleteFunc(c.told, func(key string, _ bool) bool { return !strings.HasPrefix(key, today) })
	maps.DeleteFunc(c.notes, func(key string, _ *record.Cap) bool { return !strings.HasPrefix(key, today) })
	maps.DeleteFunc(c.over, func(loop string, _ Amount) bool { return c.notes[loop] == nil })
	if len(c.seen) > maxSeen/2 {
		byTime := slices.SortedFunc(maps.Values(c.seen), func(a, b counted) int { return a.at.Compare(b.at) })
		c.floor = byTime[len(byTime)/2].at.Add(time.Microsecond) // the unit of times in the store
		maps.DeleteFunc(c.seen, func(_ string, row counted) bool { return row.at.Before(c.floor) })
	}
}

// forget empties the sums, those of days only if days is set.
func (c *caps) forget(days bool) {
	clear(c.loaded)
	maps.DeleteFunc(c.sums, func(key string, _ Amount) bool { return days || !strings.HasPrefix(key, scopeDay) })
	maps.DeleteFunc(c.seen, func(key string, _ counted) bool { return days || !strings.HasPrefix(key, scopeDay) })
}

// load reads what is not known yet: what a tree that is new here has spent, and what other processes have spent since. No other request waits
// for the store meanwhile, but with Hard, and those of a tree that is not known either. A request waits at most maxLookUp or hardWait, at most
// half of it for a write. If the store does not answer, what this process has spent counts alone, and the store is asked again after capsRest; a write
// that does not end is not waited for again before that either.
func (c *caps) load(ctx context.Context, row *record.Request) {
	arrived := time.Now()
	known, old := c.known(row, arrived)
	if c.store == nil || known && !old {
		return
	}
	until := arrived.Add(maxLookUp)
	if c.Hard {
		until = arrived.Add(hardWait)
		c.storeOwn(ctx, row, arrived)
	}
	wait, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	asks := time.Now() // with Hard, a read of another request that began before is too old
	if known && !c.Hard {
		if !c.reading.TryAcquire(1) {
			return
		}
	} else if err := c.reading.Acquire(wait, 1); err != nil {
		if ctx.Err() == nil {
			c.pause(&c.rest, row, err, "what a conversation or other processes have spent is not known")
		}
		return
	}
	defer c.reading.Release(1)
	// Others count on what is read, also if this request is cancelled.
	ctx, cancel = context.WithDeadline(context.WithoutCancel(ctx), until)
	defer cancel()
	var err error
	if known, old = c.known(row, asks); old {
		err = c.loadNew(ctx)
		known, _ = c.known(row, asks) // no tree is, if the clock was set back
	}
	if err == nil && !known {
		err = c.loadTree(ctx, row.Tree())
	}
	if err != nil {
		c.pause(&c.rest, row, err, "what a conversation or other processes have spent is not known")
	}
}

// storeOwn waits until what this process has spent is stored, unless a write has just not ended in time.
func (c *caps) storeOwn(ctx context.Context, row *record.Request, arrived time.Time) {
	c.mu.Lock()
	noWait := arrived.Before(c.noWait)
	c.mu.Unlock()
	if noWait {
		return
	}
	part, cancel := context.WithDeadline(ctx, arrived.Add(hardWait/2))
	defer cancel()
	if err := c.flush(part); err != nil && ctx.Err() == nil {
		c.pause(&c.noWait, row, err, "what this process has spent is not stored, so other processes do not count it")
	}
}

// pause sets a time until which the store is left alone, and logs why. Requests that have waited together are one.
func (c *caps) pause(until *time.Time, row *record.Request, err error, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); !now.Before(*until) {
		*until = now.Add(capsRest)
		c.log.Warn(text, "conversation", row.Conversation, "error", err)
	}
}

// known reports whether the tree of a request is known, and whether what is known of other processes is too old for a request that asks
// for it at a time. While the store rests, nothing better can be known.
func (c *caps) known(row *record.Request, asks time.Time) (known, old bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begin()
	if asks.Before(c.rest) {
		return true, false
	}
	age := asks.Sub(c.read)
	return c.loaded[row.Tree()], age >= capsAge || c.Hard && age >= 0
}

// loadNew reads what was stored since it was asked last. It reads today, if it was never asked, or if the clock was set back since to a day
// that is not known.
func (c *caps) loadNew(ctx context.Context) error {
	now := time.Now()
	y, m, d := now.Date()
	today := time.Date(y, m, d, 0, 0, 0, 0, time.Local)
	c.mu.Lock()
	first, back := c.read.IsZero(), today.Before(c.since)
	c.mu.Unlock()
	rows, cursor, err := c.store.Arrived(ctx, c.cursor)
	if err == nil && (first || back) {
		rows, err = c.store.Requests(ctx, record.Query{From: today})
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.read, c.cursor, c.since = now, cursor, today; back {
		c.floor = time.Time{}
		c.forget(true)
	}
	rows = slices.DeleteFunc(rows, func(row record.Request) bool { return row.Time.Before(c.floor) })
	c.addRows(rows, true)
	return nil
}

// loadTree reads what a tree has spent.
func (c *caps) loadTree(ctx context.Context, tree string) error {
	rows, err := c.store.Requests(ctx, record.Query{Tree: tree})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loaded[tree] = true
	c.addRows(rows, false)
	return nil
}

// addRows adds rows of the store, in their days only if day is set. The caller holds c.mu.
func (c *caps) addRows(rows []record.Request, day bool) {
	for i := range rows {
		c.add(&rows[i], false, day)
	}
	// These do not arrive again, and are not read again but with a tree that is not loaded.
	maps.DeleteFunc(c.seen, func(key string, row counted) bool {
		return c.read.Sub(row.at) > seenAge && (strings.HasPrefix(key, scopeDay) || c.loaded[row.tree])
	})
}

// note changes what is said of a cap, tells a person the first time that it is nearly and fully spent, and stores it for the page.
func (c *caps) note(s scope, row *record.Request, change func(n *record.Cap, key string)) {
	key := s.key
	if s.name == scopeDay { // the loop of each conversation is shown
		key += "\x00" + row.Conversation + "\x00" + row.Agent
	}
	n := c.notes[key]
	if n == nil {
		n = &record.Cap{Scope: s.name, Limit: s.limit.in(s.limit), Client: row.Client, Conversation: row.Conversation, Agent: row.Agent}
		if len(c.notes) < maxNotes {
			c.notes[key] = n
		}
	}
	spent := c.sums[s.key]
	n.Spent, n.Share = spent.in(s.limit), spent.of(s.limit)
	change(n, key)
	state, level := "nearly", slog.LevelInfo
	if n.Share >= 1 {
		state, level = "fully", slog.LevelWarn
	}
	if told := s.key + state; !c.told[told] {
		c.told[told] = true
		c.say(level, fmt.Sprintf("the limit of %s for %s is %s spent: %s (%s)", n.Limit, n.Of(), state, n.Spent, cmp.Or(row.Client, "an agent")))
	}
	if c.notes[key] == n {
		text, _ := json.Marshal(n) // strings and numbers always marshal
		c.write(record.Batch{Notes: []record.Note{{Kind: record.NoteCap, Key: strings.ReplaceAll(key, "\x00", " "), Text: string(text), Time: time.Now()}}})
	}
}

// say tells a person a sentence, once.
func (c *caps) say(level slog.Level, text string) {
	if !c.told[text] {
		c.told[text] = true
		c.log.Log(context.Background(), level, text)
		c.tell(text)
	}
}
