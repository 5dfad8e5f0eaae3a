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

	reading sync.Mutex // held while the store is asked

	mu     sync.Mutex
	sums   map[string]Amount    // by the key of a scope
	loaded map[string]bool      // conversations whose stored rows are in sums
	seen   map[string]time.Time // the rows in the sum of their day, of the last hours
	read   time.Time            // when the store was read
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
		c.told, c.notes, c.over = map[string]bool{}, map[string]*record.Cap{}, map[string]Amount{}
	}
}

// load reads what is not known yet: what this conversation has spent earlier, and from time to time what other processes have spent. No
// other request waits for the store meanwhile, but those of a conversation that is not known either. If the store does not answer, what
// this process has spent counts alone.
func (c *caps) load(ctx context.Context, row *record.Request) {
	now := time.Now()
	c.mu.Lock()
	c.begin()
	since, known := c.read, c.loaded[row.Conversation]
	old := now.Sub(since) >= capsAge
	if old {
		c.read = now
	}
	c.mu.Unlock()
	if c.store == nil || known && !old {
		return
	}
	c.reading.Lock()
	defer c.reading.Unlock()
	ctx, cancel := context.WithTimeout(ctx, maxLookUp)
	defer cancel()
	if old {
		c.loadDay(ctx, now, since)
	}
	c.mu.Lock()
	known = c.loaded[row.Conversation]
	c.mu.Unlock()
	if known {
		return
	}
	rows, err := c.store.Requests(ctx, record.Query{Conversation: row.Conversation})
	if err != nil {
		c.log.Warn("what a conversation has spent earlier is not known", "conversation", row.Conversation, "error", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loaded[row.Conversation] = true
	for i := range rows {
		c.add(&rows[i], true)
	}
}

// loadDay reads what was spent today by others since a time.
func (c *caps) loadDay(ctx context.Context, now, since time.Time) {
	y, m, d := now.Date()
	from := time.Date(y, m, d, 0, 0, 0, 0, time.Local)
	if since = since.Add(-overlap); since.After(from) {
		from = since
	}
	rows, err := c.store.Requests(ctx, record.Query{From: from})
	if err != nil {
		c.log.Warn("what other processes have spent is not known", "error", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
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
