package proxy

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
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
	overlap  = 30 * time.Minute // a row is stored when its answer ends, but has the time when it began
	maxSums  = 20_000           // conversations and sub-agents whose spending is held
	maxNotes = 1000             // notes on caps that a process keeps
	scopeDay = "day"
)

// caps adds up what was spent, by this process and by others with the same store, and compares it with Caps. With Caps.Hard what this
// process has spent is stored, and what others have spent is read, before each request.
type caps struct {
	Caps
	store record.Store
	rules *rules
	log   *slog.Logger
	tell  func(text string)
	write func(record.Batch)
	flush func(ctx context.Context) // returns when what was written is stored

	reading *semaphore.Weighted // of one: held while the store is asked

	mu     sync.Mutex
	sums   map[string]Amount    // by the key of a scope
	loaded map[string]bool      // trees whose stored rows are in sums
	seen   map[string]time.Time // the rows in the sums, by the name of the scope and their ID; those of the last hours
	read   time.Time            // when the store was asked for new rows; zero: today is not known
	rest   time.Time            // until then the store is not asked
	told   map[string]bool      // what was told to a person
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
	row := &x.row
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begin()
	cost := c.add(row, true)
	for _, s := range c.scopes(row, row.Time) {
		share := c.sums[s.key].of(s.limit)
		if s.limit.USD > 0 && cost.Tokens > 0 && cost.USD == 0 {
			c.say(slog.LevelWarn, fmt.Sprintf("requests to %s do not count in the limit of %s for %s, because the price is not known: add it (configuration key \"prices\"), or limit tokens",
				row.Model, s.limit.in(s.limit), (&record.Cap{Scope: s.name}).Of()))
		}
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

// add adds a row to the sums of its scopes, once, and returns what it cost. own: it is of this process. Rows of others count in their
// tree when the tree is loaded.
func (c *caps) add(row *record.Request, own bool) Amount {
	cost := Amount{c.rules.bill(row, nil).usd, row.Usage.Prompt() + row.Usage.Output}
	for _, s := range c.scopes(row, row.Time) {
		id := s.name + " " + row.ID
		if _, twice := c.seen[id]; cost.Tokens > 0 && !twice && (own || s.name == scopeDay || c.loaded[row.Tree()]) {
			if c.store != nil {
				c.seen[id] = row.Time
			}
			c.sums[s.key] = c.sums[s.key].plus(cost)
		}
	}
	return cost
}

// begin makes the sums. If there are too many, all but those of days are made again: the store has them.
func (c *caps) begin() {
	if c.sums == nil {
		c.sums, c.loaded, c.seen, c.told = map[string]Amount{}, map[string]bool{}, map[string]time.Time{}, map[string]bool{}
	} else if len(c.sums)+len(c.loaded)+len(c.told) <= maxSums {
		return
	}
	c.forget(false)
	clear(c.loaded)
	clear(c.told)
	c.notes, c.over = map[string]*record.Cap{}, map[string]Amount{}
}

// forget empties the sums of days, or all others.
func (c *caps) forget(days bool) {
	maps.DeleteFunc(c.sums, func(key string, _ Amount) bool { return strings.HasPrefix(key, scopeDay) == days })
	maps.DeleteFunc(c.seen, func(key string, _ time.Time) bool { return strings.HasPrefix(key, scopeDay) == days })
}

// load reads what is not known yet: what a tree that is new here has spent, and what other processes have spent since. No other request waits
// for the store meanwhile, but with Hard, and those of a tree that is not known either. A request waits at most maxLookUp. If the store does
// not answer, what this process has spent counts alone, and the store is asked again after capsRest.
func (c *caps) load(ctx context.Context, row *record.Request) {
	arrived := time.Now()
	known, old, _ := c.known(row, arrived)
	if c.store == nil || known && !old {
		return
	}
	wait, cancel := context.WithDeadline(ctx, arrived.Add(maxLookUp))
	defer cancel()
	if c.Hard {
		c.flush(wait)
	}
	if known && !c.Hard {
		if !c.reading.TryAcquire(1) {
			return
		}
	} else if c.reading.Acquire(wait, 1) != nil {
		return
	}
	defer c.reading.Release(1)
	// Others count on what is read, also if this request is cancelled.
	ctx, cancel = context.WithDeadline(context.WithoutCancel(ctx), arrived.Add(maxLookUp))
	defer cancel()
	var err error
	known, old, since := c.known(row, arrived)
	if old {
		err = c.loadNew(ctx, since)
	}
	if err == nil && !known {
		err = c.loadRows(ctx, record.Query{Tree: row.Tree()}, func() { c.loaded[row.Tree()] = true })
	}
	if err == nil {
		return
	}
	c.log.Warn("what a conversation or other processes have spent is not known", "conversation", row.Conversation, "error", err)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rest = time.Now().Add(capsRest)
}

// known reports whether the tree of a request is known, whether what is known of other processes is too old for a request that has
// arrived at a time, and since when it is known. While the store rests, nothing better can be known.
func (c *caps) known(row *record.Request, arrived time.Time) (known, old bool, since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begin()
	if arrived.Before(c.rest) {
		return true, false, c.read
	}
	age := arrived.Sub(c.read)
	return c.loaded[row.Tree()], age >= capsAge || c.Hard && age >= 0, c.read
}

// loadNew reads what was spent since a time: today, if it was never asked, or if the clock was set back since.
func (c *caps) loadNew(ctx context.Context, since time.Time) error {
	now := time.Now()
	y, m, d := now.Date()
	from, back := time.Date(y, m, d, 0, 0, 0, 0, time.Local), since.Round(0).After(now.Add(overlap))
	if begun := since.Add(-overlap); begun.After(from) && !back {
		from = begun
	}
	return c.loadRows(ctx, record.Query{From: from}, func() {
		c.read = now
		if back {
			c.forget(true)
		}
		maps.DeleteFunc(c.seen, func(_ string, at time.Time) bool { return now.Sub(at) > 4*overlap && at.Before(from) })
	})
}

// loadRows adds the rows of the store that a query selects, after a change.
func (c *caps) loadRows(ctx context.Context, q record.Query, change func()) error {
	rows, err := c.store.Requests(ctx, q)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
	for i := range rows {
		c.add(&rows[i], false)
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
		if len(c.notes) < maxNotes {
			c.notes[key] = n
		}
	}
	spent := c.sums[s.key]
	n.Spent, n.Share = spent.in(s.limit), spent.of(s.limit)
	change(n)
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
