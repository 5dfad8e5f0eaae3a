package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/llm/tokens"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/trim"
	"github.com/stet-dev/stet/trim/dialect"
	"github.com/stet-dev/stet/trim/replay"
	"github.com/stet-dev/stet/trim/replay/check"
	"github.com/stet-dev/stet/trim/transcript"
)

// Cache is the output of `stet cache --json`. Prices are in USD; 0: unknown.
type Cache struct {
	Source   string         `json:"prices_source"`
	Date     string         `json:"prices_date"`
	Sessions []cacheSession `json:"sessions"`
	Totals   cacheTotals    `json:"totals"`
	Next     []Warm         `json:"next,omitempty"` // of the proxy's conversations
	Meters   []record.Meter `json:"meters,omitempty"`
}

type cacheSession struct {
	ID       string         `json:"id"`
	Agent    string         `json:"agent,omitempty"`
	Requests []cacheRequest `json:"requests"`
	Totals   cacheTotals    `json:"totals"`
	Unread   []check.Unread `json:"unread,omitempty"` // of a recorded session
}

type cacheRequest struct {
	Number  int       `json:"number"`
	Time    time.Time `json:"time,omitzero"`
	Model   string    `json:"model"`
	Read    int       `json:"read"`
	Written int       `json:"written"`
	Plain   int       `json:"plain"`
	Output  int       `json:"output"`
	Kept    int       `json:"kept"`           // tokens that the previous request left in the cache
	Lost    int       `json:"lost,omitempty"` // tokens of Kept that were not read
	Broke   string    `json:"broke,omitempty"`
	Message *int      `json:"message,omitempty"` // if it broke at a message: its index, from 0
	Fewer   int       `json:"fewer,omitempty"`   // if stet broke it: how many tokens fewer each later request has
	Cost    float64   `json:"cost"`
	Extra   float64   `json:"extra,omitempty"` // extra cost of the lost tokens compared with reading them
}

type cacheTotals struct {
	Requests int          `json:"requests"`
	Read     int          `json:"read"`
	Written  int          `json:"written"`
	Plain    int          `json:"plain"`
	Output   int          `json:"output"`
	Cost     float64      `json:"cost"`
	Breaks   []cacheBreak `json:"breaks"` // the most expensive first
}

type cacheBreak struct {
	Broke string  `json:"broke"`
	Count int     `json:"count"`
	Lost  int     `json:"lost"`
	Extra float64 `json:"extra"`
	Fewer int     `json:"fewer,omitempty"` // as cacheRequest.Fewer, for all breaks
}

// accountOf returns the account of a recorded session: empty if it has no usage.
func accountOf(s *transcript.Session, c *prices.Catalog) []replay.Entry {
	return replay.Account(replay.BilledRequests(s, &tokens.Memo{Counter: tokens.EstimateFor(s.Model)}), c.Lookup)
}

// AddRecording adds the account of a recorded session, if it contains usage.
func (r *Cache) AddRecording(s *transcript.Session, c *prices.Catalog) {
	n := len(r.Sessions)
	if r.add(s.ID, "", accountOf(s, c)); len(r.Sessions) > n {
		r.Sessions[n].Unread = check.UnreadTools(s, dialect.Default())
	}
}

// asker is who sends requests: a conversation, or a sub-agent in it.
type asker struct{ conversation, agent string }

// AddRequests adds the account of each conversation and sub-agent in the requests that the proxy recorded.
func (r *Cache) AddRequests(rows []record.Request, c *prices.Catalog) {
	chains, entries := map[asker]*chain{}, map[asker][]replay.Entry{}
	var order []asker
	for i := range rows {
		row := &rows[i]
		if row.Usage.Prompt() == 0 {
			continue
		}
		who := asker{row.Conversation, row.Agent}
		if chains[who] == nil {
			chains[who] = &chain{}
			order = append(order, who)
		}
		entries[who] = append(entries[who], chains[who].next(row, c))
	}
	r.Next = NextRequests(rows, c)
	for _, who := range order {
		r.add(who.conversation, who.agent, entries[who])
	}
}

// add adds the account of a session, or of a sub-agent in it, if it has requests.
func (r *Cache) add(id, agent string, entries []replay.Entry) {
	if len(entries) == 0 {
		return
	}
	s := cacheSession{ID: id, Agent: agent}
	for _, e := range entries {
		q := cacheRequest{
			Number: e.Number, Time: e.Time, Model: e.Model, Read: e.Usage.CacheRead, Written: e.Usage.CacheWrite, Plain: e.Usage.Input,
			Output: e.Usage.Output, Kept: e.Kept, Lost: e.Lost, Broke: string(e.Part), Cost: e.Cost, Extra: e.Extra, Fewer: e.Fewer,
		}
		switch e.Part {
		case replay.PartMessage, replay.PartStet, replay.PartMarker:
			if e.At >= 0 {
				q.Message = &e.At
			}
		}
		s.Requests = append(s.Requests, q)
		s.Totals.add(cacheTotals{Requests: 1, Read: q.Read, Written: q.Written, Plain: q.Plain, Output: q.Output, Cost: q.Cost})
		if q.Lost > 0 {
			s.Totals.add(cacheTotals{Breaks: []cacheBreak{{q.Broke, 1, q.Lost, q.Extra, q.Fewer}}})
		}
	}
	s.Totals.sort()
	r.Sessions = append(r.Sessions, s)
}

func (t *cacheTotals) add(o cacheTotals) {
	t.Requests += o.Requests
	t.Read += o.Read
	t.Written += o.Written
	t.Plain += o.Plain
	t.Output += o.Output
	t.Cost += o.Cost
	for _, b := range o.Breaks {
		i := slices.IndexFunc(t.Breaks, func(have cacheBreak) bool { return have.Broke == b.Broke })
		if i < 0 {
			t.Breaks = append(t.Breaks, b)
			continue
		}
		t.Breaks[i].Count += b.Count
		t.Breaks[i].Lost += b.Lost
		t.Breaks[i].Extra += b.Extra
		t.Breaks[i].Fewer += b.Fewer
	}
}

// sort sorts the breaks, the most expensive first.
func (t *cacheTotals) sort() {
	if t.Breaks == nil {
		t.Breaks = []cacheBreak{}
	}
	slices.SortStableFunc(t.Breaks, func(a, b cacheBreak) int {
		return cmp.Or(cmp.Compare(b.Extra, a.Extra), cmp.Compare(b.Lost, a.Lost))
	})
}

// Sum adds up the sessions, and names the source of the prices.
func (r *Cache) Sum(c *prices.Catalog) {
	r.Source, r.Date = c.Source, c.Date
	for _, s := range r.Sessions {
		r.Totals.add(s.Totals)
	}
	r.Totals.sort()
}

// Print writes the account for people. width is the screen's number of columns; 0: any.
func (r *Cache) Print(w io.Writer, width int) {
	for _, s := range r.Sessions {
		s.print(w, width)
		fmt.Fprintln(w)
	}
	if len(r.Sessions) > 1 {
		fmt.Fprintf(w, "in all %s\n", Count(len(r.Sessions), "session"))
		r.Totals.print(w)
		fmt.Fprintln(w)
	}
	printAdvice(w, r.Totals.Breaks)
	if r.Next != nil {
		PrintWarm(w, r.Next, time.Now())
	}
	PrintMeters(w, r.Meters, time.Now())
	fmt.Fprintln(w, Faint(fmt.Sprintf("Prices of %s: %s.", r.Date, r.Source)))
}

func (s *cacheSession) print(w io.Writer, width int) {
	name := s.ID
	if s.Agent != "" {
		name += ", agent " + s.Agent
	}
	rows := [][]string{{"#", "sent", "read", "written", "plain", "cost", "lost", "broke at"}}
	for _, r := range s.Requests {
		sent := ""
		if !r.Time.IsZero() {
			sent = r.Time.Format("01-02 15:04:05")
		}
		row := []string{strconv.Itoa(r.Number), sent, Grouped(r.Read), Grouped(r.Written), Grouped(r.Plain), dollars(r.Cost), "", ""}
		if r.Lost > 0 {
			where := r.Broke
			if r.Message != nil {
				where = fmt.Sprintf("%s %d", where, *r.Message)
			}
			row[6], row[7] = Grouped(r.Lost), where+", +"+dollars(r.Extra)+fewer(r.Fewer)
		}
		rows = append(rows, row)
	}
	alignedTable(width)(w, "session "+name, rows)
	s.Totals.print(w)
	for _, u := range s.Unread {
		fmt.Fprintf(w, "reads by %s: stet does not know the form of %s of %s\n", u.Tool, Grouped(u.Unread), Count(u.Reads, "result"))
	}
}

func (t *cacheTotals) print(w io.Writer) {
	prompt := t.Read + t.Written + t.Plain
	fmt.Fprintf(w, "%s, %s tokens of prompt: %s read from the cache, %s written to it; %s\n",
		Count(t.Requests, "request"), Grouped(prompt), share(t.Read, prompt), share(t.Written, prompt), dollars(t.Cost))
	for _, b := range t.Breaks {
		of := ""
		if t.Cost > 0 {
			of = fmt.Sprintf(", %.1f %% of the bill", 100*b.Extra/t.Cost)
		}
		fmt.Fprintf(w, "  %-16s %s, %s tokens lost: %s%s%s\n",
			b.Broke, Count(b.Count, "break"), Grouped(b.Lost), dollars(b.Extra), of, fewer(b.Fewer))
	}
}

// fewer describes the benefit of a break by stet; "": stet did not break it.
func fewer(tokens int) string {
	if tokens == 0 {
		return ""
	}
	return fmt.Sprintf("; %s tokens fewer from then on", Grouped(tokens))
}

// dollars returns a price, or a dash if it is unknown.
func dollars(usd float64) string {
	if usd == 0 {
		return "-"
	}
	return fmt.Sprintf("$%.4f", usd)
}

// partDropped means that no part changed: the provider kept no cache, or kept it shorter than assumed.
const partDropped replay.Part = "dropped"

// coldParts has the part for each cold point of a record.
var coldParts = map[string]replay.Part{
	string(trim.Gap): replay.PartGap, string(trim.Guess): replay.PartGap, string(trim.Model): replay.PartModel,
	string(trim.Tools): replay.PartTools, string(trim.Compaction): replay.PartContext,
}

// chain has the newest requests of a conversation or sub-agent, one of each model: agents ask small models beside the conversation.
type chain struct {
	number int
	last   []replay.BilledRequest // the newest one at the end
	left   []int                  // estimated tokens that were left out of them
}

// next returns the account of the next request.
func (c *chain) next(r *record.Request, catalog *prices.Catalog) replay.Entry {
	c.number++
	left := r.TokensOff - r.Tokens
	at := slices.IndexFunc(c.last, func(b replay.BilledRequest) bool { return b.Model == r.Model })
	before := at
	switch {
	case r.Cache.Gap == 0: // stet knows no request that it goes on from
		before = -1
	case r.Cache.Broke == record.BrokeModel:
		before = -1
		for i := range c.last {
			if i != at && (before < 0 || c.last[i].Usage.Prompt() > c.last[before].Usage.Prompt()) {
				before = i
			}
		}
	}
	asked := make([]replay.BilledRequest, 0, 2)
	now := askedOf(r, 0, false)
	if before >= 0 {
		now = askedOf(r, c.left[before], true)
		asked = append(asked, c.last[before])
	}
	now.Number = c.number
	if at >= 0 {
		c.last, c.left = slices.Delete(c.last, at, at+1), slices.Delete(c.left, at, at+1)
	} else if len(c.last) == maxModels {
		c.last, c.left = slices.Delete(c.last, 0, 1), slices.Delete(c.left, 0, 1)
	}
	c.last, c.left = append(c.last, now), append(c.left, left)
	all := replay.Account(append(asked, now), catalog.Lookup)
	return all[len(all)-1]
}

// maxModels is the number of models of a conversation whose last requests are known.
const maxModels = 4

// askedOf converts a recorded request for the account. left are the tokens that were left out of the request before it, if that is known.
func askedOf(r *record.Request, left int, known bool) replay.BilledRequest {
	a := replay.BilledRequest{
		Time: r.Time, Gap: r.Cache.Gap, Model: r.Model, Usage: llm.Usage(r.Usage), Lifetime: r.Cache.Lifetime,
		Part: replay.Part(r.Cache.Broke), At: r.Cache.BrokeAt,
	}
	ended := r.Cache.Gap > r.Cache.Lifetime && !r.Cache.Alive
	switch {
	case a.Part == replay.PartStet:
		// At a cold point the cache was gone before stet changed the request, unless the answer showed that it was warm.
		if cold := coldParts[r.Cache.Moment]; cold != "" && !r.Cache.Alive {
			a.Part, a.At = cold, 0
		} else if known {
			a.Fewer = max(0, (r.TokensOff-r.Tokens)-left)
		}
	case r.Cache.Gap == 0: // there is no earlier request
	case ended && a.Part != replay.PartContext: // what else has changed costs nothing more
		a.Part, a.At = replay.PartGap, 0
	case a.Part == "" && known:
		a.Part = partDropped
	}
	return a
}
